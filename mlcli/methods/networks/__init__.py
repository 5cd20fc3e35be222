"""Networks: their forward passes in NumPy, constraints on codes, and their training in JAX.

What a training minimizes is a frozen `Objective` (`training.py`), by whose parts its compiled step is found again.
JAX is imported by `backend.py`, `autoencoding.py`, `evidence.py` and `training.py` alone, inside of a fit;
`tests/journeys/embed/test_without_jax.py` runs everything else without it.
"""
