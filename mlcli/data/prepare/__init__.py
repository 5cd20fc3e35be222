"""Gaps, transforms and scales."""
