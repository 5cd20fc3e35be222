"""Memory for an n x n matrix: in RAM, or in a temporary file that vanishes with the process."""

from pathlib import Path
from tempfile import gettempdir

import numpy as np

from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.scratch import map_file
from mlcli.base.types import Array
from mlcli.base.units import memory
from mlcli.base.values.compute import Compute
from mlcli.errors import StorageError
from mlcli.stages.kernels.forms import square_memory

STRIP = 512  # rows made symmetric at once


def square_array(size: int, store: str, compute: Compute) -> Array:
    """Return an uninitialized (n, n) array of doubles; raises RefusedByPlan or StorageError where there is no space."""
    if store == "disk":
        return _mapped(size)
    square_memory(compute, size, 1, "a matrix of distances",
                  "set method.paths.store to streamed or disk, or use landmarks")
    return np.empty((size, size))


def lower_of_both(matrix: Array) -> None:
    """Replace each entry of an (n, n) array and its mirror image by the smaller of both, in place."""

    def merge(rows: slice) -> None:
        lower = np.minimum(matrix[rows, rows.start:], matrix[rows.start:, rows].T)
        matrix[rows, rows.start:] = lower
        matrix[rows.start:, rows] = lower.T

    each(merge, row_blocks(len(matrix), STRIP))


def _mapped(size: int) -> Array:
    try:
        return np.frombuffer(map_file(8 * size * size, Path(gettempdir()))).reshape(size, size)
    except OSError as error:
        raise StorageError("SCRATCH", f"no room for {memory(8 * size * size)} of distances: {error.strerror}",
                           where=gettempdir(), hint="set TMPDIR to a larger disk, or stream them") from error
