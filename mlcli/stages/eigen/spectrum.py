"""The spectrum of a kernel: signed eigenvalues, the kept axes, and the totals that shares refer to."""

from dataclasses import field

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import map_blocks, nonzero_columns
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.scaling import Unit
from mlcli.stages.algebra.centering import Centering, uncentered
from mlcli.stages.eigen.negative_mass import mass_of, share_of_sizes


@result("spectrum")
@frozen
class Spectrum:
    """Eigenvalues of a centered kernel and the unit eigenvectors of the kept axes.

    Stored in the unit of the solved kernel, so that shares are right even if the eigenvalues themselves exceed the
    range of doubles.
    """

    solved: Array  # m, descending, with their signs
    vectors: Array  # n x p, unit columns; a column of zeros is an axis without extent
    directions: Array | None  # d x p, where the kernel is F Fᵀ: unit eigenvectors of FᵀF
    solved_trace: float  # sum of all eigenvalues, computed or not; NaN where unknown
    complete: bool  # whether `solved` is the whole spectrum
    divisor: float = 1.0  # the eigenvalues written are the kernel's over it (PCA's n or n - 1)
    unit: Unit = Unit()  # of the kernel as it was solved
    solved_frobenius: float = float("nan")  # root of the sum of all squared eigenvalues; NaN where unknown
    tolerance: float = 0.0  # residual that the solver and the kernel's precision were allowed, over the top eigenvalue
    further: Array = field(default_factory=lambda: np.zeros((0, 0)))  # n x r: unit eigenvectors after the kept ones
    solved_mass: tuple[float, float] = (0.0, float("nan"))  # of the negative ones: at least, at most; NaN where unknown
    solved_at_least: Array = field(default_factory=lambda: np.zeros(0))  # lower bounds of eigenvalues after `solved`
    of_inverse: bool = False  # whether the kernel is the inverse of a cost, whose eigenvalues are one over these
    centering: Centering = field(default_factory=lambda: uncentered(0))  # of the kernel, found by its passes
    constrained: AnyArray | None = None  # m, whether an eigenvalue is of constrained axes; None where none is
    steps: Array = field(default_factory=lambda: np.zeros((0, 3)))  # of power iteration: axis, eigenvalue, residual
    adjusted: Array = field(default_factory=lambda: np.zeros(0))  # of the first axes: inertias as they are compared
    adjusted_total: float = float("nan")  # the inertia that these are shares of

    @classmethod
    def of_values(cls, values: Array, total: float = float("nan"), *, complete: bool = False, divisor: float = 1.0,
                  constrained: AnyArray | None = None) -> "Spectrum":
        """Return a spectrum of values (m) that rank axes without being a kernel's eigenvalues, as shares of `total`.

        `values` is an (m,) array; so is `constrained`, the marks of constrained axes.
        """
        size = float(np.linalg.norm(values)) if complete else float("nan")
        return cls(values, np.zeros((0, len(values))), None, total, complete, divisor, solved_frobenius=size,
                   constrained=constrained)

    @property
    def values(self) -> Array:
        """The kernel's eigenvalues (m)."""
        return self.unit.plain(self.solved) + 0.0  # no -0

    @property
    def trace(self) -> float:
        """The sum of all eigenvalues of the kernel; NaN where unknown."""
        return self.unit.number(self.solved_trace)

    @property
    def frobenius(self) -> float:
        """The root of the sum of all squared eigenvalues of the kernel; NaN where unknown."""
        return self.unit.number(self.solved_frobenius)

    @property
    def eigenvalues(self) -> Array:
        """The eigenvalues as they are written, over the divisor (m)."""
        return self.values / self.divisor

    @property
    def costs(self) -> Array | None:
        """The eigenvalues of the cost M, of a kernel M⁺ (m): one over these, infinite for the null vector's zero."""
        with np.errstate(divide="ignore"):
            return 1 / self.eigenvalues if self.of_inverse else None

    @property
    def further_at_least(self) -> Array:
        """Lower bounds of the eigenvalues that follow the computed ones, over the divisor."""
        return self.unit.plain(self.solved_at_least) / self.divisor

    @property
    def axis_eigenvalues(self) -> Array:
        """The eigenvalues of the kept axes as solved (p), zero for an axis without extent."""
        return np.where(nonzero_columns(self.vectors), self.solved[: self.vectors.shape[1]], 0.0)

    @property
    def proportions(self) -> Array:
        """Each eigenvalue over the trace (m); NaN where the trace is unknown or zero."""
        if not 0 < self.solved_trace < np.inf:
            return np.full(len(self.solved), np.nan)
        return self.solved / self.solved_trace

    @property
    def negative_mass(self) -> tuple[float, float]:
        """Lower and upper bound of the sum of sizes of the kernel's negative eigenvalues; NaN where unknown."""
        least, most = self.unit.plain(np.asarray(self.solved_mass)).tolist()
        return least, most

    @property
    def negative_shares(self) -> tuple[float, float]:
        """The sizes of the negative eigenvalues over all sizes, at least and at most; NaN where unknown."""
        least, most = sorted(share_of_sizes(mass, self.solved_trace) for mass in self.solved_mass)
        return least, most

    @property
    def negative_share(self) -> float:
        """The sizes of the negative eigenvalues over all sizes; NaN unless the spectrum is whole."""
        return share_of_sizes(mass_of(self.solved), float(self.solved.sum())) if self.complete else float("nan")

    def feature_directions(self) -> Array:
        """Unit directions in feature space (d x p); only where the kernel is F Fᵀ."""
        if self.directions is None:
            raise TypeError("this kernel has no feature directions")
        return self.directions

    def coordinates(self) -> Array:
        """Return the points on the kept axes, V √λ (n x p), in the units of `solved`."""
        roots = np.sqrt(self.axis_eigenvalues)
        return map_blocks(lambda some: some * roots, self.vectors)

    def inverse_roots(self) -> Array:
        """Return V / √λ (n x p), which maps centered kernel rows of new points to coordinates."""
        roots = np.sqrt(self.axis_eigenvalues)
        return np.divide(self.vectors, roots, out=np.zeros_like(self.vectors), where=roots > 0)
