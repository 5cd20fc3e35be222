"""Clusters of a walk: numbered by their points, the same for a seed, and never of points that no walk joins."""

import numpy as np
import pytest

from mlcli.methods.neighbor_embedding.walk import (
    Decay,
    decay_kernel,
    leading_functions,
    means,
    memberships,
    nearest_centers,
    walk_clusters,
)
from tests.support import features

RANDOM = np.random.default_rng(2)
POINTS = np.vstack([RANDOM.standard_normal((60, 3)), RANDOM.standard_normal((40, 3)) + 100])
KERNEL = decay_kernel(features(POINTS), Decay(5, 40.0, 1e-4))


def test_clusters_are_numbered_in_the_order_of_their_points() -> None:
    labels = walk_clusters(KERNEL, 20, np.random.default_rng(0))
    firsts = np.unique(labels, return_index=True)[1]
    assert np.all(np.diff(firsts) > 0) and 2 < labels.max() + 1 <= 20
    assert np.array_equal(labels, walk_clusters(KERNEL, 20, np.random.default_rng(0)))
    assert not {*labels[:60].tolist()} & {*labels[60:].tolist()}


@pytest.mark.parametrize("exponent", [1e-17, 5e-324])
def test_a_kernel_that_hardly_decays_joins_all_points_alike(exponent: float) -> None:
    found = decay_kernel(features(POINTS), Decay(5, exponent, 1e-4)).toarray()
    apart = ~np.eye(len(POINTS), dtype=bool)
    assert np.abs(found[apart] - np.exp(-1.0)).max() < 1e-15 and np.all(found[~apart] <= 1)


def test_leading_functions_span_those_of_the_whole_walk() -> None:
    """Of fewer points than functions, all: distances are then those of the rows of P."""
    found, sums = leading_functions(KERNEL, np.random.default_rng(1)), KERNEL.sum(axis=1)
    whole = KERNEL.toarray() / sums[:, None]
    assert np.allclose(found @ found.T, whole @ whole.T, atol=1e-10)


def test_means_and_memberships_of_labels() -> None:
    labels = np.array([0, 2, 0, 2, 1])
    values = np.arange(10.0).reshape(5, 2)
    assert memberships(labels, 3).toarray().tolist() == [[1, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 1, 0]]
    assert means(values, labels).tolist() == [[2, 3], [8, 9], [4, 5]]
    assert nearest_centers(values, values[[4, 1]]).tolist() == [1, 1, 1, 0, 0]
