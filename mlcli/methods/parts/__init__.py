"""Non-negative parts, and random projections."""
