"""Linear-Gaussian latent variables: factors, probabilistic PCA, state-space models."""
