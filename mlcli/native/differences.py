"""Sums over columns of the differences of two rows, for all pairs of rows."""

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels

KINDS = ("sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "ruzicka")  # in the kernels' order


def differences(kind: str, left: Array, right: Array) -> Array:
    """Return the (m, n) array of differences of an (m, d) and an (n, d) array, in C order.

    The names are SciPy's; ruzicka is Σ|x - y| over Σ max(x, y). Each number has the same bits whatever the
    other rows, and swapping the two rows of a pair changes no bit.
    """
    out = np.empty((len(left), len(right)))
    kernels().differences(KINDS.index(kind), np.ascontiguousarray(left), np.ascontiguousarray(right), out)
    return out


def squared_at(rows: Array, points: Array, chosen: Indices) -> Array:
    """Return squared distances of each row of an (m, d) array to the points chosen for it, as an (m, c) array.

    `points` is an (n, d) array, `chosen` an (m, c) array of row numbers in it. The bits are those of
    `differences`.
    """
    out = np.empty(chosen.shape)
    kernels().squared_at(np.ascontiguousarray(rows), np.ascontiguousarray(points), np.ascontiguousarray(chosen), out)
    return out
