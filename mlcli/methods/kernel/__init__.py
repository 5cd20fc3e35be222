"""Kernel principal components, and chains of stages of the user's choice."""
