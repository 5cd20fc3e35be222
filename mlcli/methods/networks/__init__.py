"""Networks: their forward passes in NumPy, and their training in JAX.

JAX is imported inside of a fit alone, by `training.py` and where `autoencoder.py` and `vae.py` state what it minimizes;
`tests/journeys/embed/test_without_jax.py` runs everything else without it.
"""
