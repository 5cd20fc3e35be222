"""Similarities that a model of the columns computes: posterior means, states, weights of parts, encoders."""
