"""Gaussian processes from latent points to features: covariances, objectives with their gradients, posteriors."""
