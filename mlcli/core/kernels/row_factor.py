"""Factors of kernels of inner products whose rows are read in blocks, and products of such rows.

With few columns, one pass sums their products, and another computes the scores. With many, FᵀF is only applied: block
Krylov, one pass for each block of vectors. Where the rows are sparse and fewer than the columns, F Fᵀ is applied
instead: its vectors are shorter.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import AHEAD
from mlcli.base.rows.moments import Moments
from mlcli.base.rows.scratch import allocate, bytes_in_memory, release_pages
from mlcli.base.rows.source import CenteredSparseRows, RowPass, Rows, as_array, in_memory, rows_of
from mlcli.base.rows.sparse import entries_of, is_sparse
from mlcli.base.stages.stage import part, running
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.core.centering import Centering
from mlcli.core.eigen.eigensolve import ROOM, SHOWN
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.eigen.solved import Closeness, Solved
from mlcli.core.eigen.solvers import allow_whole_spectrum, note_krylov
from mlcli.core.kernels.factor_solver import from_directions, from_vectors, solve_factor
from mlcli.core.kernels.factored import FEW, Factored
from mlcli.core.kernels.forms import square_memory
from mlcli.core.kernels.options import Route
from mlcli.core.krylov import SPARE, WIDEST, krylov
from mlcli.core.linalg import symmetric_eigen, triangle_of
from mlcli.core.moments_pass import WIDE, gather
from mlcli.engine.executor import results
from mlcli.errors import ConfigError, NumericalError
from mlcli.native.linalg import lower_sparse, multiplies, multiply_sparse

Means = tuple[Array, Array]  # d each, subtracted from rows, one after the other
NONE = np.zeros((0, 0))  # in place of images that are not asked for


@frozen
class FactorProducts(RowPass):
    """F W and FᵀF W for vectors W, or the triangle R of F = Q R: a source of blocks."""

    means: Means
    vectors: Array | None  # d x b
    order: Indices | None = None  # of the columns, for the triangle
    images: bool = True  # whether FᵀF W is summed

    def work(self, number: int) -> tuple[Sequence[tuple[int, Array]], Array]:
        """Return scores with the position of the first of them, and the block's share of FᵀF W; or its triangle."""
        if self.vectors is not None and (some := entries_of(self.rows, number)) is not None:
            return self._of_entries(number, some, self.vectors)
        scores, size = [], self.rows.shape[1]
        total = np.zeros((0, size)) if self.vectors is None else np.zeros(self.vectors.shape) if self.images else NONE
        for first, read in self.rows.parts(number):
            if self.vectors is not None and self.vectors.shape[1] <= FEW and native.available():
                product, image = self._of_few(read, self.vectors)
                total = total + image
                scores.append((first, product))
                continue
            rows = read - self.means[0] if self.means[0].any() else read
            if self.vectors is None:
                total = triangle_of(np.vstack([total, (rows - self.means[1])[:, self.order]]))
                continue
            product = rows @ self.vectors - self.means[1] @ self.vectors
            if self.images:
                total += _lowered(rows, self.means[1], product)
            scores.append((first, product))
        return scores, total

    def _of_few(self, rows: Array, vectors: Array) -> tuple[Array, Array]:
        """Return the scores of rows (m x d) and their share of FᵀF W, for a few vectors, as quickly as rows are read.

        Columns that lie together, as those of Parquet, are rows of a transposed matrix, which is multiplied instead.
        """
        less, (count, columns), few = self.means[1] @ vectors, rows.shape, vectors.shape[1]
        image = np.zeros((few, columns)) if self.images else NONE
        if rows.flags.c_contiguous:
            product = np.empty((count, few))
            native.lift_rows(rows, self.means[0], directions=vectors, less=less, out=product)
            if self.images:
                native.lower_rows(rows, self.means[0], vectors=product, out=image)
        else:
            across = np.ascontiguousarray(rows.T)
            if self.means[0].any():
                across = across - self.means[0][:, None]
            lifted, nowhere = np.zeros((few, count)), np.zeros(count)
            native.lower_rows(across, nowhere, vectors=vectors, out=lifted)
            product = np.subtract(lifted.T, less, order="C")
            if self.images:
                image = np.empty((columns, few))
                native.lift_rows(across, nowhere, directions=product, less=np.zeros(few), out=image)
                image = image.T
        return product, image.T - np.outer(self.means[1], product.sum(axis=0)) if self.images else NONE

    def _of_entries(self, number: int, rows: CenteredSparseRows,
                    vectors: Array) -> tuple[Sequence[tuple[int, Array]], Array]:
        """Compute the result of `work` from the entries of a sparse block: (X - 1 c') W = X W - 1 (c'W)."""
        center, first = rows.center + self.means[0] + self.means[1], self.rows.source.bounds[number]
        if multiplies(rows.entries):
            product, total = multiply_sparse(rows.entries, vectors, center @ vectors, images=self.images)
            return [(first, product)], total - np.outer(center, product.sum(axis=0)) if self.images else NONE
        product = rows.entries @ vectors - center @ vectors
        return [(first, product)], _lowered(rows.entries, center, product) if self.images else NONE


