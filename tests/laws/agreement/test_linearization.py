"""Linear versions of graph methods against the dense generalized eigenproblem Xᵀ M X a = λ Xᵀ D X a, by SciPy."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg

from mlcli.base.types import Array
from tests.support import distances, fit

SHEET = np.random.default_rng(33).random((120, 2))
TURN = np.linalg.qr(np.random.default_rng(32).standard_normal((6, 6)))[0]
POINTS = np.column_stack([SHEET, np.sin(5 * SHEET), np.cos(6 * SHEET)]) @ TURN
NEIGHBORS = 14  # every point is one of another's
NEAREST = np.argsort(distances(POINTS), axis=1)[:, 1 : NEIGHBORS + 1]


def laplacian(weigh: Callable[[Array], Array]) -> tuple[Array, Array]:
    """L = D - W of the graph that joins points if either is a neighbor of the other, and the degrees (n)."""
    joined = np.zeros((120, 120), dtype=bool)
    joined[np.arange(120)[:, None], NEAREST] = True
    weights = np.where(joined | joined.T, weigh(distances(POINTS)), 0.0)
    return np.diag(weights.sum(axis=1)) - weights, weights.sum(axis=1)


def adaptive(apart: Array) -> Array:
    scales = np.sort(apart, axis=1)[:, 7]
    return np.asarray(np.exp(-apart**2 / np.outer(scales, scales)))


def reconstruction() -> tuple[Array, Array]:
    """(I - W)ᵀ(I - W), with weights by the local Gram matrices (Saul and Roweis, 2003)."""
    matrix = np.eye(120)
    for i, names in enumerate(NEAREST):
        gaps = POINTS[names] - POINTS[i]
        gram = gaps @ gaps.T
        weights = np.linalg.solve(gram + 1e-3 * np.trace(gram) * np.eye(NEIGHBORS), np.ones(NEIGHBORS))
        matrix[i, names] -= weights / weights.sum()
    return matrix.T @ matrix, np.ones(120)


def alignment() -> tuple[Array, Array]:
    """The sum of I - [1, U][1, U]ᵀ over neighborhoods, with orthonormal U (Zhang and Zha, 2004)."""
    matrix = np.zeros((120, 120))
    for names in NEAREST:
        members = POINTS[names] - POINTS[names].mean(axis=0)
        axes = np.linalg.svd(members)[0][:, :2]
        matrix[np.ix_(names, names)] += np.eye(NEIGHBORS) - 1 / NEIGHBORS - axes @ axes.T
    return matrix, np.ones(120)


@pytest.mark.parametrize(("method", "options", "dense"), [
    ("lpp", {}, lambda: laplacian(np.ones_like)),
    ("lpp", {"weights": {"name": "heat", "rate": 0.2}}, lambda: laplacian(lambda apart: np.exp(-0.2 * apart**2))),
    ("lpp", {"weights": {"name": "adaptive"}}, lambda: laplacian(adaptive)),
    ("npe", {}, reconstruction), ("lltsa", {}, alignment)])
def test_costs_and_axes_are_those_of_the_dense_formula(
        method: str, options: dict, dense: Callable[[], tuple[Array, Array]]) -> None:
    cost, masses = dense()
    centered = POINTS - masses @ POINTS / masses.sum()
    values, vectors = scipy.linalg.eigh(centered.T @ cost @ centered, centered.T @ (masses[:, None] * centered))
    model = fit(method, POINTS, neighbors=NEIGHBORS, **options)
    assert np.abs(model.spectrum.costs - values).max() <= 1e-10 * values[-1]
    coefficients = vectors[:, :2] * np.sqrt(masses.sum())
    coefficients *= np.sign((coefficients * model.loadings.values).sum(axis=0))
    gap = np.diff(values[:3]).min() / values[-1]
    assert np.abs(model.loadings.values - coefficients).max() <= 1e-10 / gap * np.abs(coefficients).max()
    assert np.abs(model.embedding - centered @ coefficients).max() <= 1e-10 / gap * np.abs(model.embedding).max()
