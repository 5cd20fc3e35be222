"""A search for the neighbors of rows as blocks of work, for other executors."""

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.steps import Passes
from mlcli.base.types import Array
from mlcli.engine.executor import WORTH

PAIR = 16.0  # bytes of a neighbor: its number and its distance
PARTS = 256  # blocks that a search is divided into, at most


@frozen
class RowSearch:
    """Base of searches for neighbors of rows; each process prepares its own, and blocks are slices of rows."""

    new: Array

    @property
    def seconds(self) -> float:
        """Predicted seconds of the search on one core."""
        raise NotImplementedError

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.parts)

    @property
    def parts(self) -> list[slice]:
        """The rows of each block."""
        return parts_of(len(self.new))

    def stop(self) -> None:
        """Do nothing: a block takes little time."""


def parts_of(rows: int) -> list[slice]:
    """Return the rows of each block of a search."""
    return row_blocks(rows, -(-rows // PARTS))


def search_passes(shape: tuple[int, ...], count: int, memory: float, *, alone: float, there: float) -> Passes | None:
    """Return the cost of the search among all points on a cluster; None where one core is fast enough (in seconds).

    `there` is the cost on one core of a worker, whose blocks process each pair of points twice.
    """
    rows, columns = shape
    if alone <= WORTH:
        return None
    return Passes(1, there, len(parts_of(rows)), sent=0.0, returned=PAIR * count * rows, once=8.0 * rows * columns,
                  working=memory)
