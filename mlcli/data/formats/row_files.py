"""Rows of columnar files, which are read by groups: Parquet's row groups and Arrow's record batches."""

from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.data.formats.columns import as_doubles

PART = 1 << 19  # numbers read together: 4 MiB
FEWEST = 256  # rows read together of a columnar file, where each column costs a call


def part_rows(columns: int, fewest: int = 1) -> int:
    """Rows that are read together."""
    return max(PART // max(columns, 1), fewest)


def numbers_of(batch: Any) -> Array:
    """A record batch of numbers, its columns one after the other in memory (m x d)."""
    types = {str(kind) for kind in batch.schema.types}
    if types <= {"double"} or types <= {"float"}:
        return np.asarray(batch.to_tensor(null_to_nan=True, row_major=False).to_numpy(), dtype=np.float64)
    return np.stack([as_doubles(column) for column in batch.columns]).T


class GroupedRows:
    """What files of named columns share: they are read by groups of rows, never by single ones."""

    names: tuple[str, ...]  # of columns of numbers
    direct = False

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return len(self.names)

    @property
    def part(self) -> int:
        """Rows that are read together."""
        return part_rows(self.columns, FEWEST)

    def take(self, chosen: Indices) -> Array:
        """Groups of rows are read as a whole."""
        raise NotImplementedError

    def in_order(self, names: tuple[str, ...]) -> Self:
        """The same columns in another order."""
        return replace(cast(Any, self), names=names)