@frozen
class TransposedProducts(RowPass):
    """Fᵀ V for vectors V of the rows: a source of blocks, each with its share."""

    means: Means
    vectors: Array  # n x b

    def work(self, number: int) -> Array:
        """Return the block's share of Fᵀ V, a (d, b) array."""
        if (some := entries_of(self.rows, number)) is not None:
            first, last = self.rows.source.bounds[number : number + 2]
            return _lowered(some.entries, some.center + self.means[0] + self.means[1], self.vectors[first:last])
        total = np.zeros((self.rows.shape[1], self.vectors.shape[1]))
        for first, read in self.rows.parts(number):
            total += _lowered(read - self.means[0], self.means[1], self.vectors[first : first + len(read)])
        return total


def _lowered(rows: Array, center: Array, vectors: Array) -> Array:
    """Return (X - 1 c')' V = X' V - c (1'V), a (d, b) array, for rows X (m x d), dense or sparse."""
    by_kernel = not isinstance(rows, np.ndarray) and multiplies(rows)
    lowered: Array = lower_sparse(rows, vectors) if by_kernel else rows.T @ vectors
    return lowered - np.outer(center, vectors.sum(axis=0))


TOLERANCE = 1e-10  # residual of an axis, relative to the largest eigenvalue
TIGHT = 1e-12  # the same over sparse rows, whose passes take little time
WIDTH = 16  # vectors multiplied in a pass: more would cost more than reading
THIN = 8  # the same where nothing is read: thin blocks converge further per vector, and kernels take these together
GROWTH = 0.1  # of the vectors over sparse rows, until their projected problem is solved again
SAMPLED = 512  # rows of the sample that gives the first axes, at most
STARTED = 2**22  # numbers in them, unless fewer than four rows were left for each axis
COPIES = 5  # arrays of scores in memory at once
PASSES = 8  # of block Krylov, about
READ = 1e-9  # seconds of a core to read a number


