"""Networks: their forward passes in NumPy, and their training in JAX.

JAX is imported inside of a fit alone, by `training.py` and where the methods' files state what it minimizes;
`tests/journeys/embed/test_without_jax.py` runs everything else without it.
"""
