"""Memory of a process without data: the program, its libraries, its threads. Imports nothing heavy.

Sizes are resident memory, measured in fresh processes (`benchmarks/plan.py`).
"""

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager

from mlcli.base.context import context, set_context
from mlcli.base.frozen import frozen
from mlcli.errors import option

MIB = 2**20
PROGRAM = 60 * MIB  # the interpreter, NumPy, the options and the stages
CHECKS = 8 * MIB  # what measures, draws and certifies, with its small arrays
THREAD = 4 * MIB  # a further thread, with its share of OpenBLAS's buffers
DASK, WORKER = 50 * MIB, 70 * MIB  # a scheduler within the program, and each worker that it starts beside itself
SPECIAL, LINEAR, SPARSE, OPTIMIZE = "scipy.special", "scipy.linalg", "scipy.sparse", "scipy.optimize"  # each takes
# what the ones before it take, and more
ALL = "scipy"  # what is loaded with the optimizers
ARROW, PARQUET, HDF5, JAX, PLOT = "pyarrow", "pyarrow.parquet", "h5py", "jax", "matplotlib"
LIBRARIES = {SPECIAL: 14 * MIB, LINEAR: 15 * MIB, SPARSE: 24 * MIB, OPTIMIZE: 38 * MIB}
BESIDE = {ARROW: 38 * MIB, PARQUET: 9 * MIB, HDF5: 12 * MIB, JAX: 280 * MIB, PLOT: 34 * MIB}
COLUMN, ARROW_COLUMN = 860.0, 5000.0  # bytes for a column: its name in each table, and more while Arrow reads it
TEXT = 5.0  # arrays of the size of a table up to which one that Arrow reads is held
CELL_OF_TEXT = 64  # bytes of a text in a column beside its letters
KEPT = 0.25  # share of what reading a file takes beside its table that allocators keep
LOADING = {  # shares of the seconds of a start
    "": 0.0, SPECIAL: 0.2, LINEAR: 0.2, SPARSE: 0.3, OPTIMIZE: 0.5, JAX: 5.5, PLOT: 1.4}


@frozen
class AfterFit:
    """Needs of a run once its model is fitted, beside those of its stages."""

    needs: tuple[str, ...] = ()  # libraries
    memory: float = 0.0  # bytes
    starts: float = 0.0  # seconds beside those of loading libraries, as multiples of a start
    instead: str = ""  # how to do without
    rules: bool = True  # whether rules for the number of axes look at rows
    quality: bool = True  # whether distances among rows are compared
    baseline: float = 0.0  # bytes of fitting the method beside whose quality the embedding's is shown
    reading: float = 0.0  # bytes that reading the file took beside the table
    kept: float = 0.0  # of these, what allocators keep
    texts: float = 0.0  # bytes of the rows' ids and labels


NOTHING = AfterFit()


def memory_after_fit(needs: AfterFit) -> AbstractContextManager[None]:
    """Count these needs in all predictions of the `with` block."""
    return set_context(after_fit=needs)


def after_fit() -> AfterFit:
    """Return the needs of the run once its model is fitted."""
    return context().after_fit or NOTHING


def workers_fitting(left: float, each: float) -> str:
    """Return a hint: the number of local workers of `each` bytes that fit into `left` bytes, or to use none."""
    count = int((left - DASK) / each)
    return f"{option('compute.cluster', f'local:{count}')} fits" if count > 0 else "leave {compute.cluster} out"


def resident(threads: int, needs: Iterable[str] = ()) -> int:
    """Return the resident bytes of a run without data, with `threads` and all libraries that are or will be loaded."""
    names = {*needs, *(name for name in (*LIBRARIES, *BESIDE) if name in sys.modules)}
    scipy = max((LIBRARIES[name] for name in names & LIBRARIES.keys()), default=0)
    return PROGRAM + CHECKS + THREAD * (threads - 1) + scipy + sum(BESIDE[name] for name in names & BESIDE.keys())
