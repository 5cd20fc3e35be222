"""Manifold learning at the command line."""

__version__ = "0.1.0"
