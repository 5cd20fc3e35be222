"""Sums over columns of what two rows differ by: by the native kernel, or column by column."""

from collections.abc import Callable

import numpy as np

from mlcli import native
from mlcli.base.types import Array, Indices


def differences(kind: str, left: Array, right: Array) -> Array:
    """Numbers (m x n) by SciPy's names, and ruzicka; zero for equal rows, and the same bits either way round."""
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
    """Squared Euclidean distances (m x c) of each row to some points of its own: the bits of `differences`."""
    if native.available():
        return native.squared_at(rows, points, chosen)
    found = [differences("sqeuclidean", row[None], points[some])[0] for row, some in zip(rows, chosen, strict=True)]
    return np.array(found).reshape(chosen.shape)


def by_columns(left: Array, right: Array, term: Callable[[Array, Array], Array]) -> Array:
    """Σₖ term(xₖ, yₖ) (m x n), a column at a time."""
    sums = np.zeros((len(left), len(right)))
    for own, other in zip(left.T, np.ascontiguousarray(right.T), strict=True):
        sums += term(own[:, None], other)
    return sums


def unequal(left: Array, right: Array) -> Array:
    """In how many columns two rows differ (m x n)."""
    if not left.shape[1]:
        return np.zeros((len(left), len(right)))
    from scipy.spatial.distance import cdist

    return np.rint(cdist(left, right, "hamming") * left.shape[1])
