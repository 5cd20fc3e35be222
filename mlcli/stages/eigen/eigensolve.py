"""The one eigensolve: the top of a centered kernel's spectrum, in canonical form."""

from itertools import pairwise
from typing import Literal

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.options import Options, option
from mlcli.base.signs import canonical_basis, leading_signs
from mlcli.base.stage import note, stage
from mlcli.base.steps import Step
from mlcli.base.types import Array
from mlcli.errors import ConfigError, GeometryError, NumericalError
from mlcli.stages.algebra.costs import WHOLE, eigensolve_step, product_rate
from mlcli.stages.algebra.krylov import SPARE
from mlcli.stages.algebra.linalg import EPS
from mlcli.stages.eigen.axes import Count, Share, clipped
from mlcli.stages.eigen.negative_mass import bounded_mass, mass_of
from mlcli.stages.eigen.solvers import Kernel, Solved, solve
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.kernels.factored import Factored
from mlcli.stages.kernels.forms import Dense, Inverse
from mlcli.stages.kernels.streamed import Streamed

GUESS = 8  # eigenvalues that a share of the variance is first looked for among
SHOWN = 10  # eigenvalues of a scree plot and axes of a residual-variance curve, where so many cost little
ROOM = 2**19  # numbers of the eigenvectors kept for it
DIGITS = 1e-6  # relative error of an eigenvalue beyond which it is worth a warning
NOTABLE = 0.01  # negative eigenvalues this large beside the top one are worth a warning


