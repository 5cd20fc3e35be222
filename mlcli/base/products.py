"""What the stages of a fit make on the way to its coordinates, and a run may keep: sparse and square matrices."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, Self

import numpy as np

from mlcli.base.blocks import one_by_one, row_blocks
from mlcli.base.frozen import frozen
from mlcli.base.scaling import Unit
from mlcli.base.types import AnyArray, Array, Indices, RowsOf

ROOM = 2**21  # numbers of a square matrix that are computed at once,
ROWS = 128  # but never fewer rows: their mirror image is written in columns, which a file takes in whole pages
Name = Literal["graph", "distances", "weights", "kernel"]
Carried = Literal["none", "input", "spectrum"]  # whose unit the numbers are measured in


@frozen
class Sparse:
    """A matrix (n x n) by rows; a zero that it holds is an entry, as an edge between equal points is an edge."""

    starts: Indices  # n + 1
    indices: Indices
    values: Array
    carried: Carried = "none"

    def plain(self, unit: Unit) -> Self:
        """What the numbers stand for, in this unit."""
        return replace(self, values=unit.plain(self.values), carried="none")


@frozen
class Square:
    """A symmetric matrix (n x n) whose rows are computed when they are needed, and never held together."""

    size: int
    rows: RowsOf
    carried: Carried
    unit: Unit = Unit()  # of the numbers of `rows`

    def plain(self, unit: Unit) -> Self:
        """What the numbers stand for, in this unit."""
        return replace(self, unit=unit, carried="none")

    def fill(self, matrix: AnyArray, written: Callable[[], object] = lambda: None) -> None:
        """Writes all of it (n x n), with exactly the same numbers on both sides of the diagonal.

        After every few rows and columns `written` is called.
        """
        for block in one_by_one(row_blocks(self.size, max(ROOM, ROWS * self.size), self.size)):
            rows = self.unit.plain(self.rows(np.arange(block.start, block.stop)))[:, block.start:]
            own = slice(0, len(rows))
            rows[:, own] = np.triu(rows[:, own]) + np.triu(rows[:, own], 1).T
            matrix[block, block.start:] = rows
            matrix[block.start:, block] = rows.T
            written()


Product = Sparse | Square
Products = Mapping[Name, Product]
