"""Coordinates that minimize the stress of dissimilarities or of their ranks, from a start that is computed."""
