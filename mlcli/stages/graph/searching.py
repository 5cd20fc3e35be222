"""A search for the neighbors of rows as blocks of work, where another executor runs it."""

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.steps import Passes
from mlcli.base.types import Array
from mlcli.engine.executor import WORTH

PAIR = 16.0  # bytes of a neighbor: its number, and how far it is
PARTS = 256  # blocks that a search is divided into, at most


@frozen
class RowSearch:
    """What searches for neighbors of rows have in common; each process prepares its own, and blocks take rows."""

    new: Array

    @property
    def seconds(self) -> float:
        """What the search costs one core."""
        raise NotImplementedError

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return len(self.parts)

    @property
    def parts(self) -> list[slice]:
        """The rows of each block."""
        return parts_of(len(self.new))

    def stop(self) -> None:
        """A block takes little time."""


def parts_of(rows: int) -> list[slice]:
    """The rows of each block of a search."""
    return row_blocks(rows, -(-rows // PARTS))


def searching(shape: tuple[int, ...], count: int, memory: float, *, alone: float, there: float) -> Passes | None:
    """The search among all points as a cluster would run it; None where a core alone is quick enough (in seconds).

    `there` is what it costs a core of a worker, whose blocks take each pair of points twice.
    """
    rows, columns = shape
    if alone <= WORTH:
        return None
    return Passes(1, there, len(parts_of(rows)), sent=0.0, returned=PAIR * count * rows, once=8.0 * rows * columns,
                  working=memory)
