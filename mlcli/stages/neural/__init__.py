"""Networks: their forward passes in NumPy, what constrains them, and their training in JAX."""
