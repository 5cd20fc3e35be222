"""Hessians of many small problems at once, and minima of many functions, each by steps of its own."""

from collections.abc import Sequence

import numpy as np
import pytest

from mlcli.base.types import Array, Indices
from mlcli.core.layouts.own_losses import (
    Entries,
    Local,
    OwnLosses,
    eigen_of_each,
    entry_sums,
    first_inverses,
    minima,
    minimize_each,
    pair_sums,
)


def cubes(squares: Array, order: int) -> tuple[Array, ...]:
    """A function of squared distances whose derivatives are known: u³."""
    return (squares**3, 3 * squares**2, 6 * squares)[: order + 1]


@pytest.mark.parametrize("axes", [1, 2, 3, 5])
def test_eigenvalues_of_many_matrices_are_those_of_each(axes: int) -> None:
    matrices = np.random.default_rng(axes).standard_normal((50, axes, axes))
    matrices = matrices + matrices.transpose(0, 2, 1)
    matrices[0] = np.eye(axes)
    values, vectors = eigen_of_each(matrices)
    assert np.allclose(values, np.linalg.eigvalsh(matrices), rtol=0, atol=1e-13 * axes)
    assert np.allclose(vectors @ (values[:, :, None] * vectors.transpose(0, 2, 1)), matrices, atol=1e-12)


def test_sums_of_pairs_are_those_of_the_definition_without_the_own_point() -> None:
    generator = np.random.default_rng(2)
    points, places, own = generator.standard_normal((30, 3)), generator.standard_normal((7, 3)), np.arange(7) * 3
    found = pair_sums(places, points, cubes, own)
    assert found.bends is not None
    for place, one, value, slope, bend in zip(places, own, found.values, found.slopes, found.bends, strict=True):
        gaps = np.delete(place - points, one, axis=0)
        squares = np.sum(gaps**2, axis=1)
        assert value == pytest.approx(np.sum(squares**3), rel=1e-13)
        assert np.allclose(slope, np.sum(6 * squares[:, None] ** 2 * gaps, axis=0), rtol=1e-12)
        expected = np.sum(6 * squares**2) * np.eye(3) + np.einsum("j,ja,jb->ab", 24 * squares, gaps, gaps)
        assert np.allclose(bend, expected, rtol=1e-12)


def test_sums_over_entries_weigh_those_over_pairs() -> None:
    generator = np.random.default_rng(3)
    points, places = generator.standard_normal((12, 2)), generator.standard_normal((4, 2))
    table = generator.random((4, 12))
    table[np.arange(4), np.arange(4)] = 0
    rows, columns = np.nonzero(table)
    entries = Entries(np.searchsorted(rows, np.arange(5)), columns, table[rows, columns])
    found = entry_sums(entries, places, points, cubes)
    squares = np.sum((places[:, None] - points) ** 2, axis=2)
    assert np.allclose(found.values, np.sum(table * squares**3, axis=1))
    some = entries.of(np.array([2, 0]))
    assert np.array_equal(some.totals, entries.totals[[2, 0]])
    assert np.allclose(entries.means(points), table @ points / table.sum(axis=1, keepdims=True))


class Valleys(OwnLosses):
    """A valley with two minima at ±c along the first axis, the one at +c lower, for each of m numbers c."""

    def __init__(self, depths: Array) -> None:
        self.depths = depths

    def at(self, which: Indices, places: Array) -> Local:
        """Return values and gradients."""
        c, (x, y) = self.depths[which], places.T
        values = (x * x - c * c) ** 2 - 0.1 * c**3 * x + 3 * y * y
        return Local(values, np.column_stack([4 * x * (x * x - c * c) - 0.1 * c**3, 6 * y]))

    def starts(self) -> Sequence[Array]:
        """Return one start on the lower side."""
        return [np.column_stack([1.5 * self.depths, np.ones_like(self.depths)])]


def test_each_function_gets_to_its_own_minimum_and_to_a_lower_one_where_it_is_looked_for() -> None:
    depths = np.linspace(0.5, 2, 40)
    losses, begun = Valleys(depths), np.column_stack([-1.2 * depths, 0 * depths + 0.3])
    inverses = first_inverses(np.tile(np.eye(2), (40, 1, 1)))
    near, _ = minimize_each(losses, begun, inverses, 0.5)
    assert np.all(near[:, 0] < 0) and np.abs(losses.at(np.arange(40), near).slopes).max() < 1e-3
    everywhere = np.arange(40) % 2 == 0
    ends = minima(losses, begun, inverses, 0.5, everywhere=everywhere)
    assert np.all((ends[:, 0] > 0) == everywhere)
    alone = minima(Valleys(depths[6:7]), begun[6:7], inverses[6:7], 0.5, everywhere=everywhere[6:7])
    assert np.array_equal(alone[0], ends[6]), "others do not change a search"


def test_the_first_inverse_of_a_saddle_is_positive() -> None:
    found = first_inverses(np.array([[[2.0, 0.0], [0.0, -0.5]], [[0.0, 0.0], [0.0, 0.0]]]))
    assert np.allclose(found, [[[0.5, 0], [0, 2]], [[1, 0], [0, 1]]])
