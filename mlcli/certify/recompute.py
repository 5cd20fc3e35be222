"""Distances and kernel values found again, by formulas of their own: nothing here is shared with the fit."""

import numpy as np

from mlcli.base.blocks import each, row_blocks
from mlcli.base.types import Array
from mlcli.stages.kernels.functions import Gaussian, Linear, Polynomial

NARROW = 32  # columns up to which distances are summed one column at a time
CACHED = 2**16  # numbers of the points taken up at once
NEAR = 1e-3  # share of two points' squared norms below which the product has lost the digits of their distance


def squared(left: Array, right: Array) -> Array:
    """‖xᵢ - yⱼ‖² (m x n): by differences in few columns and of near points, else by products of centered data."""
    if right.shape[1] <= NARROW:
        total = np.zeros((len(left), len(right)))
        for mine, other in zip(left.T, right.T, strict=True):
            gap = mine[:, None] - other[None, :]
            gap *= gap
            total += gap
        return total
    total, center = np.empty((len(left), len(right))), right.mean(axis=0)
    near = left - center
    own = np.einsum("ij,ij->i", near, near)[:, None]

    def fill(rows: slice) -> None:
        part, found = right[rows], total[:, rows]
        far = part - center
        sizes = own + np.einsum("ij,ij->i", far, far)
        with np.errstate(all="ignore"):  # what overflows is not finite, and fails
            np.subtract(sizes, 2 * (near @ far.T), out=found)
        lost = found <= NEAR * sizes
        for row in np.flatnonzero(lost.any(axis=1)):
            found[row, lost[row]] = np.sum((part[lost[row]] - left[row]) ** 2, axis=1)

    each(fill, row_blocks(len(right), CACHED, right.shape[1]))
    return total


def kernel_values(function: object, left: Array, right: Array) -> Array | None:
    """Values of a kernel function from its formula; None for a function that is not known here."""
    if isinstance(function, Linear):
        return left @ right.T
    if isinstance(function, Polynomial):
        return (function.gamma * (left @ right.T) + function.coef0) ** function.degree
    if isinstance(function, Gaussian):
        return np.exp(-(function.rate or 0.0) * squared(left, right))
    return None


def kernel_diagonal(function: object, points: Array) -> Array:
    """The same of every point with itself."""
    inner = np.einsum("ij,ij->i", points, points)
    if isinstance(function, Polynomial):
        return (function.gamma * inner + function.coef0) ** function.degree
    return np.ones(len(points)) if isinstance(function, Gaussian) else inner


def corrected(values: Array, rule: str, constant: float) -> Array:
    """Squared dissimilarities with a constant added: to the squares (Lingoes), or to the roots (Cailliez)."""
    if rule == "lingoes":
        return values + 2 * constant
    return values if rule == "none" else (np.sqrt(values) + constant) ** 2
