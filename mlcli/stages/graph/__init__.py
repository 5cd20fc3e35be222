"""The neighbor graph: nearest neighbors, connected components, and reconstruction weights."""
