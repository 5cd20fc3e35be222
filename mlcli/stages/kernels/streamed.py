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
from mlcli.engine.executor import results
from mlcli.stages.algebra.centering import Centering, uncentered
from mlcli.stages.eigen.solved import Closeness, Solved
from mlcli.stages.eigen.solvers import solve_symmetric
from mlcli.stages.eigen.spectrum_request import SpectrumRequest
from mlcli.stages.kernels.folding import Folded, KernelRows, Pass
from mlcli.stages.kernels.forms import Dense, square_memory
from mlcli.stages.kernels.pairwise import Pairwise
from mlcli.stages.kernels.tiles import TILE, Tiles

STORED = 2**29  # bytes up to which a whole matrix is kept: 512 MiB, 8,192 points in double precision


Moments = tuple[Array, float, float]  # row sums, sum of squares, trace of K


@frozen
class Passed:
    """A pass that was made: what it multiplied, what came of it, and the moments where it collected them."""

    block: Array
    product: Array
    moments: Moments | None


@result("pass")
@frozen
class PassPart:
    """Where a pass stands between two blocks: what it multiplies, and what the first blocks have added."""

    block: Array  # n x b
    blocks: int  # that are done
    product: Array  # n x b, by places
    collects: bool  # whether it also sums the moments:
    sums: Array  # n, by places
    squares: float
    trace: float
    known: Moments | None  # the moments, where an earlier pass has collected them

    @classmethod
    def before(cls, block: Array, known: Moments | None, *, collects: bool) -> "PassPart":
        """Before the first block."""
        return cls(block, 0, np.zeros_like(block), collects, np.zeros(len(block)), 0.0, 0.0, known)

    def of(self, block: Array, *, collects: bool) -> bool:
        """Whether it is a part of the pass that multiplies this block, and knows or collects the moments."""
        enough = self.collects == collects or (collects and self.known is not None)
        return enough and np.array_equal(self.block, block)

    def add(self, folded: Sequence[Folded]) -> "PassPart":
        """After another block, whose rows are added in place."""
        squares, trace = self.squares, self.trace
        for some in folded:
            self.product[some.rows] += some.product
            self.sums[some.rows] += some.sums
            squares, trace = squares + some.squares, trace + some.trace
        return replace(self, blocks=self.blocks + 1, squares=squares, trace=trace)


