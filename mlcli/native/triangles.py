"""Sides of triangles that are longer than the other two combined."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels


def undercuts(lengths: Array, first: int, wanted: AnyArray, slack: float) -> tuple[Indices, Array]:
    """Count, for rows of a symmetric matrix (n x n, infinite where unknown), ways shorter than the wanted pairs.

    `wanted` (b x n, bool) belongs to the rows from `first` on. Returns, for each row, the number of ways
    over a third point that are shorter by more than `slack` than a wanted pair (b), and for each pair the
    length of the shortest way (b x n; infinite where not wanted), at most the pair's own.
    """
    counts, least = np.zeros(len(wanted), dtype=np.int64), np.full(wanted.shape, np.inf)
    kernels().undercuts(lengths, first, np.ascontiguousarray(wanted), slack, counts, least)
    return counts, least
