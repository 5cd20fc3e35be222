"""A kernel whose rows are computed block by block whenever they are needed; nothing n x n is ever stored."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import memoize
from mlcli.base.stages.checkpoints import step
from mlcli.base.stages.stage import note, part, running, stage
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.core.centering import Centering, uncentered
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.eigen.solved import Closeness, Solved
from mlcli.core.eigen.solvers import solve_symmetric
from mlcli.core.kernels.forms import Dense, square_memory
from mlcli.core.kernels.options import Pairwise
from mlcli.core.kernels.passes import BlockSums, KernelPass, KernelRows
from mlcli.core.kernels.tiles import TILE, Tiles
from mlcli.core.krylov import Apply
from mlcli.engine.executor import results

STORED = 2**29  # bytes up to which a matrix is stored: 512 MiB, 8,192 points in double precision


@frozen
class PassCount:
    """The number of passes that block Krylov takes over a kernel that is not stored."""

    usual: int
    fewest: int
    most: int

    def __str__(self) -> str:
        return f"{self.fewest} to {self.most} passes"

    @property
    def spread(self) -> tuple[float, float]:
        """The fewest and the most, as shares of the usual number."""
        return self.fewest / self.usual, self.most / self.usual


STREAMED = PassCount(4, 3, 6)
Moments = tuple[Array, float, float]  # row sums, sum of squares, trace of K


@frozen
class PassResult:
    """A finished pass: the block it multiplied, the product, and the moments where it summed them."""

    block: Array
    product: Array
    moments: Moments | None


@result("pass")
@frozen
class PassPart:
    """The state of a pass between two blocks: the vectors it multiplies, and the sums over the blocks done."""

    block: Array  # n x b
    blocks: int  # number done
    product: Array  # n x b, in the order of positions
    collects: bool  # whether it also sums the moments, which are:
    sums: Array  # n, in the order of positions
    squares: float
    trace: float
    known: Moments | None  # the moments, where an earlier pass has summed them

    @classmethod
    def before(cls, block: Array, known: Moments | None, *, collects: bool) -> "PassPart":
        """Return the state before the first block, for an (n, b) array to multiply."""
        return cls(block, 0, np.zeros_like(block), collects, np.zeros(len(block)), 0.0, 0.0, known)

    def of(self, block: Array, *, collects: bool) -> bool:
        """Whether this is a state of the pass that multiplies this (n, b) array, and that sums or has the moments."""
        enough = self.collects == collects or (collects and self.known is not None)
        return enough and np.array_equal(self.block, block)

    def add(self, folded: Sequence[BlockSums]) -> "PassPart":
        """Return the state after another block, whose rows are added in place."""
        squares, trace = self.squares, self.trace
        for some in folded:
            self.product[some.rows] += some.product
            self.sums[some.rows] += some.sums
            squares, trace = squares + some.squares, trace + some.trace
        return replace(self, blocks=self.blocks + 1, squares=squares, trace=trace)


class Streamed:
    """H K H for a kernel K whose rows are computed block by block and never stored; or K, unless `centered`.

    The first pass also sums row sums, trace and Frobenius norm, which centering needs. `rough` is the same kernel in
    single precision, or None. With `lasting`, passes are kept for the next run of a sweep on the same kernel.
    """

    definite, inverse, by_factor, rank, remedy, name = False, False, False, None, "", "the kernel matrix"
    passed = True

    def __init__(self, kernel: KernelRows, tolerance: float = 1e-6, rough: KernelRows | None = None,
                 centered: bool = True, lasting: bool = False) -> None:
        self._kernel, self._rough, self._moved = kernel, rough, centered
        self.tolerance = tolerance  # residual that its precision allows and that is worth the passes
        self._moments: Moments | None = None
        self.passes = 0
        self._passed: dict[int, PassResult] | None = memoize("passes", kernel.key, dict) if lasting else None

    def state(self) -> dict[str, Any]:
        """Return what determines the kernel and its use: the key of its checkpoints."""
        return {"rows": self._kernel.key, "rough": None if self._rough is None else self._rough.key,
                "centered": self._moved, "tolerance": self.tolerance}

    @property
    def size(self) -> int:
        """Number of points."""
        return self._kernel.size

    @property
    def width(self) -> int:
        """Number of vectors in a block that cost little compared with the rows themselves."""
        return self._kernel.width

    @property
    def landmarks(self) -> int:
        """Number of single rows that cost little compared with a pass."""
        return self._kernel.landmarks

    @property
    def quick_rows(self) -> RowsOf | None:
        """A function that computes rows of K in the precision of a pass, where that is quicker; else None."""
        return self._kernel.quick_rows

    def apply(self, block: Array) -> Array:
        """Return the centered kernel times an (n, b) array of vectors, an (n, b) array: one pass over all rows."""
        return self._centered(partial(self._pass, self._kernel), block)

    @property
    def apply_sampled(self) -> Callable[[Array], Array] | None:
        """An estimate of `apply`, up to a factor, from a sample of the columns; None where there is none."""
        sample = self._kernel.sample
        return None if sample is None else lambda block: self._centered(sample.multiply, block[sample.points])

    @property
    def apply_rough(self) -> Callable[[Array], Array] | None:
        """`apply` in single precision, or None: for the first passes, never the last."""
        return None if self._rough is None else partial(self._centered, partial(self._pass, self._rough))

    def rows(self, chosen: Indices) -> Array:
        """Return the rows `chosen` of K, not centered, an (m, n) array."""
        return self._kernel.rows(chosen)

    def in_memory(self, compute: Compute) -> tuple[Array, float]:
        """Return this kernel as one matrix, and its trace; raises RefusedByPlan where memory does not allow it."""
        square_memory(compute, self.size, 3, "the whole spectrum", "ask for a count of axes instead of a share")
        rows = self.rows(np.arange(self.size))
        return (Dense.of(rows) if self._moved else Dense(rows, uncentered(self.size))).in_memory(compute)

    @property
    def residual(self) -> float:
        """Residual that its precision allows and that is worth the passes."""
        return self.tolerance

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Compute the top of the spectrum by passes, or the whole one where requested and memory allows it."""
        return solve_symmetric(self, demand, compute)

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerances for equal eigenvalues: rounding of the largest."""
        return Closeness.of(solved)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> None:
        """Return None: the solver reports residuals from its passes. Takes (k,) `values` and (n, k) `vectors`."""

    def _centered(self, multiply: Apply, block: Array) -> Array:
        """Return a product with a block (m x b), centered on both sides where the kernel is (n x b)."""
        if not self._moved:
            return multiply(block)
        product = multiply(block - block.mean(axis=0))
        return product - product.mean(axis=0)

    def _pass(self, kernel: KernelRows, block: Array) -> Array:
        first = self._moments is None and kernel is self._kernel
        made = self._recall_pass(block, first) or self._run_pass(kernel, block, first)
        if self._passed is not None:
            self._passed[self.passes] = made
        self._moments = made.moments if first else self._moments
        self.passes += 1
        return made.product

    def _recall_pass(self, block: Array, first: bool) -> PassResult | None:
        """Return the pass of this number that an earlier run kept, if it fits; else None."""
        known = (self._passed or {}).get(self.passes)
        fits = known is not None and first <= (known.moments is not None) and np.array_equal(known.block, block)
        return known if fits else None

    def _run_pass(self, kernel: KernelRows, block: Array, first: bool) -> PassResult:
        """Run a pass from its first block, or from the last checkpoint; the sums are the same bit for bit."""
        with part(f"pass {self.passes + 1}"), step(PassPart) as place:
            made = place.left
            if made is None or not made.of(block, collects=first):
                made = PassPart.before(block, self._moments, collects=first)
            placed = block if kernel.order is None else block[kernel.order]
            with closing(results(KernelPass(kernel, placed, made.collects), made.blocks)) as every:
                for folded in every:
                    made = made.add(folded)
                    if made.blocks < kernel.blocks:
                        place.offer(partial(replace, made))
        collected = (self._by_number(made.sums), made.squares, made.trace) if made.collects else made.known
        return PassResult(block, self._by_number(made.product), collected if first else None)

    def _by_number(self, placed: Array) -> Array:
        """Reorder rows from positions to the points' numbers."""
        order = self._kernel.order
        if order is None:
            return placed
        numbered = np.empty_like(placed)
        numbered[order] = placed
        return numbered

    def _require_moments(self) -> Moments:
        if self._moments is None:
            self._pass(self._kernel, np.zeros((self.size, 1)))
        assert self._moments is not None
        return self._moments

    @property
    def centering(self) -> Centering:
        """The centering of rows of new points."""
        return Centering(self._require_moments()[0] / self.size, across=True) if self._moved else uncentered(self.size)

    @property
    def trace(self) -> float:
        """Sum of the eigenvalues."""
        sums, _, trace = self._require_moments()
        return float(trace - sums.sum() / self.size) if self._moved else float(trace)

    @property
    def frobenius(self) -> float:
        """Root of the sum of squared eigenvalues."""
        sums, squares, _ = self._require_moments()
        if not self._moved:
            return float(np.sqrt(squares))
        total, means = sums.sum() / self.size, sums / np.sqrt(self.size)
        return float(np.sqrt(max(squares - 2 * (means**2).sum() + total**2, 0.0)))


def fits_in_memory(size: int, compute: Compute) -> bool:
    """Whether a size x size matrix is small enough to be stored rather than computed in every pass."""
    return 8 * size * size <= min(STORED, compute.memory_bytes() / 3)


@stage("kernel", version=1, composed=True)
def kernel_of(function: Pairwise, points: Array, compute: Compute, centered: bool = True) -> Dense | Streamed:
    """Return the kernel of a function over an (n, d) array of points: one matrix where it is small, streamed if not."""
    size = len(points)
    if fits_in_memory(size, compute):
        with running("kernel"):
            values = function(points, points)
        return Dense.of(values) if centered else Dense(values, uncentered(size))
    rough = Tiles(function, points, np.float32) if function.narrow(points) else None
    note("F-STREAMED", f"the kernel of {size} points is computed in tiles of {TILE} x {TILE} and never stored"
         + (", in single precision before the last pass" if rough else ""))
    return Streamed(Tiles(function, points, np.float64), rough=rough, centered=centered)
