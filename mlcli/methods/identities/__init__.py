"""What a certificate holds a fit to beyond its eigenproblem, by equations that the fit does not use."""
