"""Sides of triangles that are longer than the other two together."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels


def undercuts(lengths: Array, first: int, wanted: AnyArray, slack: float) -> tuple[Indices, Array]:
    """For some rows of a symmetric matrix (n x n, infinite where unknown), the ways around the pairs that are wanted.

    `wanted` (b x n, bool) belongs to the rows from `first` on. Returned are, for each row, how many
    ways over a third point are shorter by more than `slack` than a pair that is wanted (b), and for
    each pair the shortest way (b x n; infinite where it is not wanted), its own length at most.
    """
    counts, least = np.zeros(len(wanted), dtype=np.int64), np.full(wanted.shape, np.inf)
    kernels().undercuts(lengths, first, np.ascontiguousarray(wanted), slack, counts, least)
    return counts, least
