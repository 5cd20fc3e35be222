"""The executor: runs the blocks of a source on this process's threads, or on any other executor."""

from collections.abc import Callable, Generator
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import TypeVar

from mlcli.base.context import context, set_context
from mlcli.base.rows.blocks import Workers, in_order
from mlcli.base.rows.source import rows_of
from mlcli.engine.block import Block, Source

R = TypeVar("R")
WORTH = 10.0  # seconds of a core beyond which work goes elsewhere that would be quick here


def running_on(executor: Executor, workers: int | Callable[[], int]) -> AbstractContextManager[None]:
    """For the length of a `with` block, blocks run on another executor, such as processes, so many at once.

    Where workers come and go, a function says how many.
    """
    return set_context(workers=Workers(executor, workers if callable(workers) else lambda: workers))


def sent(seconds: float) -> bool:
    """Whether work that takes a core so long is worth another executor than this process's threads, and there is one.
    """
    return context().workers is not None and seconds > WORTH


def results(source: Source[R], first: int = 0) -> Generator[R, None, None]:
    """The results of a source's blocks, in the order of their numbers; listeners are notified of how many are done.

    Those before `first` were made earlier. Few are in flight at a time. Whoever closes the iterator early, or an error,
    stops the source.
    """
    blocks = [Block(source, number) for number in range(first, source.blocks)]
    rows = rows_of(getattr(source, "rows", getattr(source, "points", None)))
    return in_order(Block.run, blocks, progress=True, done=first, stop=source.stop, workers=context().workers,
                    most=0 if rows is None else rows.lanes)
