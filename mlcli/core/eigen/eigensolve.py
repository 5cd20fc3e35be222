"""The eigensolve of all methods: the top of a centered kernel's spectrum, in canonical form."""

from itertools import pairwise
from typing import ClassVar

import numpy as np

from mlcli.base.rows.scratch import map_blocks, nonzero_columns, parts
from mlcli.base.stages.stage import computed, note, stage
from mlcli.base.types import Array
from mlcli.base.units import percent
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.signs import canonical_basis, leading_signs
from mlcli.core.eigen.options import Axes, SpectrumRequest
from mlcli.core.eigen.solved import Kernel, Solved
from mlcli.core.eigen.spectrum import Spectrum, bounded_mass, mass_of
from mlcli.errors import ConfigError, GeometryError, NumericalError

SHOWN = 10  # eigenvalues of a scree plot and axes of a residual-variance curve, where so many cost little
ROOM = 2**19  # numbers of the eigenvectors kept for it
DIGITS = 1e-6  # relative error of an eigenvalue beyond which it is worth a warning
ROUNDINGS = 10  # of the largest number and of each row, that an operator has
NOTABLE = 0.01  # negative eigenvalues this large relative to the top one are worth a warning
UNCERTAIN = 0.1  # sine of an angle beyond which an axis has no certain digit


