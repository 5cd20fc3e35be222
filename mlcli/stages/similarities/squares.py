"""Squared Euclidean distances for the certificate, by code that the fit does not use."""

import numpy as np

from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array

NARROW = 32  # columns up to which distances are summed one column at a time
CACHED = 2**16  # numbers of the points processed at once
INNER = 2**14  # numbers of the distances summed at once: they and the gaps stay in a core's cache
NEAR = 1e-3  # a share at which most digits remain


def squared(left: Array, right: Array, near: float = NEAR) -> Array:
    """Return ‖xᵢ - yⱼ‖² (m x n): by differences in few columns and of near points, else by products of centered data.

    `near` is the share of two points' squared norms below which the product has lost too many digits of their distance.
    """
    if right.shape[1] <= NARROW:
        total = np.zeros((len(left), len(right)))
        for rows in row_blocks(len(left), INNER, len(right)):
            gap = np.empty((rows.stop - rows.start, len(right)))
            for here, there in zip(left[rows].T, right.T, strict=True):
                np.subtract(here[:, None], there[None, :], out=gap)
                gap *= gap
                total[rows] += gap
        return total
    total, center = np.empty((len(left), len(right))), right.mean(axis=0)
    mine = left - center
    own = np.einsum("ij,ij->i", mine, mine)[:, None]

    def fill(rows: slice) -> None:
        part, sums = right[rows], total[:, rows]
        far = part - center
        sizes = own + np.einsum("ij,ij->i", far, far)
        with np.errstate(all="ignore"):  # overflow gives infinities, which fail the check
            np.subtract(sizes, 2 * (mine @ far.T), out=sums)
        lost = sums <= near * sizes
        for row in np.flatnonzero(lost.any(axis=1)):
            sums[row, lost[row]] = np.sum((part[lost[row]] - left[row]) ** 2, axis=1)

    each(fill, row_blocks(len(right), CACHED, right.shape[1]))
    return total
