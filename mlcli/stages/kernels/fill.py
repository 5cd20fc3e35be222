"""Estimate of the entries in the factor of a sparse cost, extrapolated from two samples by a power of their sizes."""

from typing import TYPE_CHECKING

import numpy as np

from mlcli import native
from mlcli.base.rows.memo import memoize
from mlcli.base.types import Array
from mlcli.stages.algebra import ordering
from mlcli.stages.graph.nearest import nearest

if TYPE_CHECKING:
    from scipy import sparse

SIZES = 1000, 2000  # rows of the samples
LEAST, MOST = 1.0, 2.0  # exponents of the number of points, for a curve and for points in many dimensions


def fill_of(points: Array, count: int, *, squared: bool) -> float | None:
    """Return about how many entries the factor has, for an (n, d) array of points with `count` neighbors each.

    The cost joins neighbors and, where it is `squared`, points that share a neighbor. None for few points, or where
    METIS or the native kernels are not available.
    """
    rows = len(points)
    if rows <= SIZES[1] or not ordering.available() or not native.available():
        return None
    few, many = (_fill(points[np.linspace(0, rows - 1, size).astype(np.int64)], min(count, size - 1), squared)
                 for size in SIZES)
    power = min(max(np.log(max(many, 1) / max(few, 1)) / np.log(SIZES[1] / SIZES[0]), LEAST), MOST)
    return float(many * (rows / SIZES[1]) ** power)


def _fill(points: Array, count: int, squared: bool) -> int:
    """Return the number of entries in the factor of a sample."""
    return memoize(f"fill {len(points)}", (points, count, squared),
                   lambda: _eliminated(_joined(points, count, squared)))


def _joined(points: Array, count: int, squared: bool) -> "sparse.csr_array":
    """Return a positive definite matrix with the sparsity pattern of the cost."""
    from scipy import sparse

    lists, size = nearest(points, count), len(points)
    edges = sparse.csr_array((np.ones(len(lists.indices)), lists.indices, lists.starts), shape=(size, size))
    root = edges + sparse.eye_array(size)
    joined = (root.T @ root if squared else edges + edges.T).tolil()
    joined.setdiag(float(size * count))
    found = joined.tocsr()
    found.sort_indices()
    return found


def _eliminated(matrix: "sparse.csr_array") -> int:
    """Return the number of entries below the diagonal of the matrix's factor in nested-dissection order."""
    pattern = matrix.copy()
    pattern.setdiag(0)
    pattern.eliminate_zeros()
    order = ordering.nested_dissection(pattern.indptr, pattern.indices)
    return native.Cholesky(matrix.indptr, matrix.indices, matrix.data, order).fill
