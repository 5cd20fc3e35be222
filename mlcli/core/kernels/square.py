"""Square matrices of a fit: distances, and the kernel that was solved; those that a run may keep."""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.base.values.products import Products, Square
from mlcli.core.centering import Centering
from mlcli.core.euclidean_distances import gower
from mlcli.core.kernels.corrections import Correction
from mlcli.core.metrics.distances import metric_of, squared


def kernel_product(size: int, rows: RowsOf, centering: Centering) -> Products:
    """Return the kernel of n = `size` points as it was solved, and before it was centered, from its uncentered rows."""
    kernel: Products = {"kernel": Square(size, lambda chosen: centering(rows(chosen)), "spectrum")}
    return {**kernel, "uncentered": Square(size, rows, "spectrum")} if centering.across else kernel


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
