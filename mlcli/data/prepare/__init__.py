"""Preparation of features: missing cells, transforms, choice of columns, scales."""
