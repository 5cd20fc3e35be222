"""Eigenvalues: the solvers, the spectrum, and how many axes to keep."""
