"""The rules for the signs of axes, and for the basis of tied axes."""

import numpy as np

from mlcli.base.rows.scratch import parts
from mlcli.base.types import Array

TIE = 1e-6  # entries this close to the largest, relatively, count as equally large


def leading_signs(vectors: Array) -> Array:
    """Return the signs (p) that make the largest entry of each column (n x p) positive (ties: the first row)."""
    least = np.max([np.abs(some).max(axis=0, initial=0.0) for some in parts(vectors)], axis=0) * (1 - TIE)
    signs = np.zeros(len(least))
    for some in parts(vectors):
        leading = np.take_along_axis(some, (np.abs(some) >= least).argmax(axis=0)[None, :], axis=0)[0]
        signs = np.where((signs == 0) & (np.abs(leading) >= least), np.where(leading < 0, -1.0, 1.0), signs)
    return np.where(signs < 0, -1.0, 1.0)


def sum_signs(loadings: Array) -> Array:
    """Return the signs (q) that make the sum of each column of loadings (d x q) positive.

    A sum within rounding of zero has no sign: the largest entry is then positive.
    """
    sums = loadings.sum(axis=0)
    balanced = np.abs(sums) <= TIE * np.abs(loadings).sum(axis=0)
    return np.where(balanced, leading_signs(loadings), np.where(sums < 0, -1.0, 1.0))


def canonical_basis(vectors: Array) -> Array:
    """Return the rotation (g x g) of an orthonormal basis (n x g) to one that depends on its span alone.

    The first axis is the projection of the first unit vector with a non-zero one onto the span; the next is that of the
    next unit vector, orthogonal to the axes before, and so on.
    """
    size = vectors.shape[1]
    chosen = np.zeros((0, size))
    least = 0.1 / np.sqrt(len(vectors))
    for row in vectors:
        part = row - chosen.T @ (chosen @ row)
        part -= chosen.T @ (chosen @ part)
        length = float(np.linalg.norm(part))
        if length > least:
            chosen = np.vstack([chosen, part / length])
        if len(chosen) == size:
            return chosen.T
    return np.eye(size)
