"""A pass over a kernel that is never stored: the source of its blocks, and the sums that each block adds."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices, RowsOf


@frozen
class BlockSums:
    """The sums that one block of work adds to a pass; moments are summed in one pass only."""

    rows: Indices | slice  # rows of the kernel, by number or by position (see KernelRows.order)
    product: Array  # to K[rows] Q
    sums: Array | float = 0.0  # to the sum of each row
    squares: float = 0.0  # to the sum of all squares
    trace: float = 0.0  # to the sum of K[i, i]


@frozen
class ColumnSample:
    """Columns of a kernel K that stand for all of them: sums over these are, up to a factor, an estimate."""

    points: Indices  # m
    multiply: Callable[[Array], Array]  # (m, b) factors -> K[:, points] times these, an (n, b) array


class KernelRows(Protocol):
    """A symmetric kernel K (n x n) whose rows are computed when needed; it can be pickled."""

    @property
    def key(self) -> Sequence[Any]:
        """The arrays and parameters that determine the kernel: the key of its checkpoints."""

    @property
    def size(self) -> int:
        """Number of points."""

    @property
    def blocks(self) -> int:
        """Number of blocks of work in a pass."""

    @property
    def width(self) -> int:
        """Number of vectors in a block that cost little compared with the rows themselves."""

    @property
    def landmarks(self) -> int:
        """Number of single rows that cost little compared with a pass."""

    @property
    def order(self) -> Indices | None:
        """The numbers of the points by position, an (n,) array, where blocks index rows by position; None where they
        index them by number.
        """

    @property
    def quick_rows(self) -> RowsOf | None:
        """A function that computes rows in the precision of a pass, where that is quicker; else None."""

    @property
    def sample(self) -> ColumnSample | None:
        """Some columns, where products with them cost little compared with a pass; else None."""

    def rows(self, chosen: Indices) -> Array:
        """Return the rows `chosen` in double precision, an (m, n) array."""

    def fold(self, number: int, vectors: Array, moments: bool) -> Sequence[BlockSums]:
        """Return the sums that a block adds to K Q, for (n, b) `vectors` Q, and to the moments where `moments`.

        Rows of Q are those of the points by position where there is an `order`, else by number.
        """

    def stop(self) -> None:
        """Let running folds end early, because their results are no longer needed."""


@frozen
class KernelPass:
    """The product K Q, as a source of blocks."""

    kernel: KernelRows
    vectors: Array  # Q, n x b, its rows as those of the kernel's blocks
    moments: bool

    @property
    def blocks(self) -> int:
        """Number of blocks of work."""
        return self.kernel.blocks

    def work(self, number: int) -> Sequence[BlockSums]:
        """Return the sums that a block adds."""
        return self.kernel.fold(number, self.vectors, self.moments)

    def stop(self) -> None:
        """Let running blocks end early."""
        self.kernel.stop()
