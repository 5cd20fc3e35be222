"""Square matrices of a fit: distances, and the kernel that was solved; those that a run may keep."""

from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.scratch import map_file
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.units import memory
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.base.values.products import Products, Square
from mlcli.core.centering import Centering
from mlcli.core.distances import gower
from mlcli.core.kernels.corrections import Correction
from mlcli.core.kernels.forms import square_memory
from mlcli.core.metrics.distances import squared
from mlcli.core.metrics.points import metric_of
from mlcli.errors import StorageError


def kernel_product(size: int, rows: RowsOf, centering: Centering) -> Products:
    """Return the centered kernel of n = `size` points, from its uncentered rows."""
    return {"kernel": Square(size, lambda chosen: centering(rows(chosen)), "spectrum")}


def distance_products(size: int, rows: RowsOf, centering: Centering,
                      of_squares: Callable[[Array], Array] = gower) -> Products:
    """Return distances, and the kernel of their squares: -H D² H / 2, or another by `of_squares`."""
    kernel = kernel_product(size, lambda chosen: of_squares(np.square(rows(chosen))), centering)
    return {"distances": Square(size, rows, "input"), **kernel}


def distances_product(data: Spatial) -> Products:
    """Return the distances between points under their metric."""
    return {"distances": Square(len(data.values), corrected_rows(data, Correction("none", 0.0)), "input")}


def corrected_rows(data: Spatial, correction: Correction) -> RowsOf:
    """Return a function that computes rows of the corrected distances, of points or of given dissimilarities."""
    values, given = data.values, isinstance(data, Dissimilarities)

    def rows(chosen: Indices) -> Array:
        squares = values[chosen] ** 2 if given else squared(metric_of(data), values[chosen], values)
        return np.sqrt(correction.off_diagonal(squares, chosen))

    return rows


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
