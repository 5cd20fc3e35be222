"""The neighbor graph: the exact search for neighbors, edges and pieces, parameters that connect it, and weights."""
