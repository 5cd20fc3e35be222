"""What a block of work adds to a pass over a kernel that is never stored."""

from collections.abc import Callable, Iterable

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices


@frozen
class Folded:
    """What one block of work adds to a pass; the moments are needed from one pass only."""

    rows: Indices | slice  # which rows of the kernel, by number or by place (see Streamed)
    product: Array  # to K[rows] Q
    sums: Array | float = 0.0  # to the sum of each row
    squares: float = 0.0  # to the sum of all squares
    trace: float = 0.0  # to the sum of K[i, i]


Parts = Iterable[Folded]
Fold = Callable[[int, Array, bool], Parts]  # the block's number, Q, and whether moments are needed