class Streamed:
    """H K H for a kernel K whose rows are folded into a product, a block of them at a time; or K, not `centered`.

    The first pass also collects row sums, trace and Frobenius norm, which centering needs.
    `rough`, where there is one, is the same kernel in single precision. `lasting` passes are found by a later run of a
    sweep, which asks for other axes of the same kernel.
    """

    definite, inverse, by_factor, rank, remedy, name = False, False, False, None, "", "the kernel matrix"
    passed = True

    def __init__(self, kernel: KernelRows, tolerance: float = 1e-6, rough: KernelRows | None = None,
                 centered: bool = True, lasting: bool = False) -> None:
        self._kernel, self._rough, self._moved = kernel, rough, centered
        self.tolerance = tolerance  # the tolerance that its precision allows and that is worth the passes
        self._moments: Moments | None = None
        self.passes = 0
        self._passed: dict[int, Passed] | None = memoize("passes", kernel.given, dict) if lasting else None

    def state(self) -> dict[str, Any]:
        """What distinguishes it: what its rows follow from, and how they are used."""
        return {"rows": self._kernel.given, "rough": None if self._rough is None else self._rough.given,
                "centered": self._moved, "tolerance": self.tolerance}

    @property
    def size(self) -> int:
        """The number of points."""
        return self._kernel.size

    @property
    def width(self) -> int:
        """Columns of a block of vectors that cost little beside the rows themselves."""
        return self._kernel.width

    @property
    def landmarks(self) -> int:
        """Single rows that cost little beside a pass."""
        return self._kernel.landmarks

    @property
    def quick_rows(self) -> RowsOf | None:
        """Finds rows of K in the precision of a pass, where that is quicker."""
        return self._kernel.quick_rows

    def apply(self, block: Array) -> Array:
        """Itself times a block of vectors (n x b): one pass over all rows."""
        return self._centered(self._kernel, block)

    @property
    def apply_rough(self) -> Callable[[Array], Array] | None:
        """The same in single precision, where that is offered: for the first passes, never the last."""
        return None if self._rough is None else partial(self._centered, self._rough)

    def rows(self, chosen: Indices) -> Array:
        """Rows of K itself, not centered (m x n)."""
        return self._kernel.rows(chosen)

    def stored(self, compute: Compute) -> Dense:
        """The same kernel held whole, where memory allows it."""
        square_memory(compute, self.size, 3, "the whole spectrum", "ask for a count of axes instead of a share")
        rows = self.rows(np.arange(self.size))
        return Dense.of(rows) if self._moved else Dense(rows, uncentered(self.size))

    @property
    def residual(self) -> float:
        """The tolerance that its precision allows and that is worth the passes."""
        return self.tolerance

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """The top of the spectrum by passes, or the whole one where it is asked for and memory allows it."""
        return solve_symmetric(self, demand, compute)

    def closeness(self, solved: Solved) -> Closeness:
        """Equal eigenvalues differ by rounding of the largest."""
        return Closeness.of(solved)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> None:
        """They are known from the passes themselves."""

    def _centered(self, kernel: KernelRows, block: Array) -> Array:
        if not self._moved:
            return self._pass(kernel, block)
        product = self._pass(kernel, block - block.mean(axis=0))
        return product - product.mean(axis=0)

    def _pass(self, kernel: KernelRows, block: Array) -> Array:
        first = self._moments is None and kernel is self._kernel
        made = self._from_memo(block, first) or self._made(kernel, block, first)
        if self._passed is not None:
            self._passed[self.passes] = made
        self._moments = made.moments if first else self._moments
        self.passes += 1
        return made.product

    def _from_memo(self, block: Array, first: bool) -> Passed | None:
        """The pass of this number where an earlier run has made it."""
        known = (self._passed or {}).get(self.passes)
        fits = known is not None and first <= (known.moments is not None) and np.array_equal(known.block, block)
        return known if fits else None

    def _made(self, kernel: KernelRows, block: Array, first: bool) -> Passed:
        """A pass, from its first block or from those that an earlier process has kept; the same sums in any case."""
        with part(f"pass {self.passes + 1}"), step(PassPart) as place:
            made = place.left
            if made is None or not made.of(block, collects=first):
                made = PassPart.before(block, self._moments, collects=first)
            with closing(results(Pass(kernel, block, made.collects), made.blocks)) as every:
                for folded in every:
                    made = made.add(folded)
                    if made.blocks < kernel.blocks:
                        place.offer(partial(replace, made))
        collected = (self._by_number(made.sums), made.squares, made.trace) if made.collects else made.known
        return Passed(block, self._by_number(made.product), collected if first else None)

    def _by_number(self, placed: Array) -> Array:
        """Rows by the points' numbers, from rows by their places."""
        order = self._kernel.order
        if order is None:
            return placed
        numbered = np.empty_like(placed)
        numbered[order] = placed
        return numbered

    def _known(self) -> Moments:
        if self._moments is None:
            self._pass(self._kernel, np.zeros((self.size, 1)))
        assert self._moments is not None
        return self._moments

    @property
    def centering(self) -> Centering:
        """The centering for the rows of new points."""
        return Centering(self._known()[0] / self.size, across=True) if self._moved else uncentered(self.size)

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""
        sums, _, trace = self._known()
        return float(trace - sums.sum() / self.size) if self._moved else float(trace)

    @property
    def frobenius(self) -> float:
        """The root of the sum of squared eigenvalues."""
        sums, squares, _ = self._known()
        if not self._moved:
            return float(np.sqrt(squares))
        total, means = sums.sum() / self.size, sums / np.sqrt(self.size)
        return float(np.sqrt(max(squares - 2 * (means**2).sum() + total**2, 0.0)))


def fits_in_memory(size: int, compute: Compute) -> bool:
    """Whether a matrix of size x size is small enough to be kept rather than computed again and again."""
    return 8 * size * size <= min(STORED, compute.memory_bytes() / 3)


@stage("kernel", version=1, composed=True)
def kernel_of(function: Pairwise, points: Array, compute: Compute, centered: bool = True) -> Dense | Streamed:
    """The kernel of a function of two points, centered or not: kept where it is small, streamed where it is not."""
    size = len(points)
    if fits_in_memory(size, compute):
        with running("kernel"):
            values = function(points, points)
        return Dense.of(values) if centered else Dense(values, uncentered(size))
    rough = Tiles(function, points, np.float32) if function.narrow(points) else None
    note("F-STREAMED", f"the kernel of {size} points is computed in tiles of {TILE} x {TILE} and never stored"
         + (", in single precision before the last pass" if rough else ""))
    return Streamed(Tiles(function, points, np.float64), rough=rough, centered=centered)
