"""Latent-variable models that several families share."""
