"""Some rows of a file that is read in blocks: blocks that hold none of them are passed over."""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.source import HalfSource, Part, RowSource
from mlcli.base.types import Array, Indices

FEW = 8  # rows of a block to one that is chosen, from which single ones are read sooner than all


@frozen
class SomeRows:
    """Chosen rows of a source of rows."""

    source: RowSource
    chosen: Indices  # of the source, ascending

    @cached_property
    def _ends(self) -> Indices:
        """How many of them come before each of the source's bounds."""
        return np.searchsorted(self.chosen, self.source.bounds)

    @cached_property
    def _blocks(self) -> list[int]:
        """The source's blocks that hold any."""
        return np.flatnonzero(np.diff(self._ends)).tolist()

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """Where blocks begin, and behind them the number of rows."""
        return (*self._ends[self._blocks].tolist(), len(self.chosen))

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return self.source.columns

    @property
    def part(self) -> int:
        """Rows that are read together, at most."""
        return self.source.part

    @property
    def direct(self) -> bool:
        """As of the source."""
        return self.source.direct

    @property
    def held(self) -> int:
        """As of the source."""
        return self.source.held

    def take(self, chosen: Indices) -> Array:
        """Single rows."""
        return self.source.take(self.chosen[chosen])

    def parts(self, number: int) -> Iterator[Part]:
        """The rows of a block; of a source that reads single ones these alone, where they are few."""
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
        """The source's, and which rows."""
        return f"{self.source.key()} {hashlib.sha256(self.chosen.tobytes()).hexdigest()}"


class SomePoints(SomeRows):
    """Chosen points of a square matrix: some of its rows, and of their numbers those to one another."""

    @property
    def columns(self) -> int:
        """The number of points."""
        return len(self.chosen)

    @property
    def part(self) -> int:
        """Rows that are read together, at most."""
        return min(self.source.part, len(self.chosen))

    @property
    def held(self) -> int:
        """Bytes of the source's rows as well."""
        return self.source.held + 8 * self.source.part * self.source.columns

    def take(self, chosen: Indices) -> Array:
        """Single rows."""
        return super().take(chosen)[:, self.chosen]

    def _of(self, rows: Array, chosen: Indices) -> Array:
        return rows[np.ix_(chosen, self.chosen)]


class SomePairs(SomePoints):
    """The same of a matrix of which the file holds each pair once."""

    def wedges(self, number: int) -> Iterator[Part]:
        """The rows of a block from the first one's diagonal on, zeros on and below it."""
        for first, wedge in cast(HalfSource, self.source).wedges(self._blocks[number]):
            inside = slice(*np.searchsorted(self.chosen, (first, first + len(wedge))).tolist())
            if inside.start < inside.stop:
                yield inside.start, wedge[np.ix_(self.chosen[inside] - first, self.chosen[inside.start :] - first)]
