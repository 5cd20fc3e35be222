"""A kernel held whole, and its memory."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stages.stage import running
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.algebra.costs import WHOLE
from mlcli.stages.algebra.distances import inner_products
from mlcli.stages.eigen.landmarks import MOST
from mlcli.stages.eigen.solved import Closeness, Solved
from mlcli.stages.eigen.solvers import STORED, solve_symmetric
from mlcli.stages.eigen.spectrum_request import SpectrumRequest

CACHED = 64  # rows of a square matrix that are worked on together: few enough to stay in cache


@frozen
class Dense:
    """A centered kernel held whole, in memory or mapped from a file."""

    matrix: Array  # n x n, H K H
    centering: Centering
    tolerance: float = 0.0  # relative error of its entries beyond the rounding of double precision

    definite, inverse, by_factor, rank, remedy, name = False, False, False, None, "", "the kernel matrix"
    width, landmarks, residual = 0, MOST, STORED
    quick_rows = None  # the uncentered rows were overwritten
    apply_rough = None

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.matrix)

    @property
    def passed(self) -> bool:
        """Whether its whole spectrum takes more than seconds."""
        return self.size > WHOLE

    def rows(self, chosen: Indices) -> Array:
        """Some rows of the kernel (m x n)."""
        return self.matrix[chosen]

    def stored(self, compute: Compute) -> "Dense":
        """Itself."""
        return self

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """The whole spectrum, or of a large matrix its top."""
        return solve_symmetric(self, demand, compute)

    def closeness(self, solved: Solved) -> Closeness:
        """Equal eigenvalues differ by rounding of the largest."""
        return Closeness.of(solved)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> Array:
        """The sizes of K v - λ v."""
        return np.asarray(np.linalg.norm(self.apply(vectors) - vectors * values, axis=0))

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
        with running("centering"):
            each(average, few)
            grand = means.mean()
            each(center, few)
        return cls(kernel, Centering(means, across=True), tolerance)


def square_memory(compute: Compute, size: int, copies: float, method: str, hint: str) -> None:
    """Refuses, before anything is allocated, a run whose n x n arrays are over the memory limit."""
    limit = compute.memory_bytes()
    largest = int(np.sqrt(limit / 8 / copies))
    compute.require(8.0 * size * size * copies, f"{method} of {size} points",
                    f"at most {largest} points fit; {hint}")
