"""Blocks of a source, and the executor that runs them: this process's threads, or any other."""

from collections.abc import Callable, Generator
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from math import isqrt
from typing import Generic, Protocol, TypeVar

from mlcli.base.context import context, set_context
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import Workers, in_order
from mlcli.base.rows.source import rows_of

R = TypeVar("R")
Result = TypeVar("Result", covariant=True)
SPAN = 16  # successive blocks, at least, whose sum is added to a total as one
TOGETHER = 4  # results that a worker adds at once: more would wait in memory, fewer would take more tasks
WORTH = 10.0  # seconds of a core beyond which work goes elsewhere that would be quick here


class BlockSource(Protocol[Result]):
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

    source: BlockSource[R]
    number: int

    def run(self) -> R:
        """Compute the block with one thread, in any process."""
        with single_threaded_blas():
            return self.source.work(self.number)


def running_on(executor: Executor, workers: int | Callable[[], int]) -> AbstractContextManager[None]:
    """For the length of a `with` block, blocks run on another executor, such as processes, so many at once.

    Where workers come and go, a function says how many.
    """
    return set_context(workers=Workers(executor, workers if callable(workers) else lambda: workers))


def sent(seconds: float) -> bool:
    """Whether work that takes a core so long is worth another executor than this process's threads, and there is one.
    """
    return context().workers is not None and seconds > WORTH


def results(source: BlockSource[R], first: int = 0) -> Generator[R, None, None]:
    """The results of a source's blocks, in the order of their numbers; listeners are notified of how many are done.

    Those before `first` were made earlier. Few are in flight at a time. Whoever closes the iterator early, or an error,
    stops the source.
    """
    blocks = [Block(source, number) for number in range(first, source.blocks)]
    rows = rows_of(getattr(source, "rows", getattr(source, "points", None)))
    return in_order(Block.run, blocks, progress=True, done=first, stop=source.stop, workers=context().workers,
                    most=0 if rows is None else rows.lanes)


def span_of(blocks: int) -> int:
    """Return the number of successive blocks that make a span: their sum is added to the total as one.

    It depends on the number of blocks only, so a sum has the same bits wherever blocks run. There are about as many
    spans as blocks in each, so workers that form the sums receive the fewest results.
    """
    return max(SPAN, isqrt(max(blocks - 1, 0)) + 1)


def ends_span(done: int, blocks: int) -> bool:
    """Whether a span ends once so many of the blocks are done."""
    return done == blocks or done % span_of(blocks) == 0
