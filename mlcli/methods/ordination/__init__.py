"""Ordination of sites, species and answers, with constraints or without."""
