"""Some rows of a file that is read in blocks: blocks without any of them are skipped."""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.source import HalfSource, Part, RowSource
from mlcli.base.types import Array, Indices

FEW = 8  # rows of a block for each chosen one from which reading single rows is faster


@frozen
class SomeRows:
    """Chosen rows of a source of rows."""

    source: RowSource
    chosen: Indices  # row numbers in the source, ascending

    @cached_property
    def _ends(self) -> Indices:
        """The number of chosen rows before each of the source's bounds."""
        return np.searchsorted(self.chosen, self.source.bounds)

    @cached_property
    def _blocks(self) -> list[int]:
        """The source's blocks with chosen rows."""
        return np.flatnonzero(np.diff(self._ends)).tolist()

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """First rows of blocks, and the number of rows."""
        return (*self._ends[self._blocks].tolist(), len(self.chosen))

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.source.columns

    @property
    def part(self) -> int:
        """The largest number of rows read in one step."""
        return self.source.part

    @property
    def direct(self) -> bool:
        """Whether the source reads single rows."""
        return self.source.direct

    @property
    def buffer_bytes(self) -> int:
        """The bytes in use while the source reads."""
        return self.source.buffer_bytes

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, d) array."""
        return self.source.take(self.chosen[chosen])

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block; single ones if the source can read them and they are few."""
        block, (start, stop) = self._blocks[number], self.bounds[number : number + 2]
        if self.direct and (stop - start) * FEW < self.source.bounds[block + 1] - self.source.bounds[block]:
            for some in row_blocks(stop - start, self.part):
                yield start + some.start, self.take(np.arange(start + some.start, start + some.stop))
            return
        for first, rows in self.source.parts(block):
            inside = slice(*np.searchsorted(self.chosen, (first, first + len(rows))).tolist())
            if inside.start < inside.stop:
                yield inside.start, self._of(rows, self.chosen[inside] - first)

    def _of(self, rows: Array, chosen: Indices) -> Array:
        return rows if len(chosen) == len(rows) else rows[chosen]

    def key(self) -> str:
        """Return the source's key and the rows, for cache keys."""
        return f"{self.source.key()} {hashlib.sha256(self.chosen.tobytes()).hexdigest()}"


class SomePoints(SomeRows):
    """Chosen points of a square matrix: some of its rows, with the columns of the same points."""

    @property
    def columns(self) -> int:
        """The number of points."""
        return len(self.chosen)

    @property
    def part(self) -> int:
        """The largest number of rows read in one step."""
        return min(self.source.part, len(self.chosen))

    @property
    def buffer_bytes(self) -> int:
        """The bytes in use while the source reads, with its whole rows."""
        return self.source.buffer_bytes + 8 * self.source.part * self.source.columns

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, n) array."""
        return super().take(chosen)[:, self.chosen]

    def _of(self, rows: Array, chosen: Indices) -> Array:
        return rows[np.ix_(chosen, self.chosen)]


class SomePairs(SomePoints):
    """Chosen points of a matrix whose file has each pair once."""

    def wedges(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block from the first one's diagonal on, zeros on and below it."""
        for first, wedge in cast(HalfSource, self.source).wedges(self._blocks[number]):
            inside = slice(*np.searchsorted(self.chosen, (first, first + len(wedge))).tolist())
            if inside.start < inside.stop:
                yield inside.start, wedge[np.ix_(self.chosen[inside] - first, self.chosen[inside.start :] - first)]
