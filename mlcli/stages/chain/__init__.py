"""Chains: what is computed from what, from points, distances or a graph to coordinates."""
