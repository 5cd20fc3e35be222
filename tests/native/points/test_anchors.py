"""Sums over pairs, and counts of nearer points: those of NumPy, at every instruction set."""

import numpy as np
import pytest

from mlcli import native
from tests.native.support import at_level, levels, needs_native

pytestmark = needs_native
level = pytest.fixture(params=levels(), autouse=True)(at_level)


@pytest.mark.parametrize("size", [1, 7, 8, 1023, 1024, 3001])
def test_sums_over_pairs_are_those_of_numpy(size: int) -> None:
    generator = np.random.default_rng(size)
    delta, d = generator.random((3, size)), generator.random((3, size))
    delta[:, :: 5] = 0
    sums, off = native.pair_sums(delta**2, d**2, 2.0), delta - 2 * d
    inverse = np.divide(1, delta, out=np.zeros_like(delta), where=delta > 0)
    wanted = {"delta": delta, "d": 2 * d, "delta²": delta**2, "d²": 4 * d**2, "delta d": 2 * delta * d, "off²": off**2,
              "d²/delta": 4 * d**2 * inverse, "off²/delta": off**2 * inverse}
    assert sums.keys() == wanted.keys()
    for name, terms in wanted.items():
        assert np.allclose(sums[name], terms.sum(axis=1), rtol=1e-13, atol=1e-13), name


@pytest.mark.parametrize("size", [1, 9, 1024, 2500])
def test_keys_before_others_are_counted_by_step_and_point(size: int) -> None:
    """Keys of one step, or of steps beside each other, are in the order of the points."""
    generator, bits = np.random.default_rng(size), 12
    points = np.arange(size)
    keys = np.stack([generator.integers(0, most, size) << bits | generator.permutation(points)
                     for most in (3, size, 50 * size)])
    wanted = keys[:, generator.integers(0, size, 6)]
    found = native.keys_before(keys, wanted, bits)
    for own, some, counts in zip(keys, wanted, found, strict=True):
        for key, count in zip(some, counts, strict=True):
            apart, earlier = (own >> bits) - (key >> bits), (own & (1 << bits) - 1) < (key & (1 << bits) - 1)
            assert count == np.count_nonzero((apart < -1) | ((np.abs(apart) <= 1) & earlier))


@pytest.mark.parametrize(("size", "most"), [(2, 5), (90, 3), (700, 10**6), (5000, 40), (5000, 10**6)])
def test_points_are_in_the_order_of_distance_and_number(size: int, most: int) -> None:
    """Half of the distances are a unit in the last place too small, which is no difference; the anchor is the last."""
    generator, count = np.random.default_rng(size + most), min(size - 1, 64)
    whole, anchors = generator.integers(1, most, (3, size)), generator.integers(0, size, 3)
    squared = np.where(generator.random(whole.shape) < 0.5, np.nextafter(whole, 0.0), whole)
    whole[np.arange(3), anchors] = most
    right, bits = np.argsort(whole, axis=1, kind="stable"), size.bit_length()
    keys, nearest, limits = native.order_points(squared, anchors, count, bits)
    assert np.array_equal(nearest[:, :count] & (1 << bits) - 1, right[:, :count])
    assert ((keys < limits[:, None]).sum(axis=1) == (nearest < np.iinfo(np.int64).max).sum(axis=1)).all()
    places = generator.permutation(size - 1)[:20]
    ranks = native.ranks_of_points(keys, nearest, limits, points=right[:, places], exact=len(places), bits=bits)
    assert np.array_equal(ranks, np.tile(places + 1, (3, 1)))
    bounds = native.ranks_of_points(keys, nearest, limits, points=right[:, places], exact=0, bits=bits)
    assert ((bounds == ranks) | ((count < bounds) & (bounds < ranks))).all()


def test_anchors_and_points_out_of_range_are_refused() -> None:
    squared, anchors = np.ones((1, 4)), np.zeros(1, np.int64)
    for count, anchor in ((4, 0), (0, 0), (2, 4), (2, -1)):
        with pytest.raises(ValueError, match=r"anchors are points|more points than are wanted"):
            native.order_points(squared, anchors + anchor, count, 3)
    with pytest.raises(ValueError, match="out of range"):
        native.ranks_of_points(*native.order_points(squared, anchors, 2, 3), points=np.full((1, 1), 4), exact=1, bits=3)


def test_pairs_that_do_not_fit_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="the same pairs"):
        native.pair_sums(np.zeros((2, 3)), np.zeros((2, 4)), 1.0)
    with pytest.raises(ValueError, match="for every anchor"):
        native.keys_before(np.zeros((2, 3), np.int64), np.zeros((1, 3), np.int64), 2)
