"""Work in blocks of rows: one function for every block, on all threads, with results in order.

This is the one place that starts threads for work. It lies in `base`, and not in `engine`, because scaling and checking
data (`base/values/scaling.py`) take threads too: one thread alone takes two to four times as long for large tables.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing
from functools import cache, partial
from typing import Any, Protocol, TypeVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import allowed, single_threaded_blas
from mlcli.base.stages.checkpoints import Place
from mlcli.base.stages.stage import advance
from mlcli.base.types import AnyArray

BATCH = 64  # tasks of each thread between two checkpoints: few threads wait long for the last of them
AHEAD = 2  # blocks that are begun, or done, beyond one for each worker
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Blocks(Protocol[T_co]):
    """Blocks of work of a known number, which may be made when they are needed."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[T_co]: ...


@frozen
class Workers:
    """An executor, and how many blocks it runs at once, which may change."""

    executor: Executor
    count: Callable[[], int]


def row_blocks(rows: int, numbers: int, width: int = 1) -> list[slice]:
    """The rows of a matrix in blocks of about so many numbers each, `width` of them to a row; at least a row each."""
    step = max(1, numbers // max(1, width))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def one_by_one(blocks: Sequence[T]) -> Iterator[T]:
    """The blocks one after the other, for work that uses all threads in each; reports how many are done."""
    for done, block in enumerate(blocks):
        yield block
        advance(done + 1, len(blocks))


def each(work: Callable[[T], object], blocks: Sequence[T], *, progress: bool = False) -> None:
    """Do the work for each block, as `in_order` does, for work without results."""
    for _ in in_order(work, blocks, progress=progress, ahead=len(blocks)):
        pass


def in_order(work: Callable[[T], R], blocks: Blocks[T], *, progress: bool = False, done: int = 0, ahead: int = AHEAD,
             stop: Callable[[], None] = lambda: None, workers: Workers | None = None,
             most: int = 0) -> Generator[R, None, None]:
    """Yield `work(block)` for each block, in order, computed by all allowed threads or by other workers.

    `most` limits the threads where memory holds fewer blocks. At most `ahead` blocks are submitted beyond one for each
    worker. When a block fails, or the consumer leaves early, `stop` is called for the blocks that have started, and no
    other starts. With `progress`, listeners get the number of finished blocks, plus `done`. Linear algebra runs on one
    thread in each block, even a single one: the number of threads changes the rounding of a product, so the result is
    the same for any number of them.
    """
    threads = min(most or allowed(), allowed())
    if workers is None and min(threads, len(blocks)) > 1:
        workers = Workers(_threads(threads), lambda: threads)
    results = _in_flight(workers, work, blocks, ahead, stop) if workers else (work(block) for block in blocks)
    with single_threaded_blas(), closing(results):
        for number, result in enumerate(results, done + 1):
            yield result
            if progress:
                advance(number, done + len(blocks))


def complete(work: Callable[[int], object], done: AnyArray, place: Place[Any], state: Callable[[], Any], *,
             progress: bool = False) -> None:
    """Do the work of each task that is not `done` (t), and mark it there, in any order.

    A checkpoint of `state` is offered to the place between batches of tasks, and where the run is to end after those
    that have begun: no task runs while it is written.
    """
    def run(task: int) -> None:
        work(task)
        done[task] = True

    while not done.all():
        batch = np.flatnonzero(~done)[: BATCH * allowed()].tolist()
        with closing(in_order(run, batch, ahead=len(batch))) as results:
            for _ in results:
                if progress:
                    advance(int(done.sum()), len(done))
                if place.wanted:
                    break
        place.offer(state)


def in_stages(counts: Sequence[int], task: Callable[[int, int], R]) -> Generator[R, None, None]:
    """The results of a factorization's tasks: those of a stage on all threads, after all stages before it."""
    with single_threaded_blas():  # once for all stages, of which there may be hundreds
        for stage, count in enumerate(counts):
            yield from in_order(partial(task, stage), range(count), ahead=count)
            advance(stage + 1, len(counts))


def _in_flight(workers: Workers, work: Callable[[T], R], blocks: Blocks[T], ahead: int,
               stop: Callable[[], None]) -> Generator[R, None, None]:
    """The results in order; an error, or a consumer that leaves, waits for the blocks that have begun and no others."""
    waiting: deque[Future[R]] = deque()
    try:
        for block in blocks:
            waiting.append(workers.executor.submit(work, block))
            while len(waiting) > workers.count() + ahead:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    except BaseException:
        begun = [future for future in waiting if not future.cancel()]
        stop()
        wait(begun)
        raise


def _first(waiting: deque[Future[R]]) -> R:
    """The first result, not kept here; its block counts as begun until it is there."""
    result = waiting[0].result()
    waiting.popleft()
    return result


@cache
def _threads(count: int) -> Executor:
    """The threads of this process: started as they are needed, kept for the next blocks."""
    return ThreadPoolExecutor(count, thread_name_prefix="block")


os.register_at_fork(after_in_child=_threads.cache_clear)  # a child has none of its parent's threads
