"""Findings of a run: quality, dimension, stability, loadings and others."""
