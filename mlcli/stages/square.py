"""Room for an n x n matrix: in memory, or in a temporary file that vanishes with the process."""

import os
import tempfile

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.types import Array
from mlcli.base.units import memory
from mlcli.errors import StorageError
from mlcli.stages.kernels import square_memory


def square_array(size: int, store: str, compute: Compute) -> Array:
    """An n x n array of doubles, not initialized; raises RefusedByPlan or StorageError where there is no room."""
    if store == "disk":
        return _mapped(size)
    square_memory(compute, size, 1, "a matrix of distances",
                  "set method.paths.store to streamed or disk, or use landmarks")
    return np.empty((size, size))


def _mapped(size: int) -> Array:
    """The file is given all its blocks at once, so that a full disk is an error here and not a crash later."""
    try:
        with tempfile.TemporaryFile(prefix="mlcli-") as file:
            os.posix_fallocate(file.fileno(), 0, max(8 * size * size, 1))
            return np.memmap(file, dtype=np.float64, mode="r+", shape=(size, size))
    except OSError as error:
        raise StorageError("SCRATCH", f"no room for {memory(8 * size * size)} of distances: {error.strerror}",
                           where=tempfile.gettempdir(), hint="set TMPDIR to a larger disk, or stream them") from error
