"""Sums over columns of the differences of two rows: by the native kernel, SciPy, or column by column."""

from collections.abc import Callable

import numpy as np

from mlcli import native
from mlcli.base.types import Array, Indices


def differences(kind: str, left: Array, right: Array) -> Array:
    """Return distances (m x n) of two arrays of rows (m x d, n x d); `kind` is SciPy's name of a metric, or ruzicka.

    They are zero for equal rows, and symmetric to the last bit.
    """
    if native.available():
        return native.differences(kind, left, right)
    if not left.shape[1]:
        return np.zeros((len(left), len(right)))
    from scipy.spatial.distance import cdist

    if kind == "ruzicka":
        bray = differences("braycurtis", left, right)
        return np.asarray(2 * bray / (1 + bray))
    return np.asarray(cdist(left, right, kind))


def squared_at(rows: Array, points: Array, chosen: Indices) -> Array:
    """Return squared distances (m x c) of each row (m x d) to its `chosen` points (m x c indices into n x d points).

    They have the bits of `differences`.
    """
    if native.available():
        return native.squared_at(rows, points, chosen)
    found = [differences("sqeuclidean", row[None], points[some])[0] for row, some in zip(rows, chosen, strict=True)]
    return np.array(found).reshape(chosen.shape)


def by_columns(left: Array, right: Array, term: Callable[[Array, Array], Array]) -> Array:
    """Return Σₖ term(xₖ, yₖ) (m x n) of two arrays of rows (m x d, n x d), column by column."""
    sums = np.zeros((len(left), len(right)))
    for own, other in zip(left.T, np.ascontiguousarray(right.T), strict=True):
        sums += term(own[:, None], other)
    return sums


def unequal(left: Array, right: Array) -> Array:
    """Return the number of columns (m x n) in which two rows differ (m x d, n x d)."""
    if not left.shape[1]:
        return np.zeros((len(left), len(right)))
    from scipy.spatial.distance import cdist

    return np.rint(cdist(left, right, "hamming") * left.shape[1])
