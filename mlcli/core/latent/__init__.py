"""Latent-variable models and canonical pairs that several families share."""
