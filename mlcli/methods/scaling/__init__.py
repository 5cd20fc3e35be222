"""Scaling of dissimilarities: classical, metric, and by ranks."""
