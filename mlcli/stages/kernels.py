"""The forms of a kernel and how each is centered.

A kernel is a symmetric linear operator on n points. Centering it moves the origin of the
feature space to the mean of the points: H K H with H = I - 11ᵀ/n.
"""

import functools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.threads import in_order
from mlcli.base.types import Array
from mlcli.errors import NumericalError

if TYPE_CHECKING:
    from scipy import sparse

BLOCK = 1 << 19  # numbers of a factor centered at once: what fits the cache
BLOCKS = 8  # that a thread works through before its sum is added to the others
SAMPLE = 4096  # rows whose mean is near enough to that of all
TRIFLE = 0.01  # share of a column's squares that a shift may be off by and cost no digits
WIDE = 1000  # columns above which FᵀF is too large for every thread to have its own
Route = Literal["auto", "covariance", "dual", "svd", "power"]


@dataclass(frozen=True)
class Centering:
    """Puts kernel rows of new points where the training rows were put."""

    means: Array  # one for each column of the rows
    across: bool  # whether each row's own mean goes as well, as in H K H

    def __call__(self, rows: Array) -> Array:
        """Centered rows (m x len(means))."""
        moved = rows - self.means
        return moved - moved.mean(axis=1, keepdims=True) if self.across else moved


def uncentered(size: int) -> Centering:
    """The centering that moves nothing."""
    return Centering(np.zeros(size), across=False)


@dataclass(frozen=True)
class Dense:
    """A kernel held whole."""

    matrix: Array  # n x n

    def apply(self, block: Array) -> Array:
        """K times a block of vectors (n x b)."""
        return self.matrix @ block

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""
        return float(np.trace(self.matrix))

    @property
    def frobenius(self) -> float:
        """The root of the sum of squared eigenvalues."""
        return float(np.linalg.norm(self.matrix))

    def centered(self) -> tuple["Dense", Centering]:
        """H K H, made exactly symmetric, and the centering for the rows of new points."""
        means = self.matrix.mean(axis=0)
        matrix = self.matrix - means
        matrix -= matrix.mean(axis=1, keepdims=True)
        matrix += matrix.T.copy()
        matrix *= 0.5
        return Dense(matrix), Centering(means, across=True)


