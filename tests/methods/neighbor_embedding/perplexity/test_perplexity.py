"""Precisions give rows their perplexity, whatever their distances; uniform ones have that of their number."""

import numpy as np
import pytest

from mlcli.core.graph.search import Lists, nearest
from mlcli.methods.neighbor_embedding.perplexity import ALONE, DistanceGaps, calibrate, conditional, gaps_of

RANDOM = np.random.default_rng(8)


def perplexities(shares: np.ndarray) -> np.ndarray:
    logarithms = np.log(np.where(shares > 0, shares, 1.0))
    return np.exp(-np.sum(shares * logarithms, axis=1))


@pytest.mark.parametrize("lengths", [
    np.sort(RANDOM.random((50, 60)), axis=1), np.sort(10.0 ** RANDOM.uniform(-150, 0, (50, 60)), axis=1),
    1 + 1e-12 * np.sort(RANDOM.random((50, 60)), axis=1), np.tile(np.r_[np.zeros(10), np.arange(50.0)], (3, 1)),
    np.r_[np.arange(1.0, 60.0), 1e200][None, :]], ids=["uniform", "spread", "alike", "twins", "outlier"])
@pytest.mark.parametrize("perplexity", [11.5, 20.0])
def test_rows_have_the_perplexity(lengths: np.ndarray, perplexity: float) -> None:
    shares, _ = conditional(DistanceGaps.of(lengths), (perplexity,))
    assert np.allclose(np.log(perplexities(shares)), np.log(perplexity), rtol=0, atol=1e-10)
    assert np.all(np.diff(shares, axis=1) <= 0)


def test_equal_distances_have_the_perplexity_of_their_number() -> None:
    equal = DistanceGaps.of(np.full((2, 60), 3.0))
    shares, precisions = conditional(equal, (20.0,))
    assert np.allclose(perplexities(shares), 60, rtol=1e-12) and (precisions == ALONE).all()
    assert np.allclose(perplexities(equal.affinities(np.zeros(2))), 60, rtol=1e-12)


def test_more_equal_points_than_the_perplexity_share_it_alike() -> None:
    lengths = np.r_[np.zeros(25), np.linspace(0.1, 1, 35)][None, :]
    shares, _ = conditional(DistanceGaps.of(lengths), (20.0,))
    assert np.allclose(shares[0], np.r_[np.full(25, 0.04), np.zeros(35)])


def test_rows_of_few_neighbors_share_alike() -> None:
    lists = Lists(np.array([0, 2, 5, 5]), np.array([1, 2, 0, 2, 1]), np.array([1.0, 2.0, 1.0, 2.0, 3.0]))
    gaps = gaps_of(lists, slice(0, 2))
    shares, precisions = conditional(gaps, (4.0,))
    assert np.allclose(shares, [[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]) and not precisions.any()


def test_joint_affinities_are_symmetric_with_sum_one_and_leave_the_lists_as_they_were() -> None:
    lists = nearest(RANDOM.random((80, 3)), 30)
    before = lists.indices.copy()
    found = calibrate(lists, (5.0, 10.0))
    assert np.array_equal(lists.indices, before)
    dense = np.zeros((80, 80))
    dense[np.repeat(np.arange(80), np.diff(found.starts)), found.indices] = found.values
    assert np.array_equal(dense, dense.T) and dense.sum() == pytest.approx(1, abs=1e-14)
    assert found.precisions.shape == (80, 2) and np.all(found.precisions[:, 0] > found.precisions[:, 1])
