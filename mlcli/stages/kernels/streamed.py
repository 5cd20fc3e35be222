"""A kernel whose rows are computed block by block whenever they are needed; nothing n x n is ever stored."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.stage import advance, note, running, stage
from mlcli.base.threads import allowed, single_threaded_blas
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.stages.kernels.folding import Fold, Parts
from mlcli.stages.kernels.forms import Centering, Dense, square_memory
from mlcli.stages.kernels.functions import Gaussian, Linear, Polynomial, against
from mlcli.stages.kernels.tiles import TILE, Tiles

STORED = 2**29  # bytes up to which a whole matrix is kept: 512 MiB, 8,192 points in double precision
AHEAD = 2  # blocks that are begun, or done, beyond one for each thread
WIDTH = 16  # vectors that a pass over a kernel function can multiply at little more than its own cost


class Streamed:
    """H K H for a kernel K given by a function that folds one block of its rows into a product.

    The first pass also collects row sums, trace and Frobenius norm, which centering needs.
    `rough`, where there is one, folds the same kernel in single precision, and `quick_rows` finds rows of it in the
    precision of a pass.
    """

    def __init__(self, size: int, blocks: int, fold: Fold, rows: RowsOf, width: int, landmarks: int,
                 tolerance: float = 1e-6, rough: Fold | None = None, order: Indices | None = None,
                 quick_rows: RowsOf | None = None, stop: Callable[[], None] | None = None) -> None:
        self.size, self._blocks, self._fold, self._rough, self._rows = size, blocks, fold, rough, rows
        self.quick_rows = quick_rows
        self.width = width  # columns of a block that cost little beside the rows themselves
        self.landmarks = landmarks  # single rows that cost little beside a pass
        self.tolerance = tolerance  # the residual that its precision allows and its passes are worth
        self._stop = stop  # lets blocks that have begun end early, once nobody waits for them
        self._order = order  # of the points, where blocks name rows by their places in it
        self._moments: tuple[Array, float, float] | None = None  # row sums, sum of squares, trace of K
        self.passes = 0

    def apply(self, block: Array) -> Array:
        """H K H times a block of vectors (n x b): one pass over all rows."""
        return self._centered(self._fold, block)

    @property
    def apply_rough(self) -> Callable[[Array], Array] | None:
        """The same in single precision, where that is offered: vectors to begin with, never the last word."""
        return None if self._rough is None else partial(self._centered, self._rough)

    def rows(self, chosen: Indices) -> Array:
        """Rows of K itself, not centered (m x n)."""
        return self._rows(chosen)

    def stored(self, compute: Compute) -> Dense:
        """The same kernel held whole, where memory allows it."""
        square_memory(compute, self.size, 3, "the whole spectrum", "ask for a count of axes instead of a share")
        return Dense.of(self.rows(np.arange(self.size)))

    def _centered(self, fold: Fold, block: Array) -> Array:
        product = self._pass(fold, block - block.mean(axis=0))
        return product - product.mean(axis=0)

    def _pass(self, fold: Fold, block: Array) -> Array:
        product, sums, squares, trace = np.zeros_like(block), np.zeros(self.size), 0.0, 0.0
        first = self._moments is None and fold is self._fold
        done = 0
        with running(f"pass {self.passes + 1}"), single_threaded_blas(), ThreadPoolExecutor(allowed()) as pool:
            for parts in _in_turn(pool, lambda number: fold(number, block, first), self._blocks, self._stop):
                for part in parts:
                    product[part.rows] += part.product
                    sums[part.rows] += part.sums
                    squares, trace = squares + part.squares, trace + part.trace
                done += 1
                advance(done, self._blocks)
        if first:
            self._moments = self._by_number(sums), squares, trace
        self.passes += 1
        return self._by_number(product)

    def _by_number(self, placed: Array) -> Array:
        """Rows by the points' numbers, from rows by their places."""
        if self._order is None:
            return placed
        numbered = np.empty_like(placed)
        numbered[self._order] = placed
        return numbered

    def _known(self) -> tuple[Array, float, float]:
        if self._moments is None:
            self._pass(self._fold, np.zeros((self.size, 1)))
        assert self._moments is not None
        return self._moments

    @property
    def centering(self) -> Centering:
        """The centering for the rows of new points."""
        return Centering(self._known()[0] / self.size, across=True)

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues of H K H."""
        sums, _, trace = self._known()
        return float(trace - sums.sum() / self.size)

    @property
    def frobenius(self) -> float:
        """The root of the sum of squared eigenvalues of H K H."""
        sums, squares, _ = self._known()
        total, means = sums.sum() / self.size, sums / np.sqrt(self.size)
        return float(np.sqrt(max(squares - 2 * (means**2).sum() + total**2, 0.0)))


def _in_turn(pool: ThreadPoolExecutor, work: Callable[[int], Parts], blocks: int,
             stop: Callable[[], None] | None) -> Iterator[Parts]:
    """The blocks' results in order, few in flight at a time, so that a stop waits for no more than those."""
    waiting: deque[Future[Parts]] = deque()
    try:
        for number in range(blocks):
            waiting.append(pool.submit(work, number))
            if len(waiting) > allowed() + AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        if waiting and stop is not None:
            stop()


def fits_in_memory(size: int, compute: Compute) -> bool:
    """Whether a matrix of size x size is small enough to be kept rather than computed again and again."""
    return 8 * size * size <= min(STORED, compute.memory_bytes() / 3)


@stage("kernel", version=1)
def kernel_of(function: Linear | Polynomial | Gaussian, points: Array, compute: Compute) -> Dense | Streamed:
    """The centered kernel of a function of two points: kept where it is small, streamed where it is not."""
    size = len(points)
    if fits_in_memory(size, compute):
        return Dense.of(function(points, points))
    exact, values = Tiles(function, points, np.float64), against(function, points)
    rough = Tiles(function, points, np.float32) if function.narrow(points) else None
    note("F-STREAMED", f"the kernel of {size} points is computed in tiles of {TILE} x {TILE} and never stored"
         + (", in single precision before the last pass" if rough else ""))
    return Streamed(size, exact.blocks, exact.fold, lambda chosen: values(points[chosen]), WIDTH, 500,
                    rough=None if rough is None else rough.fold)
