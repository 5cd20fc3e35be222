"""Estimate of the entries in the factor of a sparse cost, extrapolated from two samples by a power of their sizes."""

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import in_stages
from mlcli.base.rows.memo import memoize
from mlcli.base.types import Array
from mlcli.stages.graph.nearest import nearest

SIZES = 1000, 2000  # rows of the samples
LEAST, MOST = 1.0, 2.0  # exponents of the number of points, for a curve and for points in many dimensions


def fill_of(points: Array, count: int, *, squared: bool) -> float | None:
    """Return about how many entries the factor has, for an (n, d) array of points with `count` neighbors each.

    The cost joins neighbors and, where it is `squared`, points that share a neighbor. None for few points, or where
    the native kernels are not available.
    """
    rows = len(points)
    if rows <= SIZES[1] or not native.available():
        return None
    few, many = (_fill(points[np.linspace(0, rows - 1, size).astype(np.int64)], min(count, size - 1), squared)
                 for size in SIZES)
    power = min(max(np.log(max(many, 1) / max(few, 1)) / np.log(SIZES[1] / SIZES[0]), LEAST), MOST)
    return float(many * (rows / SIZES[1]) ** power)


def _fill(points: Array, count: int, squared: bool) -> int:
    """Return the number of entries below the diagonal of the factor, for a sample."""
    return memoize(f"fill {len(points)}", (points, count, squared), lambda: _eliminated(points, count, squared))


def _eliminated(points: Array, count: int, squared: bool) -> int:
    """Return the number of entries below the diagonal of the factor of RᵀR.

    R has a row for each neighborhood where the cost is `squared`, else for each pair of neighbors.
    """
    lists, size = nearest(points, count), len(points)
    own = np.arange(size) if squared else lists.rows
    members = np.column_stack([own, lists.indices.reshape(len(own), -1)])
    starts = members.shape[1] * np.arange(len(own) + 1)
    factors = native.NormalCholesky(starts, members.ravel(), np.ones(members.size), columns=size, shift=1.0)
    for _ in in_stages(factors.steps, factors.prepare):
        pass
    return factors.fill
