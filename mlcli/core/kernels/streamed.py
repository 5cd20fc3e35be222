"""A kernel whose rows are computed block by block whenever they are needed; nothing n x n is ever stored."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import memoize
from mlcli.base.stages.checkpoints import step
from mlcli.base.stages.stage import part
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.core.centering import Centering, uncentered
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.eigen.solved import Closeness, Solved
from mlcli.core.eigen.solvers import solve_symmetric
from mlcli.core.kernels.forms import Dense, square_memory
from mlcli.core.krylov import Apply
from mlcli.engine.executor import ends_span, results

if TYPE_CHECKING:
    from mlcli.engine.cluster.executor import Cluster


@frozen
class BlockSums:
    """The sums that one block of work adds to a pass; moments are summed in one pass only."""

    rows: slice  # rows of the kernel, by number or by position (see KernelRows.order)
    product: Array  # to K[rows] Q
    sums: Array | float = 0.0  # to the sum of each row
    squares: float = 0.0  # to the sum of all squares
    trace: float = 0.0  # to the sum of K[i, i]


def add_in_order(parts: Sequence[Sequence[BlockSums]]) -> Sequence[BlockSums]:
    """Return the sum of the results of successive blocks, or of sums of such, each number added in their order.

    Rows that touch or overlap become one array. The last entry has the sums over whole matrices.
    """
    every = [some for folded in parts for some in folded]
    spans: list[slice] = []
    for rows in sorted((some.rows for some in every if len(some.product)), key=lambda rows: rows.start):
        if spans and rows.start <= spans[-1].stop:
            spans[-1] = slice(spans[-1].start, max(spans[-1].stop, rows.stop))
        else:
            spans.append(rows)
    starts = [rows.start for rows in spans]
    products = [np.zeros((rows.stop - rows.start, every[0].product.shape[1])) for rows in spans]
    collects = any(isinstance(some.sums, np.ndarray) for some in every)
    sums = [np.zeros(rows.stop - rows.start) if collects else np.zeros(0) for rows in spans]
    squares, trace = 0.0, 0.0
    for some in every:
        if len(some.product):
            number = bisect_right(starts, some.rows.start) - 1
            place = slice(some.rows.start - starts[number], some.rows.stop - starts[number])
            products[number][place] += some.product
            if collects:
                sums[number][place] += some.sums
        squares, trace = squares + some.squares, trace + some.trace
    none = np.zeros((0, every[0].product.shape[1] if every else 0))
    return [BlockSums(rows, product, added if collects else 0.0)
            for rows, product, added in zip(spans, products, sums, strict=True)] + [
            BlockSums(slice(0, 0), none, 0.0, squares, trace)]


def summing() -> "Cluster | None":
    """Return the cluster whose workers run blocks and add up their results; None if blocks run elsewhere."""
    workers = context().workers
    if workers is None:
        return None
    from mlcli.engine.cluster.executor import Cluster

    return workers.executor if isinstance(workers.executor, Cluster) else None


@frozen
class ColumnSample:
    """Columns of a kernel K that stand for all of them: sums over these are, up to a factor, an estimate."""

    points: Indices  # m
    multiply: Callable[[Array], Array]  # (m, b) factors -> K[:, points] times these, an (n, b) array


class KernelRows(Protocol):
    """A symmetric kernel K (n x n) whose rows are computed when needed; it can be pickled."""

    @property
    def key(self) -> Sequence[Any]:
        """The arrays and parameters that determine the kernel: the key of its checkpoints."""

    @property
    def size(self) -> int:
        """Number of points."""

    @property
    def blocks(self) -> int:
        """Number of blocks of work in a pass."""

    @property
    def width(self) -> int:
        """Number of vectors in a block that cost little compared with the rows themselves."""

    @property
    def landmarks(self) -> int:
        """Number of single rows that cost little compared with a pass."""

    @property
    def order(self) -> Indices | None:
        """The numbers of the points by position, an (n,) array, where blocks index rows by position; None where they
        index them by number.
        """

    @property
    def quick_rows(self) -> RowsOf | None:
        """A function that computes rows in the precision of a pass, where that is quicker; else None."""

    @property
    def sample(self) -> ColumnSample | None:
        """Some columns, where products with them cost little compared with a pass; else None."""

    def rows(self, chosen: Indices) -> Array:
        """Return the rows `chosen` in double precision, an (m, n) array."""

    def fold(self, number: int, vectors: Array, moments: bool) -> Sequence[BlockSums]:
        """Return the sums that a block adds to K Q, for (n, b) `vectors` Q, and to the moments where `moments`.

        Rows of Q are those of the points by position where there is an `order`, else by number.
        """

    def stop(self) -> None:
        """Let running folds end early, because their results are no longer needed."""


@frozen
class KernelPass:
    """The product K Q, as a source of blocks."""

    kernel: KernelRows
    vectors: Array  # Q, n x b, its rows as those of the kernel's blocks
    moments: bool

    @property
    def blocks(self) -> int:
        """Number of blocks of work."""
        return self.kernel.blocks

    def work(self, number: int) -> Sequence[BlockSums]:
        """Return the sums that a block adds."""
        return self.kernel.fold(number, self.vectors, self.moments)

    def stop(self) -> None:
        """Let running blocks end early."""
        self.kernel.stop()


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
    """The state of a pass between two blocks: the vectors it multiplies, and the sums over the blocks done.

    Sums have two rows: those over whole spans of successive blocks (`engine/executor.py`), and those over the blocks of
    the span that has begun.
    """

    block: Array  # n x b
    blocks: int  # number done
    product: Array  # 2 x n x b, in the order of positions
    collects: bool  # whether it also sums the moments, which are:
    sums: Array  # 2 x n, in the order of positions
    squares: Array  # 2
    trace: Array  # 2
    known: Moments | None  # the moments, where an earlier pass has summed them

    @classmethod
    def before(cls, block: Array, known: Moments | None, *, collects: bool) -> "PassPart":
        """Return the state before the first block, for an (n, b) array to multiply."""
        return cls(block, 0, np.zeros((2, *block.shape)), collects, np.zeros((2, len(block))), np.zeros(2), np.zeros(2),
                   known)

    def of(self, block: Array, *, collects: bool) -> bool:
        """Whether this is a state of the pass that multiplies this (n, b) array, and that sums or has the moments."""
        enough = self.collects == collects or (collects and self.known is not None)
        return enough and np.array_equal(self.block, block)

    def add(self, folded: Sequence[BlockSums], *, ends: bool) -> "PassPart":
        """Return the state after another block, whose rows are added in place; `ends` says whether it ends a span."""
        self._put(1, folded)
        if ends:
            for sums in (self.product, self.sums, self.squares, self.trace):
                sums[0] += sums[1]
                sums[1] = 0.0
        return replace(self, blocks=self.blocks + 1)

    def at(self, blocks: int, folded: Sequence[BlockSums]) -> "PassPart":
        """Return the state after whole spans of so many blocks, whose sum replaces this one in place."""
        for sums in (self.product, self.sums, self.squares, self.trace):
            sums[:] = 0.0
        self._put(0, folded)
        return replace(self, blocks=blocks)

    def parts(self) -> tuple[Sequence[BlockSums], Sequence[BlockSums]]:
        """Return the sums over whole spans, and over the blocks of the span that has begun."""
        rows = slice(0, len(self.block))
        whole, begun = ([BlockSums(rows, self.product[place], self.sums[place] if self.collects else 0.0,
                                   float(self.squares[place]), float(self.trace[place]))] for place in (0, 1))
        return whole, begun

    def _put(self, place: int, folded: Sequence[BlockSums]) -> None:
        """Add the sums of a block."""
        for some in folded:
            self.product[place, some.rows] += some.product
            self.sums[place, some.rows] += some.sums
            self.squares[place] += some.squares
            self.trace[place] += some.trace


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
    def entries(self) -> float:
        """The largest mean of a row of K, for the largest size of an entry, which no pass finds."""
        means = self.centering.means
        return float(np.abs(means).max(initial=0.0))

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
            source = KernelPass(kernel, placed, made.collects)
            cluster = summing()
            if cluster is not None:
                with closing(cluster.sums(source, add_in_order, done=made.blocks, parts=made.parts(),
                                          due=lambda: place.wanted)) as totals:
                    for blocks, total in totals:
                        made = made.at(blocks, total)
                        if blocks < kernel.blocks:
                            place.offer(partial(replace, made))
            else:
                with closing(results(source, made.blocks)) as every:
                    for number, folded in enumerate(every, made.blocks + 1):
                        made = made.add(folded, ends=ends_span(number, kernel.blocks))
                        if made.blocks < kernel.blocks:
                            place.offer(partial(replace, made))
        collected = (self._by_number(made.sums[0]), float(made.squares[0]), float(made.trace[0])
                     ) if made.collects else made.known
        return PassResult(block, self._by_number(made.product[0]), collected if first else None)

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
