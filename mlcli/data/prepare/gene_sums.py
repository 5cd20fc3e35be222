"""Sums and sums of squares of genes over cells, by passes over a table in memory or in blocks, sparse or not."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial, reduce
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.source import Rows
from mlcli.base.rows.sparse import entries_of
from mlcli.base.types import Array
from mlcli.engine.executor import results

BLOCK = 2**20  # numbers of a block of a table in memory


@frozen
class GeneSums:
    """Sums of each gene over some cells."""

    sums: Array  # d
    squares: Array  # d
    least: float  # the smallest number
    whole: bool  # whether all numbers are whole

    def __add__(self, other: "GeneSums") -> "GeneSums":
        return GeneSums(self.sums + other.sums, self.squares + other.squares, min(self.least, other.least),
                        self.whole and other.whole)

    def moments(self, count: int) -> tuple[Array, Array]:
        """Return means and variances over n - 1 of each gene in `count` cells, (d,) arrays, as scanpy computes them."""
        means = self.sums / count
        return means, (self.squares / count - means**2) * (count / max(count - 1, 1))


@frozen
class Change:
    """The change of each number before it is summed."""

    exponentials: bool = False  # exp(x) - 1
    limits: Array | None = None  # d, above which numbers are clipped

    def __call__(self, values: Array, columns: Any) -> Array:
        """Return changed numbers of rows (m x d) or entries (e); `columns` (all, or e places) choose their limits."""
        if self.exponentials:
            with np.errstate(over="ignore"):  # refused by the sums
                return np.expm1(values)
        return values if self.limits is None else np.minimum(values, self.limits[columns])


@frozen
class Pass:
    """A pass over rows that are read in blocks: a source of blocks."""

    rows: Rows
    change: Change

    @property
    def blocks(self) -> int:
        """Number of blocks of work."""
        return self.rows.blocks

    def work(self, number: int) -> GeneSums:
        """Return the sums over a block, by its entries where it is sparse."""
        some = entries_of(self.rows, number)
        if some is None or some.center.any():
            size = self.rows.shape[1]
            none = GeneSums(np.zeros(size), np.zeros(size), np.inf, whole=True)
            return reduce(GeneSums.__add__, (_of_cells(part, self.change) for _, part in self.rows.parts(number)), none)
        entries, size = some.entries, some.entries.shape[1]
        sums, squares = np.zeros(size), np.zeros(size)
        with np.errstate(over="ignore", invalid="ignore"):
            for part in row_blocks(len(entries.data), BLOCK):
                columns = entries.indices[part]
                values = self.change(entries.data[part], columns)
                sums += np.bincount(columns, values, size)
                squares += np.bincount(columns, values * values, size)
        return GeneSums(sums, squares, min(float(entries.data.min(initial=0.0)), 0.0), _are_whole(entries.data))

    def stop(self) -> None:
        """Do nothing: blocks are short."""


def gene_sums(table: Array | Rows, change: Change | None = None) -> GeneSums:
    """Return the sums over all rows of a table (n x d); blocks are added in their order, whatever the threads."""
    change = change or Change()
    with closing(_parts(table, change)) as every:
        return reduce(GeneSums.__add__, every)


def _parts(table: Array | Rows, change: Change) -> Any:
    if isinstance(table, Rows):
        return results(Pass(table, change))
    blocks: Sequence[slice] = list(row_blocks(len(table), BLOCK, table.shape[1]))
    found: Iterator[GeneSums] = in_order(partial(_of_block, table, change), blocks)
    return found


def _of_block(table: Array, change: Change, block: slice) -> GeneSums:
    return _of_cells(table[block], change)


def _of_cells(values: Array, change: Change) -> GeneSums:
    """Return the sums over rows in memory (m x d)."""
    changed = change(values, slice(None))
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->j", changed, changed)
        return GeneSums(changed.sum(axis=0), squares, float(values.min(initial=np.inf)), _are_whole(values))


def _are_whole(values: Array) -> bool:
    return bool(np.array_equal(values, np.rint(values)))
