"""Rows of columnar files, read in groups: Parquet's row groups and Arrow's record batches."""

from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.data.formats.columns import as_doubles

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

    def in_order(self, names: tuple[str, ...]) -> Self:
        """Return the same columns in another order."""
        return replace(cast(Any, self), names=names)
