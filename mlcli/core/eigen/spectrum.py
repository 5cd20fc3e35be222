"""The spectrum of a kernel: signed eigenvalues, kept axes, totals of shares, and bounds on its negative part."""

import math
from dataclasses import field, replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import map_blocks, nonzero_columns
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.scaling import Unit
from mlcli.core.centering import Centering, uncentered


def mass_of(values: Array) -> float:
    """Return the sum of the sizes of negative eigenvalues among `values` (m values), without those within rounding.

    `values` is an (m,) array.
    """
    rounding = 10 * len(values) * EPS * float(np.abs(values).max(initial=0.0))
    return float(np.abs(values[values < -rounding]).sum())


def bounded_mass(computed: Array, trace: float, frobenius: float, unknown: int, slack: float) -> tuple[float, float]:
    """Return a lower and an upper bound of the negative eigenvalues' sum of sizes, from the largest, an (m,) array.

    `unknown` further eigenvalues x are at most the last computed one; their sum s and sum of squares q are the trace
    and the squared norm less those of the computed ones, each to a relative `slack`. NaN where there is no bound.
    """
    if not (len(computed) and math.isfinite(trace) and math.isfinite(frobenius)):
        return mass_of(computed), float("nan")
    room, squared = slack * (abs(trace) + float(np.abs(computed).sum())), frobenius**2
    rest, squares = trace - float(computed.sum()), squared - float(computed @ computed)
    cap = max(float(computed[-1]), 0.0)
    mass = mass_of(computed)
    least = _least(rest + room, max(squares - slack * squared, 0.0), cap)
    most = _most(rest - room, max(squares, 0.0) + slack * squared, unknown, cap) if unknown else 0.0
    return mass + least, mass + max(most, least)


def _least(rest: float, squares: float, cap: float) -> float:
    """Return the least mass N: with positives P = s + N, q <= cap P + N², and N >= -s."""
    missing = cap**2 - 4 * (cap * rest - squares)
    return max(0.0, -rest, (math.sqrt(max(missing, 0.0)) - cap) / 2)


def _most(rest: float, squares: float, unknown: int, cap: float) -> float:
    """Return the largest mass N: N + P <= √(m q) by Cauchy and Schwarz; tighter where positives would pass the cap.

    Then P / cap positives are at the cap c and negatives all alike: N (q / c + m c - 2 s) = (m - s / c)(q - s c).
    """
    if cap == 0:
        return max(-rest, 0.0)
    if squares <= unknown * cap**2:
        return max((math.sqrt(unknown * squares) - rest) / 2, 0.0)
    return max((unknown - rest / cap) * (squares - rest * cap) / (squares / cap + unknown * cap - 2 * rest), 0.0)


def share_of_sizes(mass: float, trace: float) -> float:
    """Return a negative mass N over the sum of all sizes, trace + 2 N; NaN where that is zero or unknown."""
    if mass == 0 and trace != 0:
        return 0.0
    sizes = trace + 2 * mass
    return mass / sizes if sizes > 0 else float("nan")


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
    turns: Array = field(default_factory=lambda: np.zeros(0))  # bounds of the sines by which rounding turns axes (p)
    shared: Indices = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))  # start and stop of axes that
    # share an eigenvalue within its error (g x 2), of those with kept axes: only the space that they span is determined
    errors: Array = field(default_factory=lambda: np.zeros(0))  # of axes by landmarks (p): bounds of angles in degrees
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
    def certain_digits(self) -> Array:
        """How many digits of each kept axis are certain (p), from 0 to 15; NaN where no bound is known."""
        with np.errstate(divide="ignore"):
            return np.minimum(np.floor(-np.log10(self.turns)), 15.0) + 0.0

    def without_turns(self) -> "Spectrum":
        """Return the spectrum without bounds of its axes, where more than rounding and residuals turns them."""
        return replace(self, turns=np.zeros(0))

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
