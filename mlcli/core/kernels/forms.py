"""A kernel stored as one matrix, and the memory that it takes."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import FIRST_TOUCH, pass_cost, rates
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stages.stage import computed, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.core.centering import Centering
from mlcli.core.eigen.options import MOST, WHOLE, SpectrumRequest
from mlcli.core.eigen.solved import Closeness, Solved
from mlcli.core.eigen.solvers import STORED, solve_symmetric
from mlcli.core.euclidean_distances import inner_products

WIDTH = 12  # vectors multiplied in a pass, which takes hardly longer than one of fewer, and fewer passes suffice
CACHED = 64  # rows of a square matrix that are worked on together: few enough to stay in the cache

BENT, BENDING = 16, 1.6  # functions of one distance that one in memory is worth, and arrays that it takes


@frozen
class Dense:
    """A centered kernel stored as one matrix, in memory or mapped from a file."""

    matrix: Array  # n x n, H K H
    centering: Centering
    tolerance: float = 0.0  # relative error of its entries beyond the rounding of double precision
    entries: float = 0.0  # the largest size of an entry before it was centered

    definite, inverse, by_factor, rank, remedy, name = False, False, False, None, "", "the kernel matrix"
    width, landmarks, residual = WIDTH, MOST, STORED
    quick_rows = None  # the uncentered rows were overwritten
    apply_rough = apply_sampled = None

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.matrix)

    @property
    def passed(self) -> bool:
        """Whether it is too large to compute its whole spectrum in seconds."""
        return self.size > WHOLE

    def rows(self, chosen: Indices) -> Array:
        """Return the rows `chosen` of the centered kernel, an (m, n) array."""
        return self.matrix[chosen]

    def in_memory(self, compute: Compute) -> tuple[Array, float]:
        """Return the matrix, which is stored already, and its trace."""
        return self.matrix, self.trace

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Compute the whole spectrum or, of a large matrix, its top."""
        return solve_symmetric(self, demand, compute)

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerances for equal eigenvalues: rounding of the largest."""
        return Closeness.of(solved)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> Array:
        """Return the norms ‖K v - λ v‖, a (k,) array, for (k,) `values` and (n, k) `vectors`."""
        return np.asarray(np.linalg.norm(self.apply(vectors) - vectors * values, axis=0))

    def apply(self, block: Array) -> Array:
        """Return K times an (n, b) array of vectors, an (n, b) array."""
        return inner_products(self.matrix, block.T)

    @property
    def trace(self) -> float:
        """Sum of the eigenvalues."""
        return float(np.trace(self.matrix))

    @property
    def frobenius(self) -> float:
        """Root of the sum of squared eigenvalues."""
        return float(np.linalg.norm(self.matrix))

    @classmethod
    def of(cls, kernel: Array, tolerance: float = 0.0) -> "Dense":
        """Return H K H of a symmetric (n, n) array K, centered in place, with the centering of rows of new points."""
        means, sizes = np.empty(len(kernel)), np.empty(len(kernel))

        def average(rows: slice) -> None:
            part = kernel[rows]
            means[rows] = part.mean(axis=1)
            sizes[rows] = np.maximum(part.max(axis=1), -part.min(axis=1))

        def center(rows: slice) -> None:
            part = kernel[rows]
            part -= means
            part -= (means[rows] - grand)[:, None]

        few = row_blocks(len(kernel), CACHED)
        computed("uncentered", kernel)
        with running("centering"):
            each(average, few)
            grand = means.mean()
            each(center, few)
        return cls(kernel, Centering(means, across=True), tolerance, float(sizes.max(initial=0.0)))


def square_memory(compute: Compute, size: int, copies: float, method: str, hint: str) -> None:
    """Raise RefusedByPlan, before anything is allocated, if `copies` n x n arrays exceed the memory limit."""
    limit = compute.memory_bytes()
    largest = int(np.sqrt(limit / 8 / copies))
    compute.require(8.0 * size * size * copies, f"{method} of {size} points",
                    f"at most {largest} points fit; {hint}")


def gower_steps(size: float, held: float, remedy: str = "", *, square: bool = False, bent: bool = False,
                centered: bool = True) -> list[Step]:
    """Steps of a kernel of `size` distances in memory and of its centering, where it is `centered`.

    `held` are the bytes in memory, those of the distances included. A nonlinear function of the distances (`bent`)
    takes several passes, and arrays of its own.
    """
    seconds, more = FIRST_TOUCH * pass_cost(size), 8.0 * BENDING * size * bent
    return [Step("kernel", "a function of the distances" if bent else "-D²/2 of the distances",
                 seconds + BENT * rates().bent * size * bent, held + more, remedy=remedy, square=square),
            *([centering_step(size, held, remedy, square=square)] if centered else [])]


def centering_step(size: float, held: float, remedy: str = "", *, square: bool = False) -> Step:
    """Step of the centering of a matrix of `size` numbers by rows and columns, in place."""
    return Step("centering", "means of rows and columns taken away", 3 * pass_cost(size), held, remedy=remedy,
                square=square)
