"""A kernel whose rows are computed block by block whenever they are needed; nothing n x n is ever stored."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.stage import advance, note, running
from mlcli.base.threads import allowed, single_threaded_blas
from mlcli.base.types import Array, Indices
from mlcli.stages.kernel_functions import Gaussian, Linear, Polynomial
from mlcli.stages.kernels import Centering, Dense, square_memory

STORED = 2**29  # bytes up to which a whole matrix is kept: 512 MiB, 8,192 points in double precision
BLOCK = 2**19  # numbers of a block of rows: 4 MiB for each thread, near its cache
WIDTH = 16  # vectors that a pass over a kernel function can multiply at little more than its own cost

Rows = Callable[[Indices], Array]


@dataclass(frozen=True)
class Folded:
    """What one block of rows gives to a pass."""

    rows: Indices | slice  # which rows of the kernel
    product: Array  # K[rows] Q
    sums: Array  # of each row
    squares: Array  # sum of squares of each row
    diagonal: Array  # K[i, i]


Fold = Callable[[int, Array], Folded]


class Streamed:
    """H K H for a kernel K given by a function that folds one block of its rows into a product.

    The first pass also collects row sums, trace and Frobenius norm, which centering needs.
    """

    def __init__(self, size: int, blocks: int, fold: Fold, rows: Rows, width: int, landmarks: int,
                 tolerance: float = 1e-6) -> None:
        self.size, self._blocks, self._fold, self._rows = size, blocks, fold, rows
        self.width = width  # columns of a block that cost little beside the rows themselves
        self.landmarks = landmarks  # single rows that cost little beside a pass
        self.tolerance = tolerance  # the residual that its precision allows and its passes are worth
        self._sums = self._squares = self._diagonal = np.zeros(0)
        self.passes = 0

    def apply(self, block: Array) -> Array:
        """H K H times a block of vectors (n x b): one pass over all rows."""
        product = self._pass(block - block.mean(axis=0))
        return product - product.mean(axis=0)

    def rows(self, chosen: Indices) -> Array:
        """Rows of K itself, not centered (m x n)."""
        return self._rows(chosen)

    def stored(self, compute: Compute) -> Dense:
        """The same kernel held whole, where memory allows it."""
        square_memory(compute, self.size, 3, "the whole spectrum", "ask for a count of axes instead of a share")
        return Dense.of(self.rows(np.arange(self.size)))

    def _pass(self, block: Array) -> Array:
        product = np.empty_like(block)
        sums, squares, diagonal = (np.empty(self.size) for _ in range(3))
        done = 0
        with running(f"pass {self.passes + 1}"), single_threaded_blas(), ThreadPoolExecutor(allowed()) as pool:
            for folded in _in_turn(pool, lambda number: self._fold(number, block), self._blocks):
                product[folded.rows] = folded.product
                sums[folded.rows], squares[folded.rows] = folded.sums, folded.squares
                diagonal[folded.rows] = folded.diagonal
                done += 1
                advance(done, self._blocks)
        self._sums, self._squares, self._diagonal = sums, squares, diagonal
        self.passes += 1
        return product

    def _known(self) -> None:
        if not len(self._sums):
            self._pass(np.zeros((self.size, 1)))

    @property
    def centering(self) -> Centering:
        """The centering for the rows of new points."""
        self._known()
        return Centering(self._sums / self.size, across=True)

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues of H K H."""
        self._known()
        return float(self._diagonal.sum() - self._sums.sum() / self.size)

    @property
    def frobenius(self) -> float:
        """The root of the sum of squared eigenvalues of H K H."""
        self._known()
        total, means = self._sums.sum() / self.size, self._sums / np.sqrt(self.size)
        return float(np.sqrt(max(self._squares.sum() - 2 * (means**2).sum() + total**2, 0.0)))


def _in_turn(pool: ThreadPoolExecutor, work: Callable[[int], Folded], blocks: int) -> Iterator[Folded]:
    """The blocks' results in order, few in flight at a time, so that a stop waits for no more than those."""
    waiting: deque[Future[Folded]] = deque()
    try:
        for number in range(blocks):
            waiting.append(pool.submit(work, number))
            if len(waiting) > 2 * allowed():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def fits_in_memory(size: int, compute: Compute) -> bool:
    """Whether a matrix of size x size is small enough to be kept rather than computed again and again."""
    return 8 * size * size <= min(STORED, compute.memory_bytes() / 3)


def kernel_of(function: Linear | Polynomial | Gaussian, points: Array, compute: Compute) -> Dense | Streamed:
    """The centered kernel of a function of two points: kept where it is small, streamed where it is not."""
    size = len(points)
    if fits_in_memory(size, compute):
        return Dense.of(function(points, points))
    step, values = max(16, BLOCK // size), function.against(points)

    def fold(number: int, block: Array) -> Folded:
        rows = np.arange(number * step, min((number + 1) * step, size))
        return folded(rows, values(points[rows]), block)

    note("F-STREAMED", f"the kernel of {size} points is computed in blocks of {step} rows and never stored")
    return Streamed(size, -(-size // step), fold, lambda chosen: values(points[chosen]), WIDTH, 500)


def folded(rows: Indices, kernel: Array, block: Array) -> Folded:
    """What rows of a kernel, at hand, give to a pass."""
    return Folded(rows, kernel @ block, kernel.sum(axis=1), np.einsum("ij,ij->i", kernel, kernel),
                  kernel[np.arange(len(rows)), rows])
