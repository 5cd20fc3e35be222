"""The kernel of inner products, held as its factor: the data themselves, centered where they are used."""

import functools
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.stages.stage import running
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.stages.algebra.centering import Centering, uncentered
from mlcli.stages.algebra.linalg import EPS, triangle_of
from mlcli.stages.eigen.solved import Closeness, Solved
from mlcli.stages.eigen.spectrum_request import SpectrumRequest
from mlcli.stages.kernels.pairwise import Route
from mlcli.stages.kernels.sides import solve_factor

PART = 1 << 19  # numbers of a factor multiplied by themselves at once
THIN = 1 << 17  # numbers multiplied by a few vectors at once: what a core has a cache for
PARTS = 8  # in a block of work, whose sum is added to the others
SAMPLE = 4096  # rows whose mean is near enough to that of all
TRIFLE = 0.04  # error of a shift, as a share of a column's squares, that loses no digits
CENTERED = 0.01  # the same of a sample of rows: up to here no shift is needed
WIDE = 1000  # columns above which FᵀF is too large for every thread to have its own


@frozen
class Factored:
    """A centered kernel K = F Fᵀ, solved on the smaller side of F: PCA, direct and dual.

    Where the columns' side is solved, F is centered a few rows at a time whenever it is
    used, so that a second copy of the data is never held.
    """

    factor: Array  # n x d, columns of mean zero once `means` are taken from its rows
    route: Route
    centering: Centering
    means: tuple[Array, ...] = ()  # d each: what is taken from the rows of `factor`, and the small rest of their mean
    held: Array | None = None  # FᵀF, where it is known already
    digits: bool = False  # whether eigenvalues far below the first have digits to keep, as those of data have
    centered: bool = True  # whether the columns have mean zero

    definite, inverse, by_factor, tolerance = True, False, True, 0.0
    remedy = "the route auto or svd keeps them"

    @property
    def by_columns(self) -> bool:
        """Whether FᵀF is solved, rather than FFᵀ."""
        rows, columns = self.factor.shape
        return self.route == "covariance" or (self.route != "dual" and columns <= rows)

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""
        return float(np.trace(self.side)) if self.means else float(np.einsum("ij,ij->", self.factor, self.factor))

    @property
    def frobenius(self) -> float:
        """The root of the sum of squared eigenvalues, from the matrix that is solved."""
        return float(np.linalg.norm(self.side))

    @classmethod
    def of(cls, points: Array, route: Route = "auto", centered: bool = True) -> "Factored":
        """The kernel of points with their mean removed: twice, for data far from the origin; or of points as they are.
        """
        plain = cls(points, route, uncentered(points.shape[1]), digits=True, centered=centered)
        if not centered and (route == "svd" or not plain.by_columns):
            return plain
        if route == "svd" or not plain.by_columns:
            with running("centering"):
                return plain._centered().whole()
        with running("covariance"):
            kernel = plain._centered() if centered else plain
            return replace(kernel, held=kernel.side)

    def with_products(self) -> "Factored":
        """The same kernel, with the matrix that is solved computed now, as a stage of its own."""
        if self.route == "svd" or self.held is not None:
            return self
        with running("kernel"):
            return replace(self, held=self.side)

    def _centered(self) -> "Factored":
        kernel = self._centered_at_once() or self._centered_twice()
        return replace(kernel, centering=Centering(kernel.means[0] + kernel.means[1], across=False))

    @cached_property
    def side(self) -> Array:
        """FᵀF or FFᵀ, the one that is solved; the same eigenvalues but for zeros."""
        if self.held is not None:
            return self.held
        if not self.by_columns:
            return self.factor @ self.factor.T
        shared = self.factor.shape[1] <= WIDE
        products = self._total(lambda rows, block: block.T @ block, self._thick, shared)
        return products - len(self.factor) * np.outer(self._rest, self._rest)

    @property
    def _rest(self) -> Array:
        """The mean that the blocks' rows still have, so small that it is subtracted from products instead of rows."""
        return self.means[1] if len(self.means) > 1 else np.zeros(self.factor.shape[1])

    def _total(self, part: Callable[[slice, Array], Array], size: int, shared: bool = True) -> Array:
        """The sum over parts of so many rows; where not `shared`, each part uses all threads."""

        def subtotal(rows: slice) -> Array:
            return functools.reduce(operator.iadd, (part(*some) for some in self._parts(rows, size)))

        if not shared:
            return subtotal(slice(0, len(self.factor)))
        return functools.reduce(operator.iadd, in_order(subtotal, self._blocks))

    @property
    def _blocks(self) -> list[slice]:
        """The rows in blocks of work, of several parts each."""
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
        """The rows of a block a few at a time, less the first mean; they are overwritten by the next."""
        shift = self.means[0] if self.means else np.zeros(0)
        room = np.empty((min(size, rows.stop - rows.start), self.factor.shape[1])) if shift.any() else None
        for start in range(rows.start, rows.stop, size):
            chosen = slice(start, min(start + size, rows.stop))
            block = self.factor[chosen]
            yield chosen, block if room is None else np.subtract(block, shift, out=room[: chosen.stop - start])

    def apply(self, block: Array) -> Array:
        """K times a block of vectors (n x b)."""
        return self.lifted(self.lowered(block))

    def lifted(self, directions: Array) -> Array:
        """F times a block of vectors (d x b)."""
        result, rest = np.empty((len(self.factor), directions.shape[1])), self._rest @ directions

        def lift(rows: slice) -> None:
            for chosen, block in self._parts(rows, self._thin):
                np.subtract(block @ directions, rest, out=result[chosen])

        each(lift, self._blocks)
        return result

    def lowered(self, vectors: Array) -> Array:
        """Fᵀ times a block of vectors (n x b)."""
        products = self._total(lambda rows, block: block.T @ vectors[rows], self._thin)
        return products - np.outer(self._rest, vectors.sum(axis=0))

    def _centered_at_once(self) -> "Factored | None":
        """One pass for means and FᵀF, from a shift near the means; None where the means left are not negligible."""
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
        return replace(self, means=(near, rest), held=side) if small else None

    def _products(self, rows: slice) -> Array:
        """FᵀF of the rows in a block, and below it their sum (d + 1 x d), each part added where it is made."""
        columns = self.factor.shape[1]
        total, product = np.zeros((columns + 1, columns)), np.empty((columns, columns))
        for _, block in self._parts(rows, self._thick):
            total[:-1] += np.matmul(block.T, block, out=product)
            total[-1] += block.sum(axis=0)
        return total

    def _centered_twice(self) -> "Factored":
        """One pass for the means, and another for what rounding left of them."""
        means = self.column_means()
        moved = replace(self, means=(means,))
        return replace(self, means=(means, moved.column_means()))

    def column_means(self) -> Array:
        """The means of the columns of F."""
        return self._total(lambda rows, block: block.sum(axis=0), self._thin) / len(self.factor) - self._rest

    def whole(self) -> "Factored":
        """The same kernel with its centered factor held whole."""
        factor = np.empty_like(self.factor)
        for rows, block in self._parts(slice(0, len(factor)), self._thin):
            np.subtract(block, self._rest, out=factor[rows])
        return Factored(factor, self.route, self.centering, digits=self.digits)

    @property
    def name(self) -> str:
        """The way it is solved."""
        return f"the {self.route} route"

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """By the smaller side, or by F itself where that loses digits."""
        return solve_factor(self, demand, compute)

    def closeness(self, solved: Solved) -> Closeness:
        """Rotated axes are orthogonal only as far as eigenvalues are equal, so these must be closer than elsewhere."""
        return Closeness.of(solved, near=2, wide=4)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> Array:
        """K v - λ v, times √(λ / λ₁): for FᵀF w = λ w is what was solved, and 1 / √λ the noise of v = F w / √λ.

        Its size is that of F (Fᵀ v - √λ w), which FᵀF gives without another pass.
        """
        if not self.means or directions is None:
            gaps = np.linalg.norm(self.apply(vectors) - vectors * values, axis=0)
        else:
            extended = values > 0  # an axis without extent has a direction, but no vector
            apart = self.lowered(vectors) - np.where(extended, directions, 0.0) * np.sqrt(values)
            gaps = np.sqrt(np.maximum(np.einsum("ij,ij->j", apart, self.side @ apart), 0.0))
        top = float(values.max(initial=0.0))
        return np.asarray(gaps * np.sqrt(values / top) if top > 0 else gaps)

    @property
    def rank(self) -> int | None:
        """The most eigenvalues that data can have: one less than centered rows, and one for a varying column.

        None where the factor is not data: its smallest eigenvalues need no digits.
        """
        if not self.digits:
            return None
        squares = np.diag(self.side) if self.by_columns else np.einsum("ij,ij->j", self.factor, self.factor)
        varying = np.sqrt(squares) > EPS / 4 * np.abs(self.centering.means)  # the least that one number can differ
        return min(len(self.factor) - self.centered, int(np.sum(varying)))

    def triangle(self, order: Indices) -> Array:
        """R of F = Q R with F's columns in this order (d x d), a block of rows at a time.

        Every column of R has the digits of its own column of F, however much larger others are.
        """

        def reduced(above: Array, rows: slice) -> Array:
            for _, block in self._parts(rows, self._thick):
                above = triangle_of(np.vstack([above, (block - self._rest)[:, order]]))
            return above

        nothing = np.zeros((0, len(order)))
        parts = in_order(lambda rows: reduced(nothing, rows), self._blocks)
        return functools.reduce(lambda above, part: triangle_of(np.vstack([above, part])), parts)
