"""Laplacian eigenmaps against scikit-learn's SpectralEmbedding (arpack) of the same affinities on a swiss roll."""

import numpy as np
import pytest

from mlcli.base.types import Array
from tests import support
from tests.laws.agreement.tables import TOLERANCE, read

NEIGHBORS = 12
POINTS = read("data/swissroll1000.csv", names=False, header=False)
EXPECTED = read("sklearn/spectral_embedding_swissroll1000_k12_points.csv", names=False, header=False)  # D^-1/2 u


def affinities() -> Array:
    distances = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    np.fill_diagonal(distances, np.inf)
    near = distances <= np.sort(distances, axis=1)[:, NEIGHBORS - 1 : NEIGHBORS]
    return (near | near.T).astype(float)


@pytest.mark.medium
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_points_are_those_of_scikit_learn_over_their_size(solver: str) -> None:
    """Ours have Σ d y² = Σ d, scikit-learn's Σ d y² = 1; rounding in an eigenvector is ε ‖L‖ over its gap."""
    weights = affinities()
    degrees = weights.sum(axis=1)
    roots = np.sqrt(degrees)
    values = np.linalg.eigvalsh(np.eye(1000) - weights / np.outer(roots, roots))
    found = support.fit("laplacian", POINTS, neighbors=NEIGHBORS, components=3,
                        eigensolve={"solver": solver}).embedding / np.sqrt(degrees.sum())
    found *= np.sign((found * EXPECTED).sum(axis=0))
    gap = np.diff(values[:5]).min()
    assert np.abs(found - EXPECTED).max() <= 100 * 1000 * 2.2e-16 * 2 / gap * np.abs(EXPECTED).max() < 1e-6


def test_costs_are_the_eigenvalues_of_the_normalized_laplacian() -> None:
    weights = affinities()
    roots = np.sqrt(weights.sum(axis=1))
    expected = np.linalg.eigvalsh(np.eye(1000) - weights / np.outer(roots, roots))[1:4]
    found = support.fit("laplacian", POINTS, neighbors=NEIGHBORS, components=3).spectrum.costs[:3]
    assert np.abs(found - expected).max() <= TOLERANCE * 2
