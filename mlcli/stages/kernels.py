"""The forms of a kernel and how each is centered.

A kernel is a symmetric linear operator on n points. Centering it moves the origin of the
feature space to the mean of the points: H K H with H = I - 11ᵀ/n.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from mlcli.base.compute import Compute
from mlcli.base.types import Array
from mlcli.errors import NumericalError

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
    """A kernel K = F Fᵀ, solved on the smaller side of F: PCA, direct and dual."""

    factor: Array  # n x d
    route: Route = "auto"

    def apply(self, block: Array) -> Array:
        """K times a block of vectors (n x b)."""
        return self.factor @ (self.factor.T @ block)

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""
        return float(np.einsum("ij,ij->", self.factor, self.factor))

    @property
    def frobenius(self) -> float:
        """The root of the sum of squared eigenvalues."""
        return float(np.linalg.norm(self.gram()))

    def gram(self) -> Array:
        """FᵀF or FFᵀ, whichever is smaller; the same eigenvalues but for zeros."""
        rows, columns = self.factor.shape
        return self.factor.T @ self.factor if columns <= rows else self.factor @ self.factor.T

    def centered(self) -> tuple["Factored", Centering]:
        """The factor with its column means removed: twice, for data far from the origin."""
        means = self.factor.mean(axis=0)
        moved = self.factor - means
        rest = moved.mean(axis=0)
        return Factored(moved - rest, self.route), Centering(means + rest, across=False)


@dataclass(frozen=True)
class Inverse:
    """K = M⁺ for a sparse cost M = RᵀR whose null vector is the constant one (LLE).

    `trace` and `frobenius` are unknown until the whole spectrum is computed.
    """

    root: sparse.csr_array  # R, n x n, rows that sum to zero

    trace = frobenius = float("nan")

    @cached_property
    def shift(self) -> float:
        """A tiny positive addition to M that makes it safe to factor."""
        return 1e-10 * float((self.root.multiply(self.root)).sum()) / self.root.shape[0]

    @cached_property
    def factorization(self):  # type: ignore[no-untyped-def]
        """The sparse factorization of M + shift, made once."""
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
