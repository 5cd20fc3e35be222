"""Rows of mostly zeros, stored by their entries: a source of rows, and maps of entries.

Blocks of them are made dense one by one where something works on dense rows. Products need the entries alone, as long
as every map keeps zeros zero, but for a center that is taken from each row.
"""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import CenteredSparseRows, Part, Rows
from mlcli.base.types import Array, Indices

PART = 1 << 19  # numbers of dense rows made together: 4 MiB
BLOCK = 1 << 25  # numbers of a block of work, most of them zeros


@frozen
class SparseRows:
    """The rows of a matrix of SciPy in compressed rows (n x d)."""

    matrix: Any

    direct = True
    lasting = True  # through all passes

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return int(self.matrix.shape[1])

    @property
    def part(self) -> int:
        """Rows that are made dense together."""
        return max(PART // max(self.columns, 1), 1)

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The first row of every block, then the number of rows."""
        rows, step = self.matrix.shape[0], max(BLOCK // max(self.columns, 1), self.part)
        return (*range(0, rows, step), rows)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the entries."""
        return int(self.matrix.data.nbytes + self.matrix.indices.nbytes + self.matrix.indptr.nbytes)

    def parts(self, number: int) -> Iterator[Part]:
        """The rows of a block, a few at a time, with their zeros."""
        for first in range(self.bounds[number], self.bounds[number + 1], self.part):
            yield first, self.matrix[first : min(first + self.part, self.bounds[number + 1])].toarray()

    def block(self, number: int) -> Any:
        """The entries of a block, not copied."""
        matrix, first, last = self.matrix, self.bounds[number], self.bounds[number + 1]
        some = slice(int(matrix.indptr[first]), int(matrix.indptr[last]))
        starts = matrix.indptr[first : last + 1] - matrix.indptr[first]
        found = type(matrix)((last - first, self.columns), dtype=matrix.dtype)
        found.data, found.indices, found.indptr = matrix.data[some], matrix.indices[some], starts  # SciPy would copy
        return found

    def take(self, chosen: Indices) -> Array:
        """Single rows (m x d)."""
        return np.asarray(self.matrix[chosen].toarray())

    def text_parts(self, number: int, names: tuple[str, ...], most: int) -> Iterator[list[list[str]]]:
        """A matrix has no texts."""
        raise NotImplementedError

    @cached_property
    def _hash(self) -> str:
        hashed = hashlib.sha256(repr(self.matrix.shape).encode())
        for array in (self.matrix.indptr, self.matrix.indices, self.matrix.data):
            hashed.update(np.ascontiguousarray(array).view(np.uint8).data)
        return hashed.hexdigest()

    def key(self) -> str:
        """The hash of the content."""
        return self._hash


def entries_of(rows: Rows, number: int) -> CenteredSparseRows | None:
    """The rows of a block by their entries; None where they are not held so, or a map fills their zeros."""
    source = rows.source
    if not isinstance(source, SparseRows) or len(rows.left_out):
        return None
    found: CenteredSparseRows | None = CenteredSparseRows(source.block(number), np.zeros(source.columns))
    for change in rows.maps:
        if found is not None:
            found = change.of_entries(found)
    return found


def is_sparse(rows: Rows) -> bool:
    """Whether the rows are held by their entries."""
    return isinstance(rows.source, SparseRows)
