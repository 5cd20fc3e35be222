"""Sums over all pairs that a step of majorization of stress takes."""

import numpy as np

from mlcli.base.types import Array
from mlcli.native.library import kernels

NONE = np.zeros((0, 0))


def stress_rows(points: Array, sources: Array, *, lengths: Array, weights: Array | None,
                rows: slice) -> tuple[Array, Array, Array]:
    """Return Σ w δ / d (x - x'), Σ w (x - x') (m x p each), and Σ w (δ - d)², Σ w δ d and Σ w d² (m x 3) of some rows.

    `points` is (n x p), `sources` the same by `turn_sources`, `lengths` δ (n x n). Weights (n x n) may be None: all are
    one then, and there is no second array. δ / d is zero where d is. Raises ValueError for rows out of range.
    """
    count, axes = rows.stop - rows.start, points.shape[1]
    pulled, sums = np.empty((count, axes)), np.empty((count, 3))
    spread = np.empty((0, 0) if weights is None else (count, axes))
    kernels().stress_rows(points, sources, lengths, NONE if weights is None else weights, rows.start, rows.stop, pulled,
                          spread, sums)
    return pulled, spread, sums
