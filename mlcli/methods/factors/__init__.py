"""Factors: factor analysis, probabilistic principal components, and the reliability of scales."""
