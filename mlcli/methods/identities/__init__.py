"""Checks of the certificate beyond the eigenproblem, by equations that the fit does not use."""
