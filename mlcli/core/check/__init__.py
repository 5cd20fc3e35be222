"""Checks by formulas that share no code with what they check: rows of kernels, distances, stationarity, moments."""
