"""Sums over columns of what two rows differ by, for all pairs of rows."""

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels

KINDS = ("sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "ruzicka")  # in the kernels' order


def differences(kind: str, left: Array, right: Array) -> Array:
    """Numbers (m x n) of rows (m x d and n x d, C order): each pair's has the same bits whatever rows are beside it.

    The names are SciPy's; ruzicka is Σ|x - y| over Σ max(x, y). Swapping the two rows of a pair changes no bit.
    """
    out = np.empty((len(left), len(right)))
    kernels().differences(KINDS.index(kind), np.ascontiguousarray(left), np.ascontiguousarray(right), out)
    return out


def squared_at(rows: Array, points: Array, chosen: Indices) -> Array:
    """Squared distances (m x c) of each row (m x d) to the points of its own (m x c): the bits of `differences`."""
    out = np.empty(chosen.shape)
    kernels().squared_at(np.ascontiguousarray(rows), np.ascontiguousarray(points), np.ascontiguousarray(chosen), out)
    return out
