"""Condensed dissimilarities in an NPY file (SciPy's pdist): each pair once, read on demand."""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Part
from mlcli.base.types import Array, Indices
from mlcli.data.files.file_id import FileId, plain_stream, require_read
from mlcli.data.files.shared_handle import SharedFile
from mlcli.data.formats.npy_file import Header
from mlcli.data.formats.row_files import PART, part_rows

BLOCK = 1 << 23  # numbers of a block of an array: 64 MiB
CALL, BYTE = 2e-6, 5e-10  # seconds to read one number anywhere in the file, and one of many consecutive bytes


@frozen
class CondensedRows:
    """The symmetric (n, n) array with a zero diagonal whose upper triangle is stored in a file, row by row."""

    id: FileId
    header: Header
    direct, buffer_bytes = True, 0

    @cached_property
    def columns(self) -> int:
        """The number of points (n)."""
        return (1 + math.isqrt(1 + 8 * math.prod(self.header.shape))) // 2

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """First rows of blocks of similar sizes, and the number of points."""
        rows = np.arange(self.columns, dtype=np.int64)
        starts = self._place(rows, rows + 1)
        firsts = np.searchsorted(starts, np.arange(0, starts[-1] + 1, BLOCK), side="left")
        return (*np.unique(firsts[firsts < self.columns]).tolist(), self.columns)

    @property
    def part(self) -> int:
        """The number of rows read in one step."""
        return part_rows(self.columns)

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the whole rows of a block; each takes a number from every row before it."""
        for first in range(self.bounds[number], self.bounds[number + 1], self.part):
            yield first, self.take(np.arange(first, min(first + self.part, self.bounds[number + 1])))

    def wedges(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block from the diagonal on, zeros on and below it: each number of the file once."""
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
        """Return single rows as an (m, n) array.

        Read one by one if they are few, else with the numbers between them.
        """
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
        """Return the position in the file of the number of two points, the row before the column."""
        return row * self.columns - row * (row + 1) // 2 + column - row - 1

    def _numbers(self, first: int, last: int) -> Array:
        """Read consecutive numbers of the file."""
        stored = np.empty(last - first, self.header.dtype)
        raw = cast(SharedFile, cast(Any, self.id.open_once(plain_stream)).raw)
        read = raw.read_at(self.header.offset + first * stored.itemsize, memoryview(stored.view(np.uint8).data))
        require_read(self.id.path, read, stored.nbytes)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return stored.astype(np.float64, copy=False)

    def texts(self, number: int, names: tuple[str, ...]) -> list[list[str]]:
        """Raise NotImplementedError: an array has no texts."""
        raise NotImplementedError

    def key(self) -> str:
        """Return the file, for cache keys."""
        return repr(self.id.key)