class Eigensolve(Options):
    """How many axes to keep, and how the eigenvalues are computed."""

    components: Count | Share | Literal["all"] = option(
        2, "Axes to keep: a count, a share of the variance such as 0.95, or all with a positive eigenvalue (all).")
    solver: Literal["auto", "dense", "krylov"] = option(
        "auto", "Eigenvalue solver: the whole spectrum (dense), its top only (krylov), or by size (auto).")
    tolerance: float | None = option(
        None, "Residual of an iterative solver, relative to the top eigenvalue (default: by store and precision).",
        gt=0, lt=1)
    report: int | None = option(None, "Eigenvalues to write to spectrum.csv (default: all that were computed).", ge=1)

    @stage("eigensolve", version=1)
    def __call__(self, kernel: Kernel, limit: int, compute: Compute, notable: float = NOTABLE) -> Spectrum:
        """The spectrum of a centered kernel whose rank is at most `limit`.

        A negative eigenvalue beyond `notable` of the largest is warned of.
        Raises NumericalError where a solver did not converge or left a residual too large,
        and GeometryError where more axes were asked for than there are positive eigenvalues.
        """
        solved = solve(kernel, self, compute)
        trace = _trace(kernel, solved)
        count = self._count(solved, trace, limit)
        self._note_direct(solved)
        _note_negative(solved, notable)
        _note_digits(kernel, solved, count, self.reported(len(solved.values)))
        vectors, directions = _canonical_axes(kernel, solved, count)
        _verify(kernel, solved, vectors, directions)
        frobenius = _frobenius(kernel, solved)
        return Spectrum(solved.values, vectors, directions, trace, solved.complete, solved_frobenius=frobenius,
                        tolerance=_tolerance(kernel, solved), further=self._further(solved, *vectors.shape),
                        solved_mass=_negative_mass(kernel, solved, trace, frobenius),
                        solved_at_least=solved.at_least[: max(SHOWN - len(solved.values), 0)],
                        centering=kernel.centering)

    def settled(self, limit: int, size: int) -> "Eigensolve":
        """With a default count clipped to `limit` axes; raises ConfigError for an explicit one.

        Likewise for a report of more eigenvalues than the `size` that there are, and a tolerance without iteration.
        """
        if self.solver == "dense":
            self.refuse_unused("the dense solver has no iterations", "tolerance", where="method.eigensolve")
        if self.report is not None and self.report > size:
            raise ConfigError("REPORT", f"{self.report} eigenvalues were asked for and there are {size}",
                              where="method.eigensolve.report", hint=f"ask for at most {size}")
        return clipped(self, self.components, limit) if isinstance(self.components, int) else self

    def whole(self, size: int) -> bool:
        """Whether the whole spectrum of a matrix in memory is computed, as far as that is known before."""
        return (self.components == "all" or self.solver == "dense" or (self.solver == "auto" and size <= WHOLE)
                or self.wanted(size) + SPARE > size // 4)

    def step(self, size: int, threads: int, held: float, times: int = 1, remedy: str = "", *,
             square: bool = False) -> Step:
        """What the spectrum of a matrix in memory would cost, beside `held` bytes, itself included."""
        return eigensolve_step(size, threads, whole=self.whole(size), vectors=self.wanted(size) > size // 4,
                               held=held, times=times, remedy=remedy, square=square)

    def wanted(self, size: int) -> int:
        """Eigenvalues that a solver of the top of a spectrum of `size` must find; for a share, a first guess."""
        count = size if self.components == "all" else self.components if isinstance(self.components, int) else GUESS
        return min(max(count, self.report or 0), size)

    def reported(self, computed: int) -> int:
        """How many of the eigenvalues computed are written."""
        return computed if self.report is None else min(max(self.report, self.wanted(computed)), computed)

    def reached(self, total: float, trace: float) -> bool:
        """Whether leading eigenvalues that sum to `total` reach the share asked for: always for a count, never for all.
        """
        return isinstance(self.components, int) or (
            isinstance(self.components, float) and total >= self.components * trace)

    def _count(self, solved: Solved, trace: float, limit: int) -> int:
        """The number of axes to keep, of those that have a positive eigenvalue."""
        available = min(int(np.sum(solved.values > solved.floor)), max(limit, 1))
        if isinstance(self.components, int):
            return self._clip(self.components, available)
        if self.components == "all":
            return self._clip(available or 1, available)
        if np.isnan(trace):
            raise ConfigError("SHARE", "a share of the variance needs the whole spectrum, which is not computed here",
                              where="method.eigensolve.components",
                              hint="give a count of axes, such as 2, or set method.eigensolve.solver to dense")
        if available == 0:
            return self._clip(1, 0)
        cumulative = np.cumsum(solved.values[:available])
        reached = cumulative >= (self.components - 10 * solved.size * EPS) * trace
        return int(reached.argmax()) + 1 if reached.any() else available

    def _note_direct(self, solved: Solved) -> None:
        """Tells what a spectrum that was found without iteration had no use for."""
        if solved.iterative:
            return
        if self.solver == "krylov":
            note("N-SOLVER", "the whole spectrum was found instead of its top: the matrix is too small, or too many "
                 "eigenvalues are wanted")
        if self.tolerance is not None:
            note("N-TOLERANCE", f"the tolerance of {self.tolerance:g} was not needed: eigenvalues were found to "
                 "rounding, without iteration")

    def _further(self, solved: Solved, rows: int, count: int) -> Array:
        """Eigenvectors after the kept ones, as far as they cost little: for the residual-variance curve."""
        most = min(int(np.sum(solved.values > solved.floor)), max(SHOWN, self.report or 0), ROOM // max(rows, 1))
        return np.zeros((0, 0)) if most <= count else solved.take(most)[0][:, count:]

    def _clip(self, count: int, available: int) -> int:
        if count <= available:
            return count
        if available == 0 and (count == 1 or not self.chosen("components")):
            note("W-RANK", "no eigenvalue is positive: the embedding is zero")
            return 1
        if self.chosen("components"):
            raise GeometryError("AXES", f"{count} axes were asked for and {available} eigenvalues are positive",
                                where="method.eigensolve.components", hint=f"ask for at most {max(available, 1)}")
        note("W-RANK", f"kept {available} of {count} axes: no other eigenvalue is positive")
        return available


def side_steps(shape: tuple[int, ...], route: str, eigensolve: Eigensolve, threads: int) -> list[Step]:
    """What the matrix of one side of the data, the columns' or the rows', and its spectrum would cost."""
    rows, columns = shape
    side = {"covariance": columns, "dual": rows}.get(route, min(rows, columns))
    held = 8.0 * (side**2 + (0 if side == columns else rows * columns))  # the rows' side takes centered points
    how = f"{route}: the side of the {'columns' if side == columns else 'rows'} ({side})"
    remedy = "use method.route=auto, which takes the smaller side; or leave rows or columns out"
    return [Step("covariance", how, 2.0 * rows * columns * side / product_rate(threads), held, remedy=remedy),
            eigensolve.step(side, threads, held, remedy=remedy)]


def _trace(kernel: Kernel, solved: Solved) -> float:
    if solved.trace is not None:
        return solved.trace
    if not isinstance(kernel, Inverse):
        return kernel.trace
    if solved.complete:
        return float(solved.values.sum())
    note("N-TRACE", "the trace of M⁺ needs the whole spectrum, which is not computed here: proportions are left empty")
    return float("nan")


def _frobenius(kernel: Kernel, solved: Solved) -> float:
    if solved.complete:
        return float(np.linalg.norm(solved.values))
    return float("nan") if isinstance(kernel, Inverse) else kernel.frobenius


def _negative_mass(kernel: Kernel, solved: Solved, trace: float, frobenius: float) -> tuple[float, float]:
    """At least and at most what the sizes of the negative eigenvalues sum to."""
    if isinstance(kernel, Inverse | Factored):
        return 0.0, 0.0  # RᵀR and F Fᵀ have none
    if solved.complete:
        return mass_of(solved.values), mass_of(solved.values)
    slack = max(solved.size * EPS, solved.tolerance)
    return bounded_mass(solved.values, trace, frobenius, solved.size - len(solved.values), slack)


def _tolerance(kernel: Kernel, solved: Solved) -> float:
    """The relative residual allowed: an iterative solver's, and that of a kernel in less than double precision."""
    return max(solved.tolerance, kernel.tolerance) if isinstance(kernel, Dense | Streamed) else solved.tolerance


def _note_negative(solved: Solved, notable: float) -> None:
    """Warns of a kernel that is not one of inner products: its smallest eigenvalue is no rounding."""
    if not solved.complete or not solved.values[-1] < -max(notable * abs(solved.values[0]), solved.floor):
        return
    negative = solved.values[solved.values < 0]
    share = float(-negative.sum() / np.abs(solved.values).sum())
    note("W-NEGATIVE", f"not Euclidean: negative eigenvalues make up {share:.1%} of all by size; they are kept in "
         "the spectrum and make no axes", share=share)


def _note_digits(kernel: Kernel, solved: Solved, kept: int, reported: int) -> None:
    """Warns of eigenvalues that drown in the rounding of the largest: those kept, and of data all that are reported."""
    if isinstance(kernel, Inverse) or solved.by_roots:
        return
    data = kernel if isinstance(kernel, Factored) and kernel.digits else None
    shown = solved.values[: kept if data is None else min(reported, data.rank)]
    # a residual's share of a small eigenvalue, squared, is that eigenvalue's error
    stopped = 0.0 if data is None else solved.tolerance / np.sqrt(DIGITS)
    least = max(np.sqrt(solved.size) * EPS / DIGITS, stopped)
    faint = int(np.sum(shown < least * solved.values[:1]))
    if not faint:
        return
    route = f"the {kernel.route} route" if isinstance(kernel, Factored) else "the kernel matrix"
    remedy = "" if data is None else "; method.route auto or svd keeps them"
    note("W-DIGITS", f"{route} tells eigenvalues to {least * DIGITS:.0e} of the largest, which leaves {faint} of "
         f"{len(shown)} fewer than six digits{remedy}", accuracy=least * DIGITS, eigenvalues=faint)


def _canonical_axes(kernel: Kernel, solved: Solved, count: int) -> tuple[Array, Array | None]:
    """The kept axes: zero below the floor, tied ones in their canonical basis, all turned by the sign rule.

    Of a factor it is the coordinates √λ v = F w that are turned with the directions, so that they stay F w.
    """
    groups, factored = _tied_groups(kernel, solved, count), isinstance(kernel, Factored)
    vectors, directions = solved.take(max([count, *(last for _, last in groups)]))
    vectors = np.where(solved.values[: vectors.shape[1]] > solved.floor, vectors, 0.0)
    for first, last in groups:
        rotation = canonical_basis(vectors[:, first:last])
        roots = np.sqrt(solved.values[first:last]) if factored else np.ones(last - first)
        vectors[:, first:last] = (vectors[:, first:last] * roots) @ rotation / roots
        if directions is not None:
            directions = np.concatenate([directions[:, :first], directions[:, first:last] @ rotation,
                                         directions[:, last:]], axis=1)
    vectors = vectors[:, :count]
    signs = leading_signs(vectors)
    return vectors * signs, None if directions is None else directions[:, :count] * signs


def _tied_groups(kernel: Kernel, solved: Solved, count: int) -> list[tuple[int, int]]:
    """Runs of equal eigenvalues among the positive ones that reach into the kept axes.

    A run that is joined only link by link is none: its ends differ, and turning their axes would leave residuals.
    """
    sizes, near, wide = _compared(kernel, solved)
    breaks = np.flatnonzero(np.abs(np.diff(sizes)) > near) + 1
    edges = [0, *breaks.tolist(), len(sizes)]
    groups = [(a, b) for a, b in pairwise(edges) if b - a > 1 and a < count and abs(sizes[a] - sizes[b - 1]) <= wide]
    if groups:
        names = ", ".join(f"{a + 1} to {b}" for a, b in groups)
        note("W-TIED", f"eigenvalues {names} are equal: any rotation of these axes is as good",
             sizes=[b - a for a, b in groups])
    return groups


def _compared(kernel: Kernel, solved: Solved) -> tuple[Array, float, float]:
    """What rounding is the same for all of, eigenvalues or roots; how near equal neighbors are, and equal runs wide.

    For M⁺ these are the singular values of R, of size 1, and not the eigenvalues, which a zero of M makes endless.
    Those of a factor must be nearer, as their turned axes are orthogonal only as far as they are equal.
    """
    values, rounding = solved.values[solved.values > solved.floor], solved.size * EPS
    if isinstance(kernel, Inverse):
        return 1 / np.sqrt(values), 100 * rounding, 50 * rounding
    sizes = np.sqrt(values) if solved.by_roots else values
    rounding *= float(sizes[:1].max(initial=0.0))
    return (sizes, 2 * rounding, 4 * rounding) if isinstance(kernel, Factored) else (
        sizes, 100 * rounding, 50 * rounding)


def _verify(kernel: Kernel, solved: Solved, vectors: Array, directions: Array | None) -> None:
    """Raises NumericalError unless K v = λ v holds for every kept axis to 60 n eps (LAPACK's own line).

    Of a factor it is the coordinates √λ v = F w that hold it: FᵀF w = λ w is what was solved, and 1 / √λ its noise.
    """
    if isinstance(kernel, Inverse | Streamed):
        return  # eigenvalues computed from the vectors; residuals known from the passes themselves
    values = np.where(np.any(vectors != 0, axis=0), solved.values[: vectors.shape[1]], 0.0)
    residuals = _residuals(kernel, values, vectors, directions)
    scale = float(np.abs(solved.values).max(initial=0.0))
    if isinstance(kernel, Factored) and scale > 0:
        residuals = residuals * np.sqrt(values / scale)
    worst = float(residuals.max(initial=0.0)) / scale if scale > 0 else 0.0
    if worst > max(60 * max(solved.size, 10) * EPS, solved.tolerance):
        raise NumericalError("RESIDUAL", f"the computed eigenvectors are wrong: relative residual {worst:.1e}",
                             hint="run `mlcli doctor`: this may be a fault of the linear algebra library")


def _residuals(kernel: Dense | Factored, values: Array, vectors: Array, directions: Array | None) -> Array:
    """The sizes of K v - λ v; for v = F w / √λ that is F (Fᵀ v - √λ w), whose size FᵀF tells without another pass."""
    if isinstance(kernel, Dense) or not kernel.means or directions is None:
        return np.asarray(np.linalg.norm(kernel.apply(vectors) - vectors * values, axis=0))
    kept = values > 0  # an axis without extent has a direction, but no vector
    gaps = kernel.lowered(vectors) - np.where(kept, directions, 0.0) * np.sqrt(values)
    return np.sqrt(np.maximum(np.einsum("ij,ij->j", gaps, kernel.side @ gaps), 0.0))
