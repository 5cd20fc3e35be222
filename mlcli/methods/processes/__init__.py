"""Gaussian processes and state-space models: latent points, sequences and views."""
