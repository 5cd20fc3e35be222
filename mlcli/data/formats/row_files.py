"""Rows of columnar files, read in groups: Parquet's row groups and Arrow's record batches."""

from dataclasses import replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.data.formats.columns import Lengths, Origin, as_doubles, list_numbers, sources_of

PART = 1 << 19  # numbers read in one step: 4 MiB
FEWEST = 256  # least rows read in one step from a columnar file: each column costs a call


def part_rows(columns: int, fewest: int = 1) -> int:
    """Return the number of rows to read in one step."""
    return max(PART // max(columns, 1), fewest)


def numbers_of(batch: Any) -> Array:
    """Return a record batch of numbers as an (m, d) array, in column order in memory."""
    types = {str(kind) for kind in batch.schema.types}
    if types <= {"double"} or types <= {"float"}:
        return np.asarray(batch.to_tensor(null_to_nan=True, row_major=False).to_numpy(), dtype=np.float64)
    return np.stack([as_doubles(column) for column in batch.columns]).T


class GroupedRows:
    """The base of files of named columns, read by groups of rows, never by single ones."""

    names: tuple[str, ...]  # of columns of numbers
    lengths: Lengths  # of lists whose elements are such
    direct = False

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.names)

    @property
    def part(self) -> int:
        """The number of rows read in one step."""
        return part_rows(self.columns, FEWEST)

    def take(self, chosen: Indices) -> Array:
        """Raise NotImplementedError for any rows, of shape (m,): groups are read as a whole."""
        raise NotImplementedError

    @cached_property
    def sources(self) -> dict[str, Origin]:
        """The file's columns that these are read from."""
        return sources_of(self.names, self.lengths)

    def numbers(self, batch: Any, row: int, path: str) -> Array:
        """Return a record batch with the file's columns as an (m, d) array, in column order in memory.

        `row` is its first row in the file. Raises DataError for a list of another length.
        """
        if not self.lengths:
            return numbers_of(batch.select(list(self.names)))
        found = np.empty((self.columns, batch.num_rows))
        for name, source in self.sources.items():
            column = batch.column(name)
            found[source.slice] = as_doubles(column) if source.elements is None else source.chosen(
                list_numbers(column, name, source.length, row, path)).T
        return found.T

    def in_order(self, names: tuple[str, ...]) -> Self:
        """Return the same columns in another order."""
        return replace(cast(Any, self), names=names)
