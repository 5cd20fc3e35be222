"""Rows that are images: pictures of some over the embedding, and axes as images."""
