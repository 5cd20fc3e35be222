"""Costs on neighborhoods: locally linear embedding and its relatives, tangent spaces, and their linear versions."""
