"""A pass over a kernel that is never stored: the source of its blocks, and what one of them adds."""

from collections.abc import Sequence
from typing import Any, Protocol

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices, RowsOf


@frozen
class Folded:
    """What one block of work adds to a pass; the moments are needed from one pass only."""

    rows: Indices | slice  # which rows of the kernel, by number or by place (see KernelRows.order)
    product: Array  # to K[rows] Q
    sums: Array | float = 0.0  # to the sum of each row
    squares: float = 0.0  # to the sum of all squares
    trace: float = 0.0  # to the sum of K[i, i]


class KernelRows(Protocol):
    """A symmetric kernel K (n x n) whose rows are found when they are needed; it can be pickled."""

    @property
    def given(self) -> Sequence[Any]:
        """What every number of a pass follows from."""

    @property
    def size(self) -> int:
        """The number of points."""

    @property
    def blocks(self) -> int:
        """How many blocks of work a pass has."""

    @property
    def width(self) -> int:
        """Columns of a block of vectors that cost little beside the rows themselves."""

    @property
    def landmarks(self) -> int:
        """Single rows that cost little beside a pass."""

    @property
    def order(self) -> Indices | None:
        """The points by their places, where blocks name rows by these (n); None where they name them by number."""

    @property
    def quick_rows(self) -> RowsOf | None:
        """Finds rows in the precision of a pass, where that is quicker."""

    def rows(self, chosen: Indices) -> Array:
        """Some rows, in double precision (m x n)."""

    def fold(self, number: int, vectors: Array, moments: bool) -> Sequence[Folded]:
        """What a block adds to K Q for vectors Q (n x b), and to the moments where they are needed."""

    def stop(self) -> None:
        """Lets folds that have begun end early, because nobody will use the result."""


@frozen
class Pass:
    """K Q: a source of blocks."""

    kernel: KernelRows
    vectors: Array  # Q, n x b
    moments: bool

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return self.kernel.blocks

    def work(self, number: int) -> Sequence[Folded]:
        """What a block adds."""
        return self.kernel.fold(number, self.vectors, self.moments)

    def stop(self) -> None:
        """Lets blocks that have begun end early."""
        self.kernel.stop()
