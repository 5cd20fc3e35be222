"""How many threads the numerical kernels may use, set once for the length of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_allowed: ContextVar[int] = ContextVar("threads", default=1)


def allowed() -> int:
    """The number of threads that a stage may start."""
    return _allowed.get()


@contextmanager
def threads_limited(count: int) -> Iterator[None]:
    """Limits the linear algebra libraries and the stages to `count` threads."""
    from threadpoolctl import threadpool_limits

    token = _allowed.set(count)
    try:
        with threadpool_limits(limits=count):
            yield
    finally:
        _allowed.reset(token)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One thread for each call into linear algebra, where the threads are busy with blocks of their own."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield
