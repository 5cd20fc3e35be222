"""Intermediate results of a fit that a run may keep: sparse and square matrices."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import one_by_one, row_blocks
from mlcli.base.types import AnyArray, Array, Indices, RowsOf
from mlcli.base.values.scaling import Unit

ROOM = 2**21  # numbers of a square matrix that are computed at once,
ROWS = 128  # but never fewer rows
SIDE = 2048  # rows and columns of a tile of the mirror image: 32 MiB
Name = Literal["graph", "distances", "weights", "kernel", "uncentered"]
Carried = Literal["none", "input", "spectrum"]  # the owner of the numbers' unit


@frozen
class Sparse:
    """A matrix (n x n) by rows; a stored zero is an entry, as an edge between equal points is an edge."""

    starts: Indices  # n + 1
    indices: Indices
    values: Array
    carried: Carried = "none"

    def plain(self, unit: Unit) -> Self:
        """Return the matrix with its numbers converted from this unit to plain ones."""
        return replace(self, values=unit.plain(self.values), carried="none")


@frozen
class Later:
    """A sparse matrix that is made only where a run keeps it."""

    make: Callable[[], Sparse]
    carried: Carried = "none"
    unit: Unit = Unit()  # of the numbers made

    def plain(self, unit: Unit) -> Self:
        """Return the matrix with its numbers converted from this unit to plain ones."""
        return replace(self, unit=unit, carried="none")

    def made(self) -> Sparse:
        """Return the matrix."""
        return self.make().plain(self.unit)


@frozen
class Square:
    """A symmetric matrix (n x n) whose rows are computed when needed, and never all in memory."""

    size: int
    rows: RowsOf
    carried: Carried
    unit: Unit = Unit()  # of the numbers of `rows`

    def plain(self, unit: Unit) -> Self:
        """Return the matrix with its numbers converted from this unit to plain ones."""
        return replace(self, unit=unit, carried="none")

    def fill(self, matrix: AnyArray, written: Callable[[], object] = lambda: None) -> None:
        """Fill an n x n array, with exactly the same numbers on both sides of the diagonal.

        Rows come first, from the diagonal on, then their mirror image in tiles: writing a few long pieces to a file
        takes far less time than writing columns. `written` is called after every few rows or tiles.
        """
        for block in one_by_one(row_blocks(self.size, max(ROOM, ROWS * self.size), self.size)):
            rows = self.rows(np.arange(block.start, block.stop))[:, block.start:]
            matrix[block, block.start:] = self.unit.plain(rows)
            written()
        sides = row_blocks(self.size, SIDE)
        for place, down in enumerate(sides):
            for across in sides[place:]:
                tile = np.array(matrix[down, across])
                matrix[across, down] = tile.T if across != down else np.triu(tile) + np.triu(tile, 1).T
            written()


Product = Sparse | Square | Later
Products = Mapping[Name, Product]


def materialize(product: Product) -> Sparse | Square:
    """Return the matrix of a product, made where it is not yet."""
    return product.made() if isinstance(product, Later) else product
