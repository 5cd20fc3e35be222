"""Embeddings of one input by many methods: judged alike, ranked, and shown on a page."""
