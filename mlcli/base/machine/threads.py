"""How many threads the numerical kernels may use, set once for the length of a run."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mlcli.base.context import context, set_context

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

DUPLICATES = "KMP_DUPLICATE_LIB_OK"  # of OpenMP, which threadpoolctl sets when it is imported
WITHOUT = {"mlcli", "threadpoolctl", *sys.stdlib_module_names}  # packages that load no linear algebra of their own
LATE = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # read by libraries that are loaded only during the run (SciPy's)

JAX_POOL = "PJRT_NPROC"  # the variable that XLA's thread pool reads when it starts


def allowed() -> int:
    """Return the number of threads that a stage may start."""
    return context().threads


@contextmanager
def limit_threads(count: int, *, portable: bool = False) -> Iterator[None]:
    """Limits the linear algebra libraries, pyarrow where it is in use already, and the stages to `count` threads.

    For `portable` results the libraries have one, as their sums depend on the number; those of stages do not.
    Afterwards the process is as it was: a library that was loaded meanwhile has as many threads as the others had.
    """
    before = {name: os.environ.get(name) for name in (*LATE, JAX_POOL)}
    linear = 1 if portable else count
    os.environ.update(dict.fromkeys(LATE, str(linear)))
    arrow = sys.modules.get("pyarrow")
    arrow_threads = None if arrow is None else arrow.cpu_count()
    if arrow is not None:
        arrow.set_cpu_count(count)
    single, libraries = _Known.single, blas_libraries()
    known = {library.filepath: library.num_threads for library in libraries.lib_controllers
             if library.user_api == "blas"}
    try:
        with set_context(threads=count, portable=portable), libraries.limit(limits=linear):
            _Known.single = libraries if linear == 1 else None
            yield
    finally:
        _Known.single = single
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        if arrow is not None:
            arrow.set_cpu_count(arrow_threads)
        for library in blas_libraries().lib_controllers if known else ():
            if library.user_api == "blas" and library.filepath not in known:
                library.set_num_threads(max(known.values()))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One thread for each call into linear algebra, where the threads are busy with blocks of their own.

    Inside another such block there is nothing to do, unless libraries were loaded since.
    """
    libraries, outer = blas_libraries(), _Known.single
    if libraries is outer:
        yield
        return
    with libraries.limit(limits=1):
        _Known.single = libraries
        try:
            yield
        finally:
            _Known.single = outer


class _Known:
    """The libraries that the last search found, and the number of modules that were loaded by then."""

    libraries: "ThreadpoolController | None" = None
    modules = 0
    single: "ThreadpoolController | None" = None  # those that are limited to one thread


def numpy_features() -> list[str]:
    """Return the instruction sets beyond its baseline that NumPy uses here."""
    import numpy as np

    return list(np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", ()))


def blas_libraries() -> "ThreadpoolController":
    """The linear algebra libraries in use, their threads as they are now.

    They are searched for again once modules of other packages are loaded: that takes a millisecond.
    """
    loaded = len(sys.modules)
    if _Known.libraries is None or loaded != _Known.modules:
        first = _Known.modules if loaded > _Known.modules else 0  # modules stand in the order in which they were loaded
        new = [*sys.modules][first:]
        _Known.modules = loaded
        if _Known.libraries is None or any(name.partition(".")[0] not in WITHOUT for name in new):
            _Known.libraries = _found()
    return _Known.libraries


def _found() -> "ThreadpoolController":
    """The libraries of this process."""
    given = os.environ.get(DUPLICATES)
    from threadpoolctl import ThreadpoolController

    if given is None:  # which it sets for the whole process, and those that are started from it
        os.environ.pop(DUPLICATES, None)
    return ThreadpoolController()
