"""A block of work: its number, and its source."""

from typing import Generic, Protocol, TypeVar

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas

R = TypeVar("R")
Result = TypeVar("Result", covariant=True)


class Source(Protocol[Result]):
    """The source of blocks: a value that can be pickled, so that a block gives the same in any process."""

    @property
    def blocks(self) -> int:
        """The number of blocks."""

    def work(self, number: int) -> Result:
        """Compute a block."""

    def stop(self) -> None:
        """Let running blocks of this process end early: their results are not needed."""


@frozen
class Block(Generic[R]):
    """One of the blocks of a source."""

    source: Source[R]
    number: int

    def run(self) -> R:
        """Compute the block with one thread, in any process."""
        with single_threaded_blas():
            return self.source.work(self.number)
