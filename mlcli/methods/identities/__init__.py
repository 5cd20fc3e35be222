"""What a certificate checks beyond the eigenproblem, by equations that the fit does not use."""
