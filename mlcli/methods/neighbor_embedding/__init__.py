"""Neighbor embeddings: t-SNE, UMAP and PHATE."""
