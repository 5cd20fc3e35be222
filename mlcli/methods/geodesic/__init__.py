"""Distances along the data: Isomap."""
