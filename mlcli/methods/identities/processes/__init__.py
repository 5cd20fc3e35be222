"""Identities of Gaussian processes and state-space models: objectives, gradients and likelihoods by other formulas."""
