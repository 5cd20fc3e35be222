"""The kernel of inner products, represented by its factor: the data, centered block by block when used."""

import functools
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.stages.stage import running
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.core.centering import Centering, uncentered
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.eigen.solved import Closeness, Solved
from mlcli.core.kernels.factor_solver import solve_factor
from mlcli.core.kernels.options import Route
from mlcli.core.linalg import triangle_of
from mlcli.core.moments_pass import column_products

PART = 1 << 19  # numbers of a factor multiplied by themselves at once
THIN = 1 << 17  # numbers multiplied by a few vectors at once: what fits in the cache of a core
FEW = 8  # vectors that the native kernels multiply by at once, without BLAS
PARTS = 8  # in a block of work; blocks are summed separately, then added
SAMPLE = 4096  # rows whose mean approximates the mean of all
TRIFLE = 0.04  # error of a shift, as a share of a column's squares, that loses no digits
CENTERED = 0.01  # the same in a sample of rows: up to this, no shift is needed
WIDE = 1000  # columns above which FᵀF is too large for every thread to have its own


@frozen
class Factored:
    """A centered kernel K = F Fᵀ, solved on the smaller side of F: PCA, direct and dual.

    On the column side, F is centered a few rows at a time at each use, so that the data are never copied as a whole.
    """

    factor: Array  # n x d, columns of mean zero after `means` are subtracted from its rows
    route: Route
    centering: Centering
    means: tuple[Array, ...] = ()  # (d,) each: a shift of the rows of `factor`, and the small mean left after it
    gram: Array | None = None  # FᵀF, where it was computed before
    digits: bool = False  # whether eigenvalues far below the first matter, as those of data do
    centered: bool = True  # whether the columns have mean zero

    definite, inverse, by_factor, tolerance, entries = True, False, True, 0.0, 0.0
    remedy = "the route auto or svd keeps them"

    @property
    def by_columns(self) -> bool:
        """Whether FᵀF is solved, rather than FFᵀ."""
        rows, columns = self.factor.shape
        return self.route == "covariance" or (self.route != "dual" and columns <= rows)

    @property
    def trace(self) -> float:
        """Sum of the eigenvalues."""
        return float(np.trace(self.side)) if self.means else float(np.einsum("ij,ij->", self.factor, self.factor))

    @property
    def frobenius(self) -> float:
        """Root of the sum of squared eigenvalues, from the matrix that is solved."""
        return float(np.linalg.norm(self.side))

    @classmethod
    def of(cls, points: Array, route: Route = "auto", centered: bool = True) -> "Factored":
        """Return the kernel of an (n, d) array of points, with columns centered twice (for data far from the origin)
        where `centered`.
        """
        plain = cls(points, route, uncentered(points.shape[1]), digits=True, centered=centered)
        if not centered and (route == "svd" or not plain.by_columns):
            return plain
        if route == "svd" or not plain.by_columns:
            with running("centering"):
                return plain._centered().whole()
        with running("covariance"):
            kernel = plain._centered() if centered else plain
            return replace(kernel, gram=kernel.side)

    def with_products(self) -> "Factored":
        """Return this kernel with the matrix to be solved computed, as a stage of its own; route svd needs none."""
        if self.route == "svd" or self.gram is not None:
            return self
        with running("kernel"):
            return replace(self, gram=self.side)

    def _centered(self) -> "Factored":
        kernel = self._centered_at_once() or self._centered_twice()
        return replace(kernel, centering=Centering(kernel.means[0] + kernel.means[1], across=False))

    @cached_property
    def side(self) -> Array:
        """FᵀF (d x d) or FFᵀ (n x n), the one that is solved; both have the same nonzero eigenvalues."""
        if self.gram is not None:
            return self.gram
        if not self.by_columns:
            return self.factor @ self.factor.T
        if self.factor.shape[1] <= WIDE:
            products = functools.reduce(operator.iadd, in_order(self._products, self._blocks))[:-1]
        else:
            products = self._total(lambda rows, block: block.T @ block, self._thick, shared=False)
        return products - len(self.factor) * np.outer(self._rest, self._rest)

    @property
    def _shift(self) -> Array:
        """The shift of the rows of F; zeros where there is none."""
        return self.means[0] if self.means else np.zeros(self.factor.shape[1])

    @property
    def _rest(self) -> Array:
        """The column means left after the first shift: subtracted from products rather than rows, being small."""
        return self.means[1] if len(self.means) > 1 else np.zeros(self.factor.shape[1])

    def _total(self, part: Callable[[slice, Array], Array], size: int, shared: bool = True) -> Array:
        """Return the sum of `part` over slices of `size` rows; unless `shared`, slices run in turn, each on all
        threads.
        """

        def subtotal(rows: slice) -> Array:
            return functools.reduce(operator.iadd, (part(*some) for some in self._parts(rows, size)))

        if not shared:
            return subtotal(slice(0, len(self.factor)))
        return functools.reduce(operator.iadd, in_order(subtotal, self._blocks))

    @property
    def _blocks(self) -> list[slice]:
        """Blocks of work: slices of rows, of several parts each."""
        return row_blocks(len(self.factor), self._thick * PARTS)

    @property
    def _thick(self) -> int:
        """Rows of a part for FᵀF: enough that the product costs more than its addition."""
        columns = max(self.factor.shape[1], 1)
        return max(columns, PART // columns)

    @property
    def _thin(self) -> int:
        """Rows of a part for products with a few vectors."""
        return max(1, THIN // max(self.factor.shape[1], 1))

    def _parts(self, rows: slice, size: int) -> Iterator[tuple[slice, Array]]:
        """Yield the rows of a block a few at a time, less the first mean; each part overwrites the one before it."""
        shift = self.means[0] if self.means else np.zeros(0)
        room = np.empty((min(size, rows.stop - rows.start), self.factor.shape[1])) if shift.any() else None
        for start in range(rows.start, rows.stop, size):
            chosen = slice(start, min(start + size, rows.stop))
            block = self.factor[chosen]
            yield chosen, block if room is None else np.subtract(block, shift, out=room[: chosen.stop - start])

    def apply(self, block: Array) -> Array:
        """Return K times an (n, b) array of vectors, an (n, b) array."""
        return self.lift(self.lower(block))

    def lift(self, directions: Array) -> Array:
        """Return F times a (d, b) array of directions, an (n, b) array."""
        result, rest = np.empty((len(self.factor), directions.shape[1])), self._rest @ directions
        few, shift = self._native(directions), self._shift

        def lift(rows: slice) -> None:
            if few:
                native.lift_rows(self.factor[rows], shift, directions=directions, less=rest, out=result[rows])
                return
            for chosen, block in self._parts(rows, self._thin):
                np.subtract(block @ directions, rest, out=result[chosen])

        each(lift, self._blocks)
        return result

    def lower(self, vectors: Array) -> Array:
        """Return Fᵀ times an (n, b) array of vectors, a (d, b) array."""
        if self._native(vectors):
            parts = in_order(lambda rows: self._lower(rows, vectors), self._blocks)
            products = functools.reduce(operator.iadd, parts).T
        else:
            products = self._total(lambda rows, block: block.T @ vectors[rows], self._thin)
        return products - np.outer(self._rest, vectors.sum(axis=0))

    def _native(self, few: Array) -> bool:
        """Whether the native kernels multiply by the columns of an array: they are as quick as F is read, for a few."""
        return native.available() and few.shape[1] <= FEW and self.factor.flags.c_contiguous

    def _lower(self, rows: slice, vectors: Array) -> Array:
        """Return the part of a block of rows in Fᵀ times an (n, b) array of vectors, without the small mean (b x d)."""
        out = np.zeros((vectors.shape[1], self.factor.shape[1]))
        native.lower_rows(self.factor[rows], self._shift, vectors=vectors[rows], out=out)
        return out

    def _centered_at_once(self) -> "Factored | None":
        """Compute means and FᵀF in one pass, from a shift near the means; None where the means left over are not
        negligible.
        """
        rows, columns = self.factor.shape
        if not self.by_columns or self.route == "svd" or rows <= SAMPLE or columns > WIDE:
            return None
        some = self.factor[:: rows // SAMPLE]
        near = some.mean(axis=0)
        if np.all(near**2 <= CENTERED * some.var(axis=0)):
            near = np.zeros(columns)  # and no row need be copied
        moved = replace(self, means=(near,))
        sums = functools.reduce(operator.iadd, in_order(moved._products, moved._blocks))
        rest = sums[-1] / rows
        side = sums[:-1] - rows * np.outer(rest, rest)
        small = bool(np.all(rows * rest**2 <= TRIFLE * np.diag(side)))
        return replace(self, means=(near, rest), gram=side) if small else None

    def _products(self, rows: slice) -> Array:
        """Return FᵀF of the rows in a block, and below it their sum (d + 1 x d)."""
        return np.vstack(column_products(self.factor[rows], self._shift))

    def _centered_twice(self) -> "Factored":
        """Compute the means in one pass, and what rounding left of them in another."""
        means = self.column_means()
        moved = replace(self, means=(means,))
        return replace(self, means=(means, moved.column_means()))

    def column_means(self) -> Array:
        """Return the means of the columns of F, a (d,) array."""
        return self._total(lambda rows, block: block.sum(axis=0), self._thin) / len(self.factor) - self._rest

    def whole(self) -> "Factored":
        """Return this kernel with its centered factor stored as one array."""
        factor = np.empty_like(self.factor)
        for rows, block in self._parts(slice(0, len(factor)), self._thin):
            np.subtract(block, self._rest, out=factor[rows])
        return Factored(factor, self.route, self.centering, digits=self.digits)

    @property
    def name(self) -> str:
        """Name of the route, for messages."""
        return f"the {self.route} route"

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Solve the matrix of the smaller side, or F itself where that matrix loses digits."""
        return solve_factor(self, demand, compute)

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerances for equal eigenvalues. They are tighter than for other kernels: rotated axes are
        orthogonal only as far as their eigenvalues are equal.
        """
        return Closeness.of(solved, near=2, wide=4)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> Array:
        """Return the (k,) array of ‖K v - λ v‖ √(λ / λ₁), for (k,) `values`, (n, k) `vectors` and (d, k) `directions`.

        The scale is that of FᵀF w = λ w, the problem that is solved: v = F w / √λ carries noise of 1 / √λ. It is
        computed as the norm of F (Fᵀ v - √λ w), which FᵀF gives without another pass.
        """
        if not self.means or directions is None:
            gaps = np.linalg.norm(self.apply(vectors) - vectors * values, axis=0)
        else:
            extended = values > 0  # an axis without extent has a direction, but no vector
            apart = self.lower(vectors) - np.where(extended, directions, 0.0) * np.sqrt(values)
            gaps = np.sqrt(np.maximum(np.einsum("ij,ij->j", apart, self.side @ apart), 0.0))
        top = float(values.max(initial=0.0))
        return np.asarray(gaps * np.sqrt(values / top) if top > 0 else gaps)

    @property
    def rank(self) -> int | None:
        """Upper bound of the number of nonzero eigenvalues: n - 1 for centered rows, and the number of varying columns.

        None where the factor is not data: its smallest eigenvalues need no digits.
        """
        if not self.digits:
            return None
        squares = np.diag(self.side) if self.by_columns else np.einsum("ij,ij->j", self.factor, self.factor)
        varying = np.sqrt(squares) > EPS / 4 * np.abs(self.centering.means)  # the least difference of two numbers
        return min(len(self.factor) - self.centered, int(np.sum(varying)))

    def triangle(self, order: Indices) -> Array:
        """Return R of F = Q R, a (d, d) array, for F's columns in the (d,) array `order`, by blocks of rows.

        Every column of R has the digits of its own column of F, however much larger the others are.
        """

        def reduced(above: Array, rows: slice) -> Array:
            for _, block in self._parts(rows, self._thick):
                above = triangle_of(np.vstack([above, (block - self._rest)[:, order]]))
            return above

        nothing = np.zeros((0, len(order)))
        parts = in_order(lambda rows: reduced(nothing, rows), self._blocks)
        return functools.reduce(lambda above, part: triangle_of(np.vstack([above, part])), parts)
