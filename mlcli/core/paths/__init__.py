"""Shortest paths on the neighbor graph, by three algorithms."""
