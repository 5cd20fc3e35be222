"""Disparities and forces of pairs by ascending dissimilarity have the bits of NumPy's form."""

from collections.abc import Sequence

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.layouts import ranks
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.layouts.ranks import PairOrder, Ranks, Ties
from mlcli.native.layouts import SCRATCH, disparities_of_pairs, distances_of_pairs, forces_of_pairs, join_pairs
from tests.native.support import needs_native

pytestmark = needs_native
RANDOM = np.random.default_rng(2)


def ranks_of(size: int, levels: int, ties: Ties, twins: int = 0) -> Ranks:
    lengths = np.rint(levels * RANDOM.random((size, size))) + 1
    lengths = np.triu(lengths, 1) + np.triu(lengths, 1).T
    counts = np.ones(size)
    counts[:twins] = 2
    pairs = Pairs(lengths, counts, np.arange(size))
    return Ranks(PairOrder.of(pairs, ties), counts)


def require_bits_of_numpy(order: Ranks, places: Sequence[Array], patch: pytest.MonkeyPatch) -> None:
    """Compare stress, slope and disparities at coordinates, and the order of pairs, with those without kernels."""
    found = [(*order(place.ravel()), order.fit(place).disparities.copy()) for place in places]
    sides = order.sides
    plain = Ranks(order.order, order.counts)
    patch.setattr(ranks.native, "available", lambda: False)
    for place, (stress, slope, disparities) in zip(places, found, strict=True):
        expected = plain(place.ravel())
        assert stress == expected[0] and np.array_equal(slope, expected[1])
        assert np.array_equal(disparities, plain.fit(place).disparities)
    assert np.array_equal(sides, plain.sides)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
@pytest.mark.parametrize(("size", "levels", "axes", "twins"), [(1, 1, 2, 0), (2, 1, 1, 0), (3, 2, 2, 1),
                                                               (40, 10**6, 2, 0), (60, 3, 3, 4), (90, 40, 2, 0),
                                                               (25, 8, 5, 2)])
def test_stress_and_slope_have_the_bits_of_numpy(size: int, levels: int, axes: int, twins: int, ties: Ties,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    points = [RANDOM.standard_normal((size, axes)), RANDOM.standard_normal((size, axes)), np.zeros((size, axes))]
    points[1][0] = points[1][-1]
    monkeypatch.setattr(ranks, "BLOCK", 100)
    require_bits_of_numpy(ranks_of(size, levels, ties, twins), points, monkeypatch)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
@pytest.mark.parametrize("counted", [False, True], ids=["single", "counted"])
def test_blocks_of_equal_means_have_the_bits_of_numpy(counted: bool, ties: Ties,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """By steps along a cycle: coordinates of period 3 repeat their distances, and only rounding parts some blocks."""
    steps = np.abs(np.subtract.outer(np.arange(48), np.arange(48)))
    counts = np.tile([1.0, 3.0, 2.0], 16) if counted else np.ones(48)
    order = PairOrder.of(Pairs(np.minimum(steps, 48 - steps).astype(np.float64), counts, np.arange(48)), ties)
    angles = np.arange(48) * np.pi / 24
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    places = [*(np.tile(RANDOM.standard_normal((3, 2)), (16, 1)) for _ in range(3)), circle, circle @ [[2, 1], [0, 3]]]
    require_bits_of_numpy(Ranks(order, counts), places, monkeypatch)


def test_what_was_sorted_before_changes_no_bit_nor_do_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh, used = ranks_of(50, 4, "primary"), None
    used = Ranks(fresh.order, fresh.counts)
    points = RANDOM.standard_normal(100)
    for _ in range(3):
        used(RANDOM.standard_normal(100))
    (stress, slope), (again, bent) = fresh(points), used(points)
    assert stress == again and np.array_equal(slope, bent)
    monkeypatch.setattr(ranks, "BLOCK", 100)
    assert np.allclose(Ranks(fresh.order, fresh.counts)(points)[1], slope, rtol=0, atol=1e-15)


def test_coordinates_that_are_no_numbers_have_no_stress() -> None:
    assert np.isnan(ranks_of(5, 9, "primary")(np.full(10, np.nan))[0])


def test_pairs_that_are_not_there_are_refused() -> None:
    points, starts = np.zeros((3, 2)), np.array([0, 1, 3])
    pairs = join_pairs(np.array([0, 0, 1]), np.array([1, 2, 2]))
    distances, room, none = np.ones(3), np.empty(3), np.zeros(0)
    scratch = np.empty(3 * SCRATCH)

    def fit(distances: np.ndarray = distances, starts: np.ndarray = starts, counts: np.ndarray = none,
            scratch: np.ndarray = scratch) -> None:
        disparities_of_pairs(distances, pairs, starts, secondary=False, counts=counts, disparities=room,
                             scratch=scratch)

    fit()
    for wrong in (np.array([0, 1, 4]), np.array([1, 1, 3]), np.array([0, 4, 3])):
        with pytest.raises(ValueError, match="starts"):
            fit(starts=wrong)
    with pytest.raises(ValueError, match="not a number"):
        fit(distances=np.array([0, np.nan, 1]))
    with pytest.raises(ValueError, match="out of range"):
        fit(counts=np.ones(2))
    with pytest.raises(ValueError, match="scratch"):
        fit(scratch=np.empty(3))
    with pytest.raises(ValueError, match="out of range"):
        distances_of_pairs(points[:2], pairs, slice(0, 3), room)
    with pytest.raises(ValueError, match="out of range"):
        distances_of_pairs(points, pairs, slice(0, 4), room)
    with pytest.raises(ValueError, match="out of range"):
        forces_of_pairs(points[:2], pairs, slice(0, 3), fit=(room, room), counts=none, share=0.0)
    with pytest.raises(ValueError, match="one length"):
        forces_of_pairs(points, pairs, slice(0, 3), fit=(room, room[:2]), counts=none, share=0.0)
