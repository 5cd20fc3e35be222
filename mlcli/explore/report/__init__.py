"""Embeddings of one input by many methods: scores, ranks, the recommendation, and the page."""
