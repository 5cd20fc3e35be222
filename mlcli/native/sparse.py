"""Products of sparse rows with a few vectors, and of their transpose."""

from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.native.library import available, kernels

BAND = 8  # vectors that the kernels take together: those of src/sparse.hpp


def multiplies(rows: Any) -> bool:
    """Whether there are kernels for sparse rows of SciPy: compressed, with indices of 32 bits."""
    return available() and rows.indices.dtype == np.int32 and rows.data.dtype == np.float64


def multiply_sparse(rows: Any, right: Array, less: Array, *, images: bool) -> tuple[Array, Array]:
    """Return X R - 1 c' (m x b) and X'(X R - 1 c') (d x b) of sparse rows X (m x d), for R (d x b) and c (b).

    Without `images` the second has no rows. It is computed row by row, so that the entries are read once.
    """
    wide, count = _padded(right), right.shape[1]
    shift = np.zeros(wide.shape[1])
    shift[:count] = less
    out, lowered = np.empty((rows.shape[0], wide.shape[1])), np.zeros(wide.shape if images else (0, wide.shape[1]))
    kernels().multiply_sparse(_starts(rows), rows.indices, rows.data, wide, shift, out, lowered)
    return out[:, :count], lowered[:, :count]


def lower_sparse(rows: Any, vectors: Array) -> Array:
    """Return X' V (d x b) of sparse rows X (m x d), for V (m x b)."""
    wide = _padded(vectors)
    out = np.zeros((rows.shape[1], wide.shape[1]))
    kernels().lower_sparse(_starts(rows), rows.indices, rows.data, wide, out)
    return out[:, : vectors.shape[1]]


def _starts(rows: Any) -> Any:
    return np.ascontiguousarray(rows.indptr, dtype=np.int64)


def _padded(vectors: Array) -> Array:
    """Return vectors (m x b) with columns of zeros up to whole bands."""
    wide = np.zeros((len(vectors), -(-vectors.shape[1] // BAND) * BAND))
    wide[:, : vectors.shape[1]] = vectors
    return wide
