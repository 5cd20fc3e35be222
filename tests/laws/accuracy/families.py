"""Hostile families of data on which the accuracy contract must hold."""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array

Maker = Callable[[np.random.Generator, int, int], Array]

FAMILIES: dict[str, Maker] = {
    "gauss": lambda r, n, d: r.standard_normal((n, d)),
    "offset": lambda r, n, d: r.standard_normal((n, d)) + 1e6,
    "graded": lambda r, n, d: r.standard_normal((n, d)) * np.logspace(0, -10, d),
    "rank two": lambda r, n, d: r.standard_normal((n, 2)) @ r.standard_normal((2, d)),
    "duplicates": lambda r, n, d: np.repeat(r.standard_normal((n // 5, d)), 5, axis=0),
    "integers": lambda r, n, d: r.integers(-3, 4, (n, d)).astype(float),
    "near constant": lambda r, n, d: 1.0 + 1e-9 * r.standard_normal((n, d)),
    "outlier": lambda r, n, d: np.vstack([r.standard_normal((n - 1, d)), np.full((1, d), 1e8)]),
    "huge": lambda r, n, d: r.standard_normal((n, d)) * 1e100,
    "tiny": lambda r, n, d: r.standard_normal((n, d)) * 1e-100,
    "lattice": lambda r, n, d: np.stack(np.unravel_index(np.arange(n), (5,) * d), axis=1).astype(float),
    "two clusters": lambda r, n, d: 1e-6 * r.standard_normal((n, d)) + 1e3 * (np.arange(n) % 2)[:, None],
}
SHAPES = [(40, 5), (100, 7), (30, 60), (150, 20)]


def make(family: str, shape: tuple[int, int]) -> Array:
    """The data of a family in a shape, from a fixed seed."""
    n, d = shape
    if family == "lattice":
        return FAMILIES["lattice"](np.random.default_rng(0), n, min(d, 6))
    return FAMILIES[family](np.random.default_rng([n, d]), n, d)
