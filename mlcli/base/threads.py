"""How many threads the numerical kernels may use, set once for the length of a run, and work shared among them."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import TypeVar

from mlcli.base.stage import advance

LATE = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # read by libraries that are loaded only during the run (SciPy's)
T = TypeVar("T")
R = TypeVar("R")

_allowed: ContextVar[int] = ContextVar("threads", default=1)


def allowed() -> int:
    """The number of threads that a stage may start."""
    return _allowed.get()


@contextmanager
def threads_limited(count: int) -> Iterator[None]:
    """Limits the linear algebra libraries, pyarrow where it is in use already, and the stages to `count` threads."""
    from threadpoolctl import threadpool_limits

    token, before = _allowed.set(count), {name: os.environ.get(name) for name in LATE}
    os.environ.update(dict.fromkeys(LATE, str(count)))
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].set_cpu_count(count)
    try:
        with threadpool_limits(limits=count):
            yield
    finally:
        _allowed.reset(token)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One thread for each call into linear algebra, where the threads are busy with blocks of their own."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield


def each(work: Callable[[T], object], pieces: Sequence[T]) -> None:
    """Does a piece of work for each piece, as `in_order` does, where nothing comes of it but what it writes."""
    for _ in in_order(work, pieces):
        pass


def in_order(work: Callable[[T], R], pieces: Sequence[T]) -> Iterator[R]:
    """What `work` makes of each piece, in the order of the pieces, by as many threads as allowed.

    Meanwhile linear algebra runs on one thread in each, also where there is only one piece: how a product is shared
    among threads decides how it is rounded. So the result is the same for any number of them.
    """
    with single_threaded_blas() if allowed() > 1 else nullcontext():
        count = min(allowed(), len(pieces))
        yield from _shared(work, pieces, count) if count > 1 else map(work, pieces)


def _shared(work: Callable[[T], R], pieces: Sequence[T], count: int) -> Iterator[R]:
    """The same by `count` threads, with few results waiting at a time."""
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(count) as pool:
        for piece in pieces:
            waiting.append(pool.submit(work, piece))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def in_stages(counts: Sequence[int], task: Callable[[int, int], R]) -> Iterator[R]:
    """What the tasks of an elimination give: those of a stage on all threads, after all stages before it."""
    with ThreadPoolExecutor(allowed()) as pool:
        for stage, count in enumerate(counts):
            yield from pool.map(partial(task, stage), range(count))
            advance(stage + 1, len(counts))
