"""Rows of several sources side by side are the columns of all, whatever the blocks of each."""

from collections.abc import Iterator

import numpy as np
import pytest

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Part, Rows, RowsBeside, all_parts, in_memory
from mlcli.base.types import Array, Indices


@frozen
class Held:
    """Rows in memory as blocks, of which few are read at once."""

    values: Array
    bounds: tuple[int, ...]
    part: int
    direct: bool = True
    buffer_bytes: int = 0

    @property
    def columns(self) -> int:
        return self.values.shape[1]

    def take(self, chosen: Indices) -> Array:
        return self.values[chosen]

    def parts(self, number: int) -> Iterator[Part]:
        for place in range(self.bounds[number], self.bounds[number + 1], self.part):
            yield place, self.values[place : min(place + self.part, self.bounds[number + 1])]

    def key(self) -> str:
        return str(self.bounds)


VALUES = np.arange(60.0).reshape(20, 3)


def beside(*bounds: tuple[int, ...], part: int = 3) -> RowsBeside:
    """The columns of VALUES, each a source of blocks with these bounds."""
    return RowsBeside(tuple(Held(VALUES[:, place : place + 1], own, part + place) for place, own in enumerate(bounds)))


@pytest.mark.parametrize("bounds", [
    ((0, 20), (0, 20), (0, 20)), ((0, 5, 20), (0, 7, 14, 20), (0, 1, 2, 19, 20)),
    ((0, 10, 20), (0, 9, 20), (0, 11, 20))])
@pytest.mark.parametrize("part", [1, 3, 30])
def test_all_columns_lie_side_by_side(bounds: tuple[tuple[int, ...], ...], part: int) -> None:
    source = beside(*bounds, part=part)
    found = Rows(source)
    assert np.array_equal(in_memory(found), VALUES)
    assert found.shape == (20, 3) and source.bounds == bounds[0]
    places = [place for place, _ in all_parts(found)]
    assert places == sorted(set(places)) and max(len(rows) for _, rows in all_parts(found)) <= source.part
    assert np.array_equal(found[np.array([19, 0, 7])], VALUES[[19, 0, 7]])


def test_rows_of_another_order_of_files_have_another_key() -> None:
    one, other = beside((0, 20), (0, 10, 20)), beside((0, 10, 20), (0, 20))
    assert one.key() != other.key() and one.bounds == other.bounds == (0, 20)
