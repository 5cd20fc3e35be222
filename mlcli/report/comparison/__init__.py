"""Embeddings side by side: how alike they are, as figures and as a page."""
