"""A search for the neighbors of rows as blocks of work, where another executor runs it."""

from mlcli.base.blocks import row_blocks
from mlcli.base.frozen import frozen
from mlcli.base.types import Array

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
        return row_blocks(len(self.new), -(-len(self.new) // PARTS))

    def stop(self) -> None:
        """A block takes little time."""
