"""Pairs of distinct points: their weights, and the size of all of them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.core.layouts.pairs import Pairs, powers

POINTS = np.random.default_rng(6).standard_normal((30, 3))
LENGTHS = cdist(POINTS, POINTS)


@pytest.mark.parametrize("power", [-4.0, -2.0, -1.0, -0.7, 0.5, 1.0, 2.5, 3.0])
def test_powers_of_dissimilarities_are_those_of_their_definition(power: float) -> None:
    apart = np.concatenate([LENGTHS[LENGTHS > 0], np.geomspace(1e-6, 1e6, 50)])
    assert np.allclose(powers(apart, 1.7, power), (apart / 1.7) ** power, rtol=1e-13, atol=0)


@pytest.mark.parametrize("power", [0.0, -1.0, 1.5])
def test_size_is_the_sum_over_all_pairs_with_those_of_twins_counted(power: float) -> None:
    """Two points that are one of twice the weight; its pair with itself has none."""
    twice = np.vstack([POINTS, POINTS[:4]])
    lengths = cdist(twice, twice)
    pairs = Pairs.of(lengths, power, [""] * len(twice))
    weights = np.where(lengths > 0, np.where(lengths > 0, lengths / lengths.max(), 1.0) ** power, 0.0)
    assert len(pairs) == 30 and pairs.size == pytest.approx(np.sum(weights * lengths**2) / 2, rel=1e-12)
    assert np.array_equal(pairs.table, pairs.weights(slice(None)))
    assert np.allclose(pairs.table, pairs.table.T, rtol=0, atol=0) and not np.diag(pairs.table).any()
