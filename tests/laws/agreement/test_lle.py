"""LLE against scikit-learn's standard LLE (arpack, tol 1e-6, reg 1e-3) on 1,000 swiss-roll points."""

import numpy as np
import pytest

from mlcli.methods import Model
from tests import support
from tests.laws.agreement.tables import TOLERANCE, read

NEIGHBORS = 12
POINTS = read("data/swissroll1000.csv", names=False, header=False)
EXPECTED = read("sklearn/lle_standard_swissroll1000_k12_points.csv", names=False, header=False)  # unit columns


def fit(solver: str) -> Model:
    return support.fit("lle", POINTS, neighbors=NEIGHBORS, ridge=1e-3, components=2, eigensolve={"solver": solver})


def residuals(vectors: np.ndarray) -> np.ndarray:
    """(I - W) times vectors, with the weights of the definition, one point at a time."""
    distances = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    nearest = np.argsort(distances, axis=1)[:, 1 : NEIGHBORS + 1]
    result = vectors.copy()
    for i, neighbors in enumerate(nearest):
        differences = POINTS[neighbors] - POINTS[i]
        gram = differences @ differences.T
        weights = np.linalg.solve(gram + 1e-3 * np.trace(gram) * np.eye(NEIGHBORS), np.ones(NEIGHBORS))
        result[i] -= weights / weights.sum() @ vectors[neighbors]
    return result


@pytest.mark.medium
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_points_are_those_of_scikit_learn_over_their_size(solver: str) -> None:
    """Ours have unit variance, scikit-learn's unit length: √n between them.

    The smallest eigenvalue of M is 3e-9 of its largest, so an eigenvector taken from M itself may be off by 1e-7;
    scikit-learn's inverse iteration is better than that and agrees to 3e-10 of the largest coordinate.
    """
    found = fit(solver).embedding / np.sqrt(len(POINTS))
    signs = np.sign((found * EXPECTED).sum(axis=0))
    assert np.abs(found * signs - EXPECTED).max() < TOLERANCE * np.abs(EXPECTED).max()


@pytest.mark.medium
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_eigenvalues_are_one_over_the_cost_of_those_points(solver: str) -> None:
    """λ of M⁺ is 1/‖(I - W)y‖² of the unit vector y; first order errors of y leave it alone."""
    costs = (residuals(EXPECTED) ** 2).sum(axis=0)
    assert np.abs(fit(solver).spectrum.eigenvalues[:2] * costs - 1).max() < TOLERANCE
