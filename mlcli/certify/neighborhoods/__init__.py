"""Certificates of costs over neighborhoods: weights, tangent spaces and linear functions, computed again."""
