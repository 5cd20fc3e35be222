"""The result of an eigensolver, and the interface of kernels that it solves."""

from collections.abc import Callable
from dataclasses import field
from typing import Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.core.centering import Centering
from mlcli.core.eigen.options import SpectrumRequest

Take = Callable[[int], tuple[Array, Array | None]]


@frozen
class Solved:
    """Eigenvalues (descending), and the first axes on demand: vectors (n x q) and directions (d x q) or None."""

    values: Array
    take: Take
    size: int  # n, or the smaller side of a factor: what rounding grows with
    complete: bool
    floor: float  # eigenvalues up to here are zero in this arithmetic
    tolerance: float = 0.0  # residuals that an iterative solver leaves, relative
    by_roots: bool = False  # whether rounding is relative to the largest root (singular values), not eigenvalue
    own_digits: bool = False  # whether small eigenvalues have correct digits, despite the rounding of the largest
    iterative: bool = False  # whether the solver's tolerance ended it
    residuals: Array = field(default_factory=lambda: np.zeros(0))  # of an iterative solver, relative
    trace: float | None = None  # of the matrix that was solved, where a streamed kernel was stored for it
    at_least: Array = field(default_factory=lambda: np.zeros(0))  # lower bounds of eigenvalues after `values`
    negative: Array = field(default_factory=lambda: np.zeros(0))  # the smallest are no larger than these
    steps: Array = field(default_factory=lambda: np.zeros((0, 3)))  # of power iteration: axis, estimate, residual

    @property
    def least(self) -> float:
        """The smallest eigenvalue that is known, or zero."""
        return min(float(self.values.min(initial=0.0)), float(self.negative.min(initial=0.0)))

    @property
    def positive(self) -> Array:
        """The eigenvalues that are not zero in this arithmetic."""
        return self.values[self.values > self.floor]


@frozen
class Closeness:
    """The tolerance of equal eigenvalues: numbers with one common rounding, and how far apart equal ones may be."""

    sizes: Array  # eigenvalues, or their roots, that are not zero, in their order
    rounding: float  # of each of them
    near: float  # how far apart equal neighbors are
    wide: float  # how far apart the ends of a run of equal ones are

    @classmethod
    def of(cls, solved: Solved, near: float = 100, wide: float = 50) -> "Closeness":
        """Return the tolerance from a solution; `near` and `wide` are in roundings of the largest number."""
        sizes = np.sqrt(solved.positive) if solved.by_roots else solved.positive
        rounding = solved.size * EPS * max(float(sizes[:1].max(initial=0.0)), -solved.least)
        return cls(sizes, rounding, near * rounding, wide * rounding)


class Kernel(Protocol):
    """The interface of kernels to the eigensolver: a centered symmetric linear operator on n points."""

    @property
    def centering(self) -> Centering:
        """The centering of its rows of new points."""

    @property
    def definite(self) -> bool:
        """Whether it has no negative eigenvalues, whatever the data."""

    @property
    def tolerance(self) -> float:
        """Relative error of its entries beyond the rounding of double precision."""

    @property
    def entries(self) -> float:
        """The largest size of its entries before anything was subtracted from them, which they have the rounding of."""

    @property
    def inverse(self) -> bool:
        """Whether it is the inverse of a cost, whose smallest eigenvalues are its largest."""

    @property
    def by_factor(self) -> bool:
        """Whether its axes are rotated as coordinates √λ v = F w, which then stay F w."""

    @property
    def name(self) -> str:
        """Name of the matrix in messages."""

    @property
    def remedy(self) -> str:
        """The option that keeps the digits of small eigenvalues, where there is one."""

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues; NaN where it needs the whole spectrum."""

    @property
    def frobenius(self) -> float:
        """The root of the sum of squared eigenvalues; NaN where it needs the whole spectrum."""

    @property
    def rank(self) -> int | None:
        """The largest number of nonzero eigenvalues, where all that are reported need digits; else None."""

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Return the top of the spectrum, by the solver for its form and size."""

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerance of equal eigenvalues."""

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> Array | None:
        """Return ‖K v - λ v‖ (p) of values (p), vectors (n x p) and directions (d x p); None where the solver did."""


def rounding_floor(values: Array, size: int) -> float:
    """Return the size up to which eigenvalues, an (m,) array, are rounding of the largest."""
    return 10 * size * EPS * float(np.abs(values).max(initial=0.0))
