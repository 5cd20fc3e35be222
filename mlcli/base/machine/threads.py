"""How many threads the numerical kernels may use, set once for the length of a run."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from mlcli.base.context import context, set_context

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

DUPLICATES = "KMP_DUPLICATE_LIB_OK"  # of OpenMP, which threadpoolctl sets when it is imported
LATE = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # read by libraries that are loaded only during the run (SciPy's)


def allowed() -> int:
    """Return the number of threads that a stage may start."""
    return context().threads


@contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """Limits the linear algebra libraries, pyarrow where it is in use already, and the stages to `count` threads."""
    before = {name: os.environ.get(name) for name in LATE}
    os.environ.update(dict.fromkeys(LATE, str(count)))
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].set_cpu_count(count)
    try:
        with set_context(threads=count), blas_libraries().limit(limits=count):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One thread for each call into linear algebra, where the threads are busy with blocks of their own."""
    with blas_libraries().limit(limits=1):
        yield


def blas_libraries() -> "ThreadpoolController":
    """The linear algebra libraries in use, their threads as they are now."""
    return _libraries(len(sys.modules))


@lru_cache(maxsize=1)
def _libraries(modules: int) -> "ThreadpoolController":
    """The libraries in use, searched for again once more modules are loaded: that takes a millisecond."""
    given = os.environ.get(DUPLICATES)
    from threadpoolctl import ThreadpoolController

    if given is None:  # which it sets for the whole process, and those that are started from it
        os.environ.pop(DUPLICATES, None)
    return ThreadpoolController()
