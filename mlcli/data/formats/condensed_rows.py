"""Condensed dissimilarities in an NPY file, as SciPy's pdist gives them: each pair once, read where it is needed."""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Part
from mlcli.base.types import Array, Indices
from mlcli.data.files.file_id import FileId, plain_stream, require_read
from mlcli.data.files.shared_handle import Positioned
from mlcli.data.formats.npy_file import Header
from mlcli.data.formats.row_files import PART, part_rows

BLOCK = 1 << 23  # numbers of a block of an array: 64 MiB
CALL, BYTE = 2e-6, 5e-10  # seconds to read a number somewhere in the file, and a byte of many that follow each other


@frozen
class CondensedRows:
    """The symmetric matrix (n x n) with a zero diagonal whose numbers above it lie in a file, row by row."""

    id: FileId
    header: Header
    direct, held = True, 0

    @cached_property
    def columns(self) -> int:
        """The number of points (n)."""
        return (1 + math.isqrt(1 + 8 * math.prod(self.header.shape))) // 2

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """Where blocks of about as many numbers begin, and behind them the number of points."""
        rows = np.arange(self.columns, dtype=np.int64)
        starts = self._place(rows, rows + 1)
        firsts = np.searchsorted(starts, np.arange(0, starts[-1] + 1, BLOCK), side="left")
        return (*np.unique(firsts[firsts < self.columns]).tolist(), self.columns)

    @property
    def part(self) -> int:
        """Rows that are read together."""
        return part_rows(self.columns)

    def parts(self, number: int) -> Iterator[Part]:
        """The whole rows of a block, of which each takes a number from all rows before it."""
        for first in range(self.bounds[number], self.bounds[number + 1], self.part):
            yield first, self.take(np.arange(first, min(first + self.part, self.bounds[number + 1])))

    def wedges(self, number: int) -> Iterator[Part]:
        """The rows of a block from the diagonal on, zeros on and below it: each number of the file once."""
        first, end = self.bounds[number], self.bounds[number + 1]
        while first < end:
            stop = min(end, first + max(PART // (self.columns - first), 1))
            wedge = np.zeros((stop - first, self.columns - first))
            read = self._numbers(self._place(first, first + 1), self._place(stop - 1, self.columns))
            for row in range(first, stop):
                count = self.columns - row - 1
                wedge[row - first, row - first + 1 :], read = read[:count], read[count:]
            yield first, wedge
            first = stop

    def take(self, chosen: Indices) -> Array:
        """Single rows (m x n): one by one where they are few, else together by what lies between them."""
        size, span = self.columns, int(np.ptp(chosen)) + 1 if len(chosen) else 0
        if len(chosen) > 1 and len(chosen) * CALL < CALL + span * BYTE * self.header.dtype.itemsize:
            return np.concatenate([self.take(chosen[[place]]) for place in range(len(chosen))])
        rows = np.zeros((len(chosen), size))
        least, most = (int(chosen.min()), int(chosen.max())) if len(chosen) else (0, 0)
        for row in range(most):
            start = max(least, row + 1)
            above = chosen >= start
            between = self._numbers(self._place(row, start), self._place(row, most + 1))
            rows[above, row] = between[chosen[above] - start]
        for place, row in enumerate(chosen.tolist()):
            rows[place, row + 1 :] = self._numbers(self._place(row, row + 1), self._place(row, size))
        return rows

    def _place(self, row: Any, column: Any) -> Any:
        """Where the number of two points lies in the file, the row before the column."""
        return row * self.columns - row * (row + 1) // 2 + column - row - 1

    def _numbers(self, first: int, last: int) -> Array:
        """Numbers that follow each other in the file."""
        stored = np.empty(last - first, self.header.dtype)
        raw = cast(Positioned, cast(Any, self.id.open_once(plain_stream)).raw)
        read = raw.read_at(self.header.offset + first * stored.itemsize, memoryview(stored.view(np.uint8).data))
        require_read(self.id.path, read, stored.nbytes)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return stored.astype(np.float64, copy=False)

    def texts(self, number: int, names: tuple[str, ...]) -> list[list[str]]:
        """An array has no texts."""
        raise NotImplementedError

    def key(self) -> str:
        """The file."""
        return repr(self.id.key)