class RowFactor:
    """K = F Fᵀ of centered rows in a file, solved on the side of the columns."""

    definite, inverse, by_factor, tolerance, entries, by_columns = True, False, True, 0.0, 0.0, True
    name, remedy = "the covariance route", "the route auto keeps them"

    def __init__(self, rows: Rows, moments: Moments, route: Route) -> None:
        self.rows, self.moments, self.route, self.passes = rows, moments, route, 0
        self._lifted: tuple[Array, Array, Array] | None = None  # directions, scores, FᵀF times the directions

    @classmethod
    def of(cls, rows: Rows, route: Route) -> "RowFactor":
        """Return the kernel of rows with known moments; raises ConfigError for a route that needs them in memory."""
        if route not in ("auto", "covariance"):
            raise ConfigError("STREAM", f"the route {route} needs the table in memory, and it is read in blocks",
                              where="method.route", hint="leave it out, or give more memory ({compute.memory_limit})")
        assert rows.moments is not None
        with running("covariance"):
            return cls(rows, rows.moments.plain, route)

    def state(self) -> dict[str, Any]:
        """Return what determines the kernel: the key of its checkpoints."""
        return {"rows": self.rows, "route": self.route}

    def with_products(self) -> "RowFactor":
        """Return this kernel: the first pass has summed the products."""
        return self

    @property
    def factor(self) -> Array:
        """An array object that represents F; its rows are read in blocks."""
        return as_array(self.rows)

    def whole(self) -> Array:
        """Return F in memory, for data of few rows but many columns."""
        values = in_memory(self.rows)
        for mean in self.means:
            values -= mean
        return values

    @property
    def means(self) -> tuple[Array, Array]:
        """Two shifts subtracted from rows in turn: a point near the means, and the small mean left after it."""
        return self.moments.shift, self.moments.rest

    @property
    def centering(self) -> Centering:
        """The centering by the columns' means."""
        return Centering(self.moments.shift + self.moments.rest, across=False)

    @property
    def trace(self) -> float:
        """Sum of the eigenvalues."""
        return float(self.moments.squares.sum())

    @property
    def frobenius(self) -> float:
        """Root of the sum of squared eigenvalues; NaN where FᵀF is only applied."""
        return float(np.linalg.norm(self.side)) if self.moments.whole else float("nan")

    @cached_property
    def side(self) -> Array:
        """FᵀF (d x d), by another pass where there are many columns."""
        whole = self.moments if self.moments.whole else gather(self.rows, products=True).moments.plain
        return whole.covariance

    @property
    def rank(self) -> int | None:
        """Upper bound of the number of nonzero eigenvalues."""
        varying = np.sqrt(self.moments.squares) > EPS / 4 * np.abs(self.centering.means)
        return min(len(self.rows) - 1, int(np.sum(varying)))

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Solve FᵀF where it was summed, or else apply it by passes."""
        solved = solve_factor(self, demand, compute) if self.moments.whole else self._by_passes(demand, compute)
        shown = min(int(np.sum(solved.values > solved.floor)), max(SHOWN, demand.report or 0), ROOM // len(self.rows))

        def take(count: int) -> tuple[Array, Array | None]:
            vectors, directions = solved.take(max(count, shown))  # with those needed later, in one pass
            return vectors[:, :count], None if directions is None else directions[:, :count]

        return replace(solved, take=take)

    def _by_passes(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Compute the top of the spectrum by block Krylov from a sample's axes, or the whole where memory allows."""
        size, rows = self.rows.shape[1], len(self.rows)
        counted = isinstance(demand.components, int) and demand.solver != "dense"
        if not counted or demand.wanted(size) + SPARE > min(rows, size) // 4:
            square_memory(compute, size, 3, "the whole spectrum", "ask for a count of axes instead of a share")
            return solve_factor(self, demand, compute)
        sparse, count = is_sparse(self.rows), demand.wanted(size)
        by_rows = sparse and rows < size
        tolerance = demand.tolerance or (TIGHT if sparse else TOLERANCE)
        width = max((count + SPARE) // 8 // THIN, 1) * THIN if sparse else max(count + SPARE, WIDTH)
        start = self._start(width, compute)
        try:
            ritz = krylov(self.apply_kernel if by_rows else self.apply_gram,
                          self._products(start, images=False)[0] if by_rows else start, count, tolerance,
                          kept=WIDEST * max(count + SPARE, WIDTH), growth=GROWTH if sparse else 0.0)
        except NumericalError as error:
            allow_whole_spectrum(error, compute, size)
            return solve_factor(self, demand.replace(solver="dense", tolerance=None), compute)
        note_krylov(ritz)
        floor = 10 * rows * EPS * float(ritz.values[:1].max(initial=0.0))
        lift = from_vectors if by_rows else from_directions
        return Solved(ritz.values, lambda q: lift(self, ritz.values[:q], ritz.vectors[:, :q], floor), rows,
                      False, floor, tolerance, iterative=True, residuals=ritz.residuals, at_least=ritz.at_least)

    def _start(self, width: int, compute: Compute) -> Array:
        """Return vectors (d x width) near the leading axes: those of the sample, and a little noise."""
        block = compute.generator().standard_normal((self.rows.shape[1], width))
        sample = self.rows.sample
        if sample is None or len(sample.values) < 2 * width:
            return block
        most = min(max(STARTED // len(block), 4 * width), SAMPLED)
        some = sample.values[:: -(-len(sample.values) // most)] - self.centering.means
        with single_threaded_blas():  # so that the start does not depend on the number of threads
            _, vectors = symmetric_eigen(some @ some.T)
            start = some.T @ vectors[:, :width]
        return start / np.maximum(np.linalg.norm(start, axis=0), 1e-300) + 1e-3 * block / np.sqrt(len(block))

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerances for equal eigenvalues, those of a factor in memory."""
        return Closeness.of(solved, near=2, wide=4)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> Array | None:
        """Return bounds of ‖K v - λ v‖ √(λ / λ₁), a (k,) array, for (k,) `values` and (d, k) `directions`.

        They are ‖FᵀF w - λ w‖, with FᵀF w from the pass that computed the scores.
        """
        assert self._lifted is not None and directions is not None
        (known, _, images), count = self._lifted, directions.shape[1]
        if not np.array_equal(np.abs(known[:, :count]), np.abs(directions)):  # rotated, because eigenvalues are equal
            known, images = directions, self.apply_gram(directions)
        gaps = np.linalg.norm(images[:, :count] - known[:, :count] * values, axis=0)
        return np.where(values > 0, gaps, 0.0)

    def lift(self, directions: Array) -> Array:
        """Return F times a (d, b) array of directions, an (n, b) array: one pass, or none if repeated."""
        known, count = self._lifted, directions.shape[1]
        if known is None or known[0].shape[1] < count or not np.array_equal(known[0][:, :count], directions):
            known = self._lifted = (directions, *self._products(directions))
        return known[1][:, :count]

    def lower(self, vectors: Array) -> Array:
        """Return Fᵀ times an (n, b) array of vectors, a (d, b) array: one pass."""
        total = np.zeros((self.rows.shape[1], vectors.shape[1]))
        products = TransposedProducts(self.rows, self.means, np.ascontiguousarray(vectors))
        with self._pass(), closing(results(products)) as every:
            for some in every:
                total += some
        return total

    def apply_gram(self, directions: Array) -> Array:
        """Return FᵀF times a (d, b) array of directions, a (d, b) array: one pass."""
        return self._products(directions, scores=False)[1]

    def multiply(self, directions: Array) -> Array:
        """Return F times a (d, b) array of directions, an (n, b) array of its own: one pass."""
        return self._products(directions, images=False)[0]

    def apply_kernel(self, vectors: Array) -> Array:
        """Return F Fᵀ times an (n, b) array of vectors, an (n, b) array: two passes."""
        return self.multiply(self.lower(vectors))

    def triangle(self, order: Indices) -> Array:
        """Return R of F = Q R, a (d, d) array, for F's columns in the (d,) array `order`: one pass."""
        with self._pass(), closing(results(FactorProducts(self.rows, self.means, None, order))) as every:
            return reduce(lambda above, part: triangle_of(np.vstack([above, part])), (block for _, block in every))

    def _products(self, directions: Array, *, scores: bool = True, images: bool = True) -> tuple[Array, Array]:
        """Return F W and FᵀF W for a (d, b) array W, each only if it is asked for: one pass."""
        directions = np.ascontiguousarray(directions)  # as in another process: rounding depends on the layout
        kept = allocate(len(self.rows), directions.shape[1]) if scores else np.empty((0, 0))
        total = np.zeros(directions.shape if images else (0, 0))
        with self._pass(), closing(results(FactorProducts(self.rows, self.means, directions, images=images))) as every:
            for found, image in every:
                total += image
                for first, some in found if scores else ():
                    kept[first : first + len(some)] = some
                release_pages()
        return kept, total

    def _pass(self) -> AbstractContextManager[None]:
        self.passes += 1
        return part(f"pass {self.passes}")


AnyFactor = Factored | RowFactor


def factor_of(points: Array, route: Route = "auto", centered: bool = True) -> AnyFactor:
    """Return the kernel of an (n, d) array of points in memory, or of rows that are read in blocks."""
    rows = rows_of(points)
    return Factored.of(points, route, centered) if rows is None else RowFactor.of(rows, route)


def row_steps(rows: Rows, demand: SpectrumRequest, threads: int) -> list[Step]:
    """Return the cost of the passes over a file; the pass that sums products is part of reading it."""
    count, columns = rows.shape
    kept, lanes = demand.wanted(columns), rows.at_once(threads)
    block = int(np.diff(rows.source.bounds).max(initial=0))
    taken = rows.nbytes * (lanes - 1) + bytes_in_memory(COPIES, count * kept) + 8.0 * (lanes + AHEAD + 1) * block * kept
    if columns <= WIDE:
        whole = demand.step(columns, threads, 8.0 * 3 * columns**2 + taken)
        scores = replace(_product_passes(rows, 1, kept), here=whole.seconds)
        return [Step("covariance", f"from the first pass over {count:,} rows", 0.0, 8.0 * 3 * columns**2),
                replace(whole, seconds=whole.seconds + scores.seconds / threads, passes=scores)]
    passes, side = _product_passes(rows, PASSES, WIDTH), min(count, columns) if is_sparse(rows) else columns
    return [Step("covariance", "not formed: applied by passes", 0.0, 0.0),
            Step("eigensolve", f"block Krylov: about {PASSES} passes over {count:,} rows",
                 PASSES * passes.seconds / threads, taken + 8.0 * 2 * WIDEST * WIDTH * side, passes=passes)]


def _product_passes(rows: Rows, count: int, width: int) -> Passes:
    """Return the cost of passes that multiply rows with `width` vectors, for scores and for each block's share of FᵀF
    W.
    """
    (size, columns), vectors = rows.shape, 8.0 * rows.shape[1] * width
    return Passes(count, size * columns * (READ + 4e-11 * width), rows.blocks, sent=vectors,
                  returned=8.0 * size * width + rows.blocks * vectors, working=float(rows.nbytes))
