"""Graph Laplacians and random walks: Laplacian eigenmaps, locality preserving projections, diffusion maps."""
