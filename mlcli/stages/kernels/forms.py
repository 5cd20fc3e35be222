"""The forms of a kernel and how each is centered.

A kernel is a symmetric linear operator on n points. Centering it moves the origin of the
feature space to the mean of the points: H K H with H = I - 11ᵀ/n.
"""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.blocks import each, row_blocks
from mlcli.base.compute import Compute
from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.distances import inner_products
from mlcli.stages.algebra.factorization import Factorization, factorization

if TYPE_CHECKING:
    from scipy import sparse

CACHED = 64  # rows of a square matrix that are worked on together: few enough to stay in cache


@frozen
class Centering:
    """Puts kernel rows of new points where the training rows were put."""

    means: Array  # one for each column of the rows
    across: bool  # whether each row's own mean goes as well, as in H K H

    def __call__(self, rows: Array) -> Array:
        """Centered rows (m x len(means))."""
        moved = rows - self.means
        return moved - moved.mean(axis=1, keepdims=True) if self.across else moved


def uncentered(size: int) -> Centering:
    """The centering that moves nothing."""
    return Centering(np.zeros(size), across=False)


@frozen
class Dense:
    """A centered kernel held whole, in memory or mapped from a file."""

    matrix: Array  # n x n, H K H
    centering: Centering
    tolerance: float = 0.0  # relative error of its entries beyond the rounding of double precision

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.matrix)

    def rows(self, chosen: Indices) -> Array:
        """Some rows of the kernel (m x n)."""
        return self.matrix[chosen]

    @property
    def quick_rows(self) -> None:
        """Rows that are not centered are no longer there."""

    def apply(self, block: Array) -> Array:
        """K times a block of vectors (n x b)."""
        return inner_products(self.matrix, block.T)

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""
        return float(np.trace(self.matrix))

    @property
    def frobenius(self) -> float:
        """The root of the sum of squared eigenvalues."""
        return float(np.linalg.norm(self.matrix))

    @classmethod
    def of(cls, kernel: Array, tolerance: float = 0.0) -> "Dense":
        """H K H of a symmetric matrix K, computed in its place, with the centering for the rows of new points."""
        means = np.empty(len(kernel))

        def average(rows: slice) -> None:
            means[rows] = kernel[rows].mean(axis=1)

        def center(rows: slice) -> None:
            part = kernel[rows]
            part -= means
            part -= (means[rows] - grand)[:, None]

        few = row_blocks(len(kernel), CACHED)
        each(average, few)
        grand = means.mean()
        each(center, few)
        return cls(kernel, Centering(means, across=True), tolerance)


@frozen
class Inverse:
    """K = M⁺ for a sparse cost M = RᵀR whose null vector is the constant one (LLE, a graph's Laplacian).

    `trace` is unknown until the whole spectrum is computed.
    """

    root: "sparse.csr_array"  # R, m x n, rows that sum to zero

    trace = float("nan")

    @property
    def size(self) -> int:
        """The number of points."""
        return int(self.root.shape[1])

    @property
    def centering(self) -> Centering:
        """Nothing to remove: the constant vector is no part of M⁺."""
        return uncentered(self.size)

    @cached_property
    def shift(self) -> float:
        """A tiny positive addition to M that makes it safe to factor."""
        return 1e-10 * float((self.root.multiply(self.root)).sum()) / self.size

    @property
    def noise(self) -> float:
        """The relative error of (M + shift)⁻¹ x in double precision: eps ‖M‖ / shift."""
        root = abs(self.root)
        size = float(root.sum(axis=0).max()) * float(root.sum(axis=1).max())
        return float(np.finfo(np.float64).eps) * size / self.shift

    @cached_property
    def factors(self) -> Factorization:
        """M + shift, factored once."""
        from scipy import sparse

        shifted = (self.root.T @ self.root + self.shift * sparse.eye_array(self.size)).tocsr()
        return factorization(shifted, where="method.ridge", hint="use a larger ridge or more neighbors")

    def apply(self, block: Array) -> Array:
        """(M + shift)⁻¹ times a block of vectors, off the constant vector before and after."""
        solved = self.factors.solve(block - block.mean(axis=0))
        return solved - solved.mean(axis=0)

    def costs(self, vectors: Array) -> Array:
        """vᵀMv of unit vectors, as a sum of squares: exact where M's smallest eigenvalues drown in rounding."""
        residuals = self.root @ vectors
        return np.einsum("ij,ij->j", residuals, residuals)


def square_memory(compute: Compute, size: int, copies: float, method: str, hint: str) -> None:
    """Refuses, before anything is allocated, a run whose n x n arrays are over the memory limit."""
    limit = compute.memory_bytes()
    largest = int(np.sqrt(limit / 8 / copies))
    compute.require(8.0 * size * size * copies, f"{method} of {size} points",
                    f"at most {largest} points fit; {hint}")
