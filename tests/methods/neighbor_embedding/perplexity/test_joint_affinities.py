"""Joint affinities of each kind of input, and which points are equal."""

from typing import Any

import numpy as np

from mlcli.base.types import Indices
from mlcli.base.values.inputs import AffinityGraph
from mlcli.methods.neighbor_embedding.perplexity import affinity_lists, groups_of, joint_affinities
from tests.support import dissimilarities, distances, features

POINTS = np.random.default_rng(3).standard_normal((20, 3))


def test_given_affinities_are_over_their_sum() -> None:
    starts, indices = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1])
    data = AffinityGraph(np.zeros((3, 0)), list("abc"), starts=starts, indices=indices, weights=np.array(
        [2.0, 2.0, 6.0, 6.0]))
    found = joint_affinities(data, affinity_lists(data, (30.0,)), (30.0,))
    assert np.allclose(found.values, [0.125, 0.125, 0.375, 0.375]) and found.precisions.shape == (3, 0)
    assert np.array_equal(found.indices, indices)


def groups(data: Any) -> Indices | None:
    return groups_of(data, affinity_lists(data, (2.0,)))


def test_equal_points_are_one_group_and_chains_of_zeros_are_none() -> None:
    assert groups(features(POINTS)) is None
    twice = np.vstack([POINTS, POINTS[:4], POINTS[:1]])
    found = groups(features(twice))
    assert found is not None and np.array_equal(found[20:], found[[0, 1, 2, 3, 0]])
    assert len(np.unique(found)) == 20
    assert np.array_equal(groups(dissimilarities(distances(twice))), found)  # type: ignore[arg-type]
    bent = distances(POINTS)
    bent[0, 1] = bent[1, 0] = 0.0
    assert groups(dissimilarities(bent)) is None