class Eigensolve(SpectrumRequest):
    """The number of axes to keep, and how the eigenvalues are computed."""

    @stage("eigensolve", version=5)
    def __call__(self, kernel: Kernel, limit: int, compute: Compute, notable: float = NOTABLE) -> Spectrum:
        """Return the spectrum of a centered kernel whose rank is at most `limit`.

        Warns of a negative eigenvalue whose size is over `notable` of the largest.
        Raises NumericalError where a solver did not converge or left a residual too large,
        and GeometryError where more axes were chosen than there are positive eigenvalues.
        """
        computed("kernel", kernel)
        solved = kernel.solve(self, compute)
        computed("solved", solved)
        trace = _trace(kernel, solved)
        count = self._count(solved, trace, limit)
        self._note_direct(solved)
        _note_negative(solved, notable)
        _note_digits(kernel, solved, count, self.reported(len(solved.values)))
        vectors, directions = _canonical_axes(kernel, solved, count)
        _verify(kernel, solved, vectors, directions)
        turns = axis_turns(kernel, solved, vectors.shape[1])
        shared = shared_subspaces(kernel, solved, count)
        _note_shared(shared, count)
        frobenius = float(np.linalg.norm(solved.values)) if solved.complete else kernel.frobenius
        return Spectrum(solved.values, vectors, directions, trace, solved.complete, solved_frobenius=frobenius,
                        tolerance=max(solved.tolerance, kernel.tolerance),
                        further=self._further(solved, *vectors.shape),
                        solved_mass=_negative_mass(kernel, solved, trace, frobenius),
                        solved_at_least=solved.at_least[: max(SHOWN - len(solved.values), 0)],
                        of_inverse=kernel.inverse, centering=kernel.centering, steps=solved.steps, turns=turns,
                        shared=np.array(shared, dtype=np.int64).reshape(-1, 2))

    def _count(self, solved: Solved, trace: float, limit: int) -> int:
        """Return the number of axes to keep, of those with a positive eigenvalue."""
        available = min(int(np.sum(solved.values > solved.floor)), max(limit, 1))
        if isinstance(self.components, int):
            return self._clip(self.components, available)
        if self.components == "all":
            return self._clip(available or 1, available)
        assert not isinstance(self.components, str)  # auto has been resolved
        if np.isnan(trace):
            raise ConfigError("SHARE", "a share of the variance needs all eigenvalues, which are not computed here",
                              where=f"{self.where}.components",
                              hint="give a count of axes, such as 2, or set method.eigensolve.solver to dense")
        if available == 0:
            return self._clip(1, 0)
        cumulative = np.cumsum(solved.values[:available])
        reached = cumulative >= (self.components - 10 * solved.size * EPS) * trace
        return int(reached.argmax()) + 1 if reached.any() else available

    def _note_direct(self, solved: Solved) -> None:
        """Note the options that a solver without iteration did not use."""
        if solved.iterative:
            return
        if self.solver in ("krylov", "filter"):
            note("N-SOLVER", "all eigenvalues were computed instead of the largest: the matrix is too small, or too "
                 "many are requested")
        if self.tolerance is not None:
            note("N-TOLERANCE", f"the tolerance of {self.tolerance:g} was not needed: a direct solver computed the "
                 "eigenvalues to rounding error")

    def _further(self, solved: Solved, rows: int, count: int) -> Array:
        """Return eigenvectors after the kept ones (n x r) for the residual-variance curve, if they cost little."""
        most = min(int(np.sum(solved.values > solved.floor)), max(SHOWN, self.report or 0), ROOM // max(rows, 1))
        return np.zeros((0, 0)) if most <= count else solved.take(most)[0][:, count:]

    def _clip(self, count: int, available: int) -> int:
        if count <= available:
            return count
        if available == 0 and (count == 1 or not self.chosen("components")):
            note("W-RANK", "no eigenvalue is positive: the embedding is zero")
            return 1
        if self.chosen("components") and available == 0:
            raise GeometryError("AXES", f"{count} axes were requested, but no eigenvalue is positive: all points "
                                "coincide", where=f"{self.where}.components",
                                hint="choose other columns, or a metric or kernel under which they differ")
        if self.chosen("components"):
            raise GeometryError("AXES", f"{count} axes were requested, but {available} eigenvalues are positive",
                                where=f"{self.where}.components", hint=f"ask for at most {available}")
        note("W-RANK", f"kept {available} of {count} axes: no other eigenvalue is positive")
        return available


class ForAxes(Eigensolve):
    """The eigensolve of a closed form, for methods with a section `axes`, which its errors name."""

    where: ClassVar[str] = Axes.where

    @classmethod
    def of(cls, axes: Axes) -> "ForAxes":
        """Return the eigensolve with the number of axes, chosen or by default."""
        return cls.model_construct(set(axes.model_fields_set), components=axes.components)


def _trace(kernel: Kernel, solved: Solved) -> float:
    trace = kernel.trace if solved.trace is None else solved.trace
    if np.isnan(trace) and solved.complete:
        return float(solved.values.sum())
    if np.isnan(trace):
        note("N-TRACE", f"proportions are left empty: they need all eigenvalues of {kernel.name}, and only the largest "
             "are computed")
    return trace


def _negative_mass(kernel: Kernel, solved: Solved, trace: float, frobenius: float) -> tuple[float, float]:
    """Return a lower and an upper bound of the negative eigenvalues' sum of sizes."""
    if kernel.definite:
        return 0.0, 0.0
    if solved.complete:
        return mass_of(solved.values), mass_of(solved.values)
    slack = max(solved.size * EPS, solved.tolerance)
    least, most = bounded_mass(solved.values, trace, frobenius, solved.size - len(solved.values), slack)
    return max(least, mass_of(solved.negative) * (1 - slack)), most


def _note_negative(solved: Solved, notable: float) -> None:
    """Warn of a kernel that does not hold inner products: its smallest eigenvalue is negative beyond rounding."""
    negative = solved.values[solved.values < 0] if solved.complete else solved.negative
    if not negative.min(initial=0.0) < -max(notable * abs(solved.values[0]), solved.floor):
        return
    if solved.complete:
        share = float(-negative.sum() / np.abs(solved.values).sum())
        note("W-NEGATIVE", f"not Euclidean: {percent(share)} of the sum of absolute eigenvalues is negative; negative "
             "eigenvalues stay in the spectrum but give no axes", share=share)
        return
    size = float(-negative.min() / solved.values[0])
    note("W-NEGATIVE", "not Euclidean: the smallest eigenvalue is negative, with an absolute value of at least "
         f"{percent(size)} of the largest; it is not in the computed spectrum, and negative eigenvalues give no axes",
         smallest=-size)


def _note_digits(kernel: Kernel, solved: Solved, kept: int, reported: int) -> None:
    """Warn of eigenvalues that rounding of the largest leaves few digits: kept ones, or all reported where ranked."""
    if solved.own_digits:
        return
    rank = kernel.rank
    shown = solved.values[: kept if rank is None else min(reported, rank)]
    # a residual's share of a small eigenvalue, squared, is that eigenvalue's error
    stopped = 0.0 if rank is None else solved.tolerance / np.sqrt(DIGITS)
    least = max(np.sqrt(solved.size) * EPS / DIGITS, stopped)
    faint = int(np.sum(shown < least * solved.values[:1]))
    if not faint:
        return
    remedy = "" if rank is None else f"; {kernel.remedy}"
    note("W-DIGITS", f"{kernel.name} gives eigenvalues to {least * DIGITS:.0e} of the largest: {faint} of {len(shown)} "
         f"have fewer than six correct digits{remedy}", accuracy=least * DIGITS, eigenvalues=faint)


def _canonical_axes(kernel: Kernel, solved: Solved, count: int) -> tuple[Array, Array | None]:
    """Return the kept axes: zero below the floor, tied ones in their canonical basis, signs by the sign rule."""
    groups = _tied_groups(kernel, solved, count)
    vectors, directions = solved.take(max([count, *(last for _, last in groups)]))
    positive = solved.values[: vectors.shape[1]] > solved.floor
    vectors = map_blocks(lambda some: np.where(positive, some, 0.0), vectors)
    for first, last in groups:
        rotation = canonical_basis(vectors[:, first:last])
        roots = np.sqrt(solved.values[first:last]) if kernel.by_factor else np.ones(last - first)
        for some in parts(vectors):
            some[:, first:last] = (some[:, first:last] * roots) @ rotation / roots
        if directions is not None:
            directions = np.concatenate([directions[:, :first], directions[:, first:last] @ rotation,
                                         directions[:, last:]], axis=1)
    vectors = vectors[:, :count]
    signs = leading_signs(vectors)
    return map_blocks(lambda some: some * signs, vectors), None if directions is None else directions[:, :count] * signs


def _tied_groups(kernel: Kernel, solved: Solved, count: int) -> list[tuple[int, int]]:
    """Return the runs (start, stop) of equal positive eigenvalues that reach into the kept axes.

    A run whose neighbors are equal but whose ends differ does not count: rotating its axes would leave residuals.
    """
    close = kernel.closeness(solved)
    sizes = close.sizes
    breaks = np.flatnonzero(np.abs(np.diff(sizes)) > close.near) + 1
    edges = [0, *breaks.tolist(), len(sizes)]
    return [(a, b) for a, b in pairwise(edges)
            if b - a > 1 and a < count and abs(sizes[a] - sizes[b - 1]) <= close.wide]


def axis_turns(kernel: Kernel, solved: Solved, count: int) -> Array:
    """Return bounds of the sines of the angles between kept axes and those without rounding (p).

    They are (residual + rounding of the operator) / gap, in the operator that is solved: the kernel, or the factor
    whose singular values are the roots of its eigenvalues or costs. A kernel has the rounding of its entries before
    they were centered. The gap is that to the nearest other eigenvalue; of the last computed one it is estimated by
    half of that to the lower bound of the next, and without one the bound is NaN. Of equal eigenvalues it is one.
    Source: Davis and Kahan, "The rotation of eigenvectors by a perturbation", 1970; Wedin, "Perturbation bounds for
    the SVD", 1972.
    """
    close, values, following, share = kernel.closeness(solved), solved.positive, np.full(1, np.nan), 1.0
    if solved.complete:  # but for the null vector of a cost, which has no part in its inverse
        following = np.zeros(1)
    elif len(solved.at_least):
        following, share = np.maximum(solved.at_least[:1], 0.0), 0.5
    apart = _gaps(values, following, share)
    with np.errstate(divide="ignore"):
        separate = _gaps(close.sizes, _scaled(kernel, solved, following), share)
    turns = _turns(kernel, solved, separate, apart, _left(solved))
    found = np.full(count, np.nan)  # an axis without extent has no angle
    found[: len(values)] = np.minimum(turns, 1.0)[:count]
    return found


def shared_subspaces(kernel: Kernel, solved: Solved, count: int) -> list[tuple[int, int]]:
    """Return the runs (start, stop) of axes that share an eigenvalue within its error, of those with kept axes.

    The gap between neighbors of a run alone leaves no certain digit (`axis_turns`), so that only the space that all of
    them span is determined. Eigenvalues after the computed ones count by their lower bounds: a run may end beyond.
    """
    values, left = solved.positive, _left(solved)
    known = len(values)
    if known == len(solved.values) and not solved.complete:
        values = np.append(values, solved.at_least[solved.at_least > solved.floor])
        left = np.append(left, np.full(len(values) - known, left[-1:].max(initial=0.0)))
    share = np.where(np.arange(1, len(values)) < known, 1.0, 0.5)
    apart, separate = (np.abs(np.diff(sizes)) * share for sizes in (values, _scaled(kernel, solved, values)))
    turns = _turns(kernel, solved, separate, apart, np.maximum(left[1:], left[:-1]))
    edges = [0, *(np.flatnonzero(turns <= UNCERTAIN) + 1).tolist(), len(values)]
    return [(a, b) for a, b in pairwise(edges) if b - a > 1 and a < count]


def _note_shared(shared: list[tuple[int, int]], count: int) -> None:
    """Warn of axes that share an eigenvalue, and of those whose partners are not kept."""
    if not shared:
        return
    names = ", ".join(f"{a + 1} {'and' if b - a == 2 else 'to'} {b}" for a, b in shared)
    first, last = shared[-1]
    cut = "" if last <= count else f"; axes {first + 1} to {last} are cut: keep {f'{first} or ' if first else ''}{last}"
    note("W-UNDETERMINED", f"eigenvalues {names} are equal within their error: of the axes that share one, only the "
         f"plane or space that they span is determined{cut}", sizes=[b - a for a, b in shared], cut=last > count)


def _left(solved: Solved) -> Array:
    """Return the residuals of the axes with a positive eigenvalue (m), relative to the largest."""
    count = len(solved.positive)
    return solved.residuals[:count] if len(solved.residuals) else np.full(count, solved.tolerance)


def _scaled(kernel: Kernel, solved: Solved, values: Array) -> Array:
    """Return eigenvalues, an (m,) array, as numbers of the operator that is solved."""
    return 1 / np.sqrt(values) if kernel.inverse else np.sqrt(values) if solved.by_roots else values


def _turns(kernel: Kernel, solved: Solved, separate: Array, apart: Array, left: Array) -> Array:
    """Return bounds of sines from gaps in the operator that is solved, gaps of eigenvalues, and residuals.

    All are (m,) arrays. It is infinite without a gap.
    """
    close = kernel.closeness(solved)
    rounding = max(close.rounding, 0.0 if solved.by_roots else solved.size * EPS * kernel.entries)
    top = max(float(solved.positive[:1].max(initial=0.0)), -solved.least, kernel.entries)
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = ROUNDINGS * rounding / separate + (left + kernel.tolerance) * top / apart
    return np.where((apart == 0) | (separate == 0), np.inf, turns)


def _gaps(sizes: Array, following: Array, share: float) -> Array:
    """Return the distance of each size (m), in order, to the nearest other one; to the following one, a share of it."""
    steps = np.abs(np.diff(np.append(sizes, following)))
    steps[-1:] *= share
    return np.minimum(np.append(np.inf, steps[:-1]), steps)[: len(sizes)]


def _verify(kernel: Kernel, solved: Solved, vectors: Array, directions: Array | None) -> None:
    """Raise NumericalError unless K v = λ v holds for every kept axis to 60 n eps (LAPACK's own line)."""
    values = np.where(nonzero_columns(vectors), solved.values[: vectors.shape[1]], 0.0)
    residuals = kernel.residuals(values, vectors, directions)
    if residuals is None:
        return
    scale = float(np.abs(solved.values).max(initial=0.0))
    worst = float(residuals.max(initial=0.0)) / scale if scale > 0 else 0.0
    if worst > max(60 * max(solved.size, 10) * EPS, solved.tolerance):
        raise NumericalError("RESIDUAL", f"the computed eigenvectors are wrong: relative residual {worst:.1e}",
                             hint="run `mlcli doctor`: this may be a fault of the linear algebra library")
