"""Networks: their forward passes in NumPy, constraints on codes, and their training in JAX."""
