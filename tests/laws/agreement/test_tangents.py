"""LTSA, HLLE and modified LLE against scikit-learn's dense solver, on 240 swiss-roll points.

Two matrices M that differ by rounding, eps times their norm, have eigenvectors that differ by that over the gap.
"""

from functools import cache

import numpy as np
import pytest

from tests import support
from tests.laws.agreement.tables import read
from tests.support import EPS

pytestmark = pytest.mark.medium
POINTS = read("data/swissroll1000.csv", names=False, header=False)[:240]
TABLES = {"ltsa": ("ltsa", 12), "hlle": ("hessian", 6), "mlle": ("modified", 12)}  # methods here and there, neighbors


@cache
def nearest(count: int) -> np.ndarray:
    distances = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    return np.argsort(distances, axis=1)[:, 1 : count + 1]


def cost(functionals: str, count: int) -> np.ndarray:
    """M of the definition, one neighborhood at a time: by projections, or by the basis of Gram and Schmidt."""
    total = np.zeros((len(POINTS), len(POINTS)))
    for members in nearest(count):
        axes = np.linalg.svd(POINTS[members] - POINTS[members].mean(axis=0))[0][:, :2]
        affine = np.column_stack([np.ones(count), axes])
        if functionals == "hessian":
            whole = np.column_stack([affine, axes[:, [0]] ** 2, axes[:, [0]] * axes[:, [1]], axes[:, [1]] ** 2])
            rest = np.linalg.qr(whole)[0][:, 3:]
        else:
            rest = np.linalg.qr(affine, mode="complete")[0][:, 3:]
        total[np.ix_(members, members)] += rest @ rest.T
    return total


def turned(found: np.ndarray, expected: np.ndarray) -> float:
    """The sine of the largest angle between the spans of two orthonormal pairs."""
    return float(np.linalg.norm(found - expected @ (expected.T @ found), 2))


@pytest.mark.parametrize("solver", ["dense", "krylov"])
@pytest.mark.parametrize("method", TABLES)
def test_the_span_is_that_of_scikit_learn_to_rounding_over_the_gap(method: str, solver: str) -> None:
    """Spans agree to 2e-13, and each axis as well, as the gap between the two is as wide."""
    there, count = TABLES[method]
    expected = read(f"sklearn/lle_{there}_swissroll240_k{count}_points.csv", names=False, header=False)
    model = support.fit(method, POINTS, neighbors=count, components=2, eigensolve={"solver": solver, "report": 10})
    found = model.embedding / np.sqrt(len(POINTS))
    costs = 1 / model.spectrum.values[:3]
    gap, norm = costs[2] - costs[1], 12.0 * count  # of M, at most: no point is in more than a few times k neighborhoods
    assert turned(found, expected) < norm * EPS / gap
    single = np.abs(np.abs((found * expected).sum(axis=0)) - 1).max()
    assert single < (norm * EPS / min(gap, costs[1] - costs[0])) ** 2 + 100 * EPS


@pytest.mark.parametrize(("method", "functionals"), [("ltsa", "affine"), ("hlle", "hessian")])
def test_costs_are_those_of_the_definition(method: str, functionals: str) -> None:
    """Of more neighbors than a quadratic function has coefficients, as well."""
    values, vectors = np.linalg.eigh(cost(functionals, 12))
    model = support.fit(method, POINTS, neighbors=12, components=2)
    assert np.abs(1 / model.spectrum.values[:5] - values[1:6]).max() < 20 * EPS * values[-1]
    assert turned(model.embedding / np.sqrt(240), vectors[:, 1:3]) < 20 * EPS * values[-1] / (values[3] - values[2])


def test_with_the_fewest_neighbors_hessians_are_all_that_is_not_affine() -> None:
    one, other = (support.fit(method, POINTS, neighbors=6, components=2) for method in ("hlle", "ltsa"))
    assert np.abs(one.spectrum.values[:5] / other.spectrum.values[:5] - 1).max() < 1e-7
    assert np.abs(one.embedding - other.embedding).max() < 1e-6
