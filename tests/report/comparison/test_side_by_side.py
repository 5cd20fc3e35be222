"""Axes that share an eigenvalue are compared by the space that they span."""

from collections.abc import Sequence

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.report.comparison.page import page
from mlcli.report.comparison.side_by_side import Comparison, Side, side_by_side

POINTS = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 3)) - 0.0)[0]
POINTS = np.linalg.qr(POINTS - POINTS.mean(axis=0))[0]


def side(values: Array, shared: Sequence[tuple[int, int]] = (), *, ranked: bool = True) -> Side:
    return Side(name="a", method="pca", input="data.csv", rows=len(values), values=values,
                eigenvalues=[3.0, 1.0, 1.0] if ranked else [], proportions=[], shared=shared, axes=("PC 1", "PC 2"))


def compared(*sides: Side) -> Comparison:
    return side_by_side(sides, [str(row) for row in range(40)], {}, 5, np.random.default_rng(0))


def turn(degrees: float) -> Array:
    """The points with their last two axes turned in their plane."""
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return POINTS @ np.array([[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])


def test_a_plane_is_compared_where_either_run_has_one() -> None:
    for marks in (((1, 3),), ()), ((), ((1, 3),)):
        (pair,) = compared(side(POINTS, marks[0]), side(turn(30), marks[1])).pairs
        assert [(span.start, span.stop) for span in pair.spans] == [(0, 1), (1, 3)]
        assert max(float(span.angles.max()) for span in pair.spans) <= 1e-6
    (pair,) = compared(side(POINTS), side(turn(30))).pairs
    assert [span.angles.tolist() for span in pair.spans[1:]] == [[pytest.approx(30)], [pytest.approx(30)]]


def test_a_plane_that_a_run_cuts_is_not_compared() -> None:
    found = compared(side(POINTS[:, :2], [(1, 3)]), side(turn(90)[:, :2], [(1, 3)]))
    (pair,) = found.pairs
    assert [len(span.angles) for span in pair.spans] == [1, 0] and pair.document()["axes"][1] == {
        "first": 2, "last": 2, "principal_angles": []}
    assert "not compared: cut" in page(found, seed=0)


def test_axes_are_turned_in_their_plane_where_each_run_keeps_its_orientation() -> None:
    first, other = compared(side(POINTS, [(1, 3)]), side(turn(75), [(1, 3)])).in_own_orientation().placed
    assert np.abs(first - other).max() <= 1e-12
    first, other = compared(side(POINTS), side(turn(75))).in_own_orientation().placed
    assert np.abs(first - other).max() > 0.1


def test_runs_without_a_spectrum_have_no_axes_to_compare() -> None:
    (pair,) = compared(side(POINTS, ranked=False), side(turn(30))).pairs
    assert not pair.spans and "axes" not in pair.document()