@dataclass(frozen=True)
class Factored:
    """A kernel K = F Fᵀ, solved on the smaller side of F: PCA, direct and dual.

    Where the columns' side is solved, F is centered a block of rows at a time whenever it is
    used, so that a second copy of the data is never held.
    """

    factor: Array  # n x d
    route: Route = "auto"
    means: tuple[Array, ...] = ()  # d each, taken from the rows of `factor` one after the other
    held: Array | None = None  # FᵀF, where it is known already

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
        """The root of the sum of squared eigenvalues."""
        return float(np.linalg.norm(self.side))

    @cached_property
    def side(self) -> Array:
        """FᵀF or FFᵀ, the one that is solved; the same eigenvalues but for zeros."""
        if self.held is not None:
            return self.held
        if not self.by_columns:
            return self.factor @ self.factor.T
        return self._total(lambda rows, block: block.T @ block)

    def _total(self, part: Callable[[slice, Array], Array]) -> Array:
        """The sum of a part for every block of rows."""

        def subtotal(rows: slice) -> Array:
            return functools.reduce(operator.iadd, (part(*piece) for piece in self._blocks(rows)))

        return functools.reduce(operator.iadd, in_order(subtotal, self._pieces()))

    def _pieces(self) -> list[slice]:
        """The rows cut into pieces of several blocks, one for each call of a thread."""
        rows = len(self.factor)
        size = self._block * BLOCKS if self.factor.shape[1] <= WIDE else max(rows, 1)
        return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]

    @property
    def _block(self) -> int:
        """Rows centered at once: never so few that adding up their FᵀF would cost more than making it."""
        columns = max(self.factor.shape[1], 1)
        return max(columns, BLOCK // columns)

    def _blocks(self, rows: slice) -> Iterator[tuple[slice, Array]]:
        """Blocks of the rows of F in a piece; each is overwritten by the next."""
        room = np.empty((min(self._block, rows.stop - rows.start), self.factor.shape[1])) if self.means else None
        for start in range(rows.start, rows.stop, self._block):
            chosen = slice(start, min(start + self._block, rows.stop))
            block = self.factor[chosen]
            if room is not None:
                block = np.subtract(block, self.means[0], out=room[: chosen.stop - start])
            for mean in self.means[1:]:
                block -= mean
            yield chosen, block

    def apply(self, block: Array) -> Array:
        """K times a block of vectors (n x b)."""
        return self.lifted(self.lowered(block))

    def lifted(self, directions: Array) -> Array:
        """F times a block of vectors (d x b)."""
        result = np.empty((len(self.factor), directions.shape[1]))

        def lift(rows: slice) -> None:
            for chosen, block in self._blocks(rows):
                np.matmul(block, directions, out=result[chosen])

        for _ in in_order(lift, self._pieces()):
            pass
        return result

    def lowered(self, vectors: Array) -> Array:
        """Fᵀ times a block of vectors (n x b)."""
        return self._total(lambda rows, block: block.T @ vectors[rows])

    def centered(self) -> tuple["Factored", Centering]:
        """The factor with its column means removed: twice, for data far from the origin."""
        kernel = self._centered_at_once() or self._centered_twice()
        centering = Centering(kernel.means[0] + kernel.means[1], across=False)
        return (kernel if self.by_columns and self.route != "svd" else kernel.whole()), centering

    def _centered_at_once(self) -> "Factored | None":
        """One pass for means and FᵀF, from a shift near the means; None where the rest they leave is no trifle."""
        rows, columns = self.factor.shape
        if not self.by_columns or self.route == "svd" or rows <= SAMPLE or columns > WIDE:
            return None
        near = self.factor[:: rows // SAMPLE].mean(axis=0)
        moved = replace(self, means=(near,))
        sums = moved._total(lambda rows, block: np.vstack([block.T @ block, block.sum(axis=0)]))
        rest = sums[-1] / rows
        side = sums[:-1] - rows * np.outer(rest, rest)
        small = bool(np.all(rows * rest**2 <= TRIFLE * np.diag(side)))
        return replace(self, means=(near, rest), held=side) if small else None

    def _centered_twice(self) -> "Factored":
        """One pass for the means, and another for what rounding left of them."""
        means = self.column_means()
        moved = replace(self, means=(means,))
        return replace(self, means=(means, moved.column_means()))

    def column_means(self) -> Array:
        """The means of the columns of F."""
        return self._total(lambda rows, block: block.sum(axis=0)) / len(self.factor)

    def whole(self) -> "Factored":
        """The same kernel with its centered factor held whole."""
        factor = np.empty_like(self.factor)
        for rows, block in self._blocks(slice(0, len(factor))):
            factor[rows] = block
        return Factored(factor, self.route)


@dataclass(frozen=True)
class Inverse:
    """K = M⁺ for a sparse cost M = RᵀR whose null vector is the constant one (LLE).

    `trace` and `frobenius` are unknown until the whole spectrum is computed.
    """

    root: "sparse.csr_array"  # R, n x n, rows that sum to zero

    trace = frobenius = float("nan")

    @cached_property
    def shift(self) -> float:
        """A tiny positive addition to M that makes it safe to factor."""
        return 1e-10 * float((self.root.multiply(self.root)).sum()) / self.root.shape[0]

    @cached_property
    def factorization(self):  # type: ignore[no-untyped-def]
        """The sparse factorization of M + shift, made once."""
        from scipy import sparse
        from scipy.sparse.linalg import splu

        cost = (self.root.T @ self.root + self.shift * sparse.eye_array(self.root.shape[0])).tocsc()
        try:
            return splu(cost, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError as error:
            raise NumericalError("FACTORIZATION", f"the sparse cost matrix could not be factored ({error})",
                                 where="method.ridge", hint="use a larger ridge or more neighbors") from error

    def apply(self, block: Array) -> Array:
        """(M + shift)⁻¹ times a block of vectors, off the constant vector before and after."""
        solved = self.factorization.solve(block - block.mean(axis=0))
        return solved - solved.mean(axis=0)

    def costs(self, vectors: Array) -> Array:
        """vᵀMv of unit vectors, as a sum of squares: exact where M's smallest eigenvalues drown in rounding."""
        residuals = self.root @ vectors
        return np.einsum("ij,ij->j", residuals, residuals)

    def centered(self) -> tuple["Inverse", Centering]:
        """Itself: the constant vector is already no part of M⁺."""
        return self, uncentered(self.root.shape[0])


Kernel = Dense | Factored | Inverse


def square_memory(compute: Compute, size: int, copies: float, method: str, hint: str) -> None:
    """Refuses, before anything is allocated, a run whose n x n arrays are over the memory limit."""
    limit = compute.memory_bytes()
    largest = int(np.sqrt(limit / 8 / copies))
    compute.require(8.0 * size * size * copies, f"{method} of {size} points",
                    f"at most {largest} points fit; {hint}")
