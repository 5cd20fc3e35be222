"""Solvers of a symmetric matrix, in memory or only applied: LAPACK, block Krylov, and power iteration."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import advance, note
from mlcli.base.types import Array, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.core.eigen.options import SpectrumRequest, landmark_start
from mlcli.core.eigen.solved import Solved, rounding_floor
from mlcli.core.krylov import SPARE, Ritz, krylov
from mlcli.core.linalg import leading_eigen
from mlcli.errors import NumericalError

POWER_TOLERANCE = 1e-10  # residual at which an eigenvector has converged, relative to the largest eigenvalue
LIMIT = 50_000  # steps for one eigenvector; two eigenvalues closer than 1 - 23/LIMIT of each other need more


@frozen
class PowerIteration:
    """Eigenvalues (q, descending), vectors (n x q), and the steps that found them."""

    values: Array
    vectors: Array
    steps: Array  # s x 3: axis from 1, Rayleigh quotient, residual relative to the largest eigenvalue


def power_iteration(matrix: Array, demand: SpectrumRequest, rank: int, tolerance: float,
                    generator: np.random.Generator) -> PowerIteration:
    """Return leading eigenvalues and vectors of a positive semidefinite matrix (n x n), by deflation.

    There are as many as are to be kept or reported. Residuals are below a tenth of `tolerance`, relative to the
    largest eigenvalue. Raises NumericalError where an eigenvector does not converge.
    """
    vectors = np.zeros((len(matrix), 0))
    values: list[float] = []
    steps: list[Array] = []
    trace = float(np.trace(matrix))
    while len(values) < rank and not _enough(values, trace, demand):
        vector, estimates = _next(matrix, vectors, values, tolerance, generator)
        values.append(max(float(estimates[-1, 0]), 0.0))
        steps.append(estimates)
        vectors = np.column_stack([vectors, vector])
        advance(len(values), demand.wanted(rank))
    order = np.argsort(-np.array(values), kind="stable")  # of nearly equal ones, the smaller may come first
    places = np.repeat(np.argsort(order) + 1.0, [len(some) for some in steps])
    estimates, gaps = np.concatenate(steps).T
    top = max(values) or 1.0
    return PowerIteration(np.array(values)[order], vectors[:, order], np.column_stack([places, estimates, gaps / top]))


def _enough(values: list[float], trace: float, demand: SpectrumRequest) -> bool:
    least = max(demand.components if isinstance(demand.components, int) else 1, demand.report or 1)
    return len(values) >= least and demand.reached(sum(values), trace)


def _next(matrix: Array, vectors: Array, values: list[float], tolerance: float,
          generator: np.random.Generator) -> tuple[Array, Array]:
    """Return the next eigenvector (n), and the Rayleigh quotient and residual of each step (s x 2)."""
    estimates: list[tuple[float, float]] = []
    vector = _unit(generator.standard_normal(len(matrix)), vectors)
    for _ in range(LIMIT):
        image = matrix @ vector
        value = float(vector @ image)
        scale = values[0] if values else value
        gap = float(np.linalg.norm(image - value * vector))
        estimates.append((value, gap))
        if gap <= tolerance / 10 * scale:
            return vector, np.array(estimates)
        vector = _unit(image, vectors)
    raise NumericalError("POWER", f"power iteration did not find axis {len(values) + 1} in {LIMIT} steps",
                         where="method.route", hint="two eigenvalues are nearly equal: use another route, such as svd")


def _unit(vector: Array, vectors: Array) -> Array:
    """Return the unit vector along the part of `vector` orthogonal to `vectors`."""
    for _ in range(2):
        vector = vector - vectors @ (vectors.T @ vector)
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector


STORED = 1e-11  # default residual for a kernel in memory
SPARE_LEAST = 3  # columns of a block beyond the axes wanted, where more of them would cost more than they gain
WHOLE_COPIES = 3  # arrays as large as the matrix that its whole spectrum takes
SINGLE = 1e-6  # residual that passes in single precision reach
REST = 0.7  # share of the tolerance that they may leave, so that one pass in double precision is usually enough


class Symmetric(Protocol):
    """A symmetric matrix, in memory or applied by passes."""

    @property
    def size(self) -> int:
        """The number of points."""

    @property
    def passed(self) -> bool:
        """Whether it is too large, or not in memory, so that its whole spectrum is not the first choice."""

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""

    @property
    def width(self) -> int:
        """Columns of a block that add little to the cost of a pass."""

    @property
    def landmarks(self) -> int:
        """Number of single rows that cost little compared with a pass."""

    @property
    def residual(self) -> float:
        """Default tolerance of iterative solvers."""

    @property
    def quick_rows(self) -> RowsOf | None:
        """A function for some rows that is quicker than `rows`, where there is one."""

    @property
    def rows(self) -> RowsOf:
        """A function for some of its rows."""

    @property
    def apply_sampled(self) -> Callable[[Array], Array] | None:
        """An estimate of the product with a block from some columns of the matrix, where these cost little."""

    @property
    def apply_rough(self) -> Callable[[Array], Array] | None:
        """The product with a block in single precision, where it has one."""

    def apply(self, block: Array) -> Array:
        """Return the product with a block of vectors (n x b)."""

    def in_memory(self, compute: Compute) -> tuple[Array, float]:
        """Return all entries (n x n) and their trace; raises RefusedByPlan where memory does not allow it."""


def solve_symmetric(kernel: Symmetric, demand: SpectrumRequest, compute: Compute) -> Solved:
    """Return the whole spectrum of a small matrix in memory; else its top, widened until a share is reached."""
    size = kernel.size
    if demand.solver == "krylov" or (demand.solver == "auto" and kernel.passed):
        tolerance = demand.tolerance or kernel.residual
        count = demand.wanted(size)
        while count + SPARE <= size // 4:
            cheap = min(kernel.width, size // 8)
            width = cheap if count + SPARE_LEAST <= cheap else count + SPARE
            with single_threaded_blas():  # so that passes begin alike for any number of threads
                sampled = kernel.apply_sampled
                start = landmark_start(kernel.quick_rows or kernel.rows, size, width, kernel.landmarks,
                                       compute.generator())
            start = start if sampled is None else sampled(start)
            rough, single = kernel.apply_rough, 0
            if rough is not None:
                begun = krylov(rough, start, count, REST * max(tolerance, SINGLE))
                start, single = begun.block, begun.passes
            try:
                ritz = krylov(kernel.apply, start, count, tolerance, later=None if sampled is None else width)
            except NumericalError as error:
                allow_whole_spectrum(error, compute, size)
                break
            if demand.reached(float(ritz.values.sum()), kernel.trace):
                return _top_only(ritz, size, tolerance, single)
            count *= 2
    whole, trace = kernel.in_memory(compute)
    values, leading = leading_eigen(whole)
    return Solved(values, lambda q: (leading(q), None), size, True, rounding_floor(values, size), trace=trace)


def _top_only(ritz: Ritz, size: int, tolerance: float, single: int) -> Solved:
    note_krylov(ritz, single)
    return Solved(ritz.values, lambda q: (ritz.vectors[:, :q], None), size, False, rounding_floor(ritz.values, size),
                  tolerance, iterative=True, residuals=ritz.residuals, at_least=ritz.at_least,
                  negative=ritz.negative)


def allow_whole_spectrum(error: NumericalError, compute: Compute, size: int) -> None:
    """Note that the whole spectrum of a matrix of this size replaces a search that did not converge.

    Raises `error` again where it has another cause, or where memory does not hold such a matrix.
    """
    if error.code != "E-KRYLOV" or WHOLE_COPIES * 8.0 * size**2 > compute.memory_bytes():
        raise error
    note("N-WHOLE-SPECTRUM", f"{error.what}: the whole spectrum is computed instead")


def note_krylov(ritz: Ritz, single: int = 0) -> None:
    """Note the passes of block Krylov and its residuals."""
    passes = ritz.passes + single
    note("F-KRYLOV", f"block Krylov: {passes} passes" + (f", {single} of them in single precision" if single else ""),
         passes=passes, single_precision=single, residuals=[float(f"{r:.3g}") for r in ritz.residuals])


def solve_by_power(matrix: Array, rank: int, demand: SpectrumRequest, compute: Compute) -> Solved:
    """Return leading eigenpairs of a positive semidefinite matrix (n x n) by power iteration with deflation."""
    size = len(matrix)
    tolerance = demand.tolerance or POWER_TOLERANCE
    found = power_iteration(matrix, demand, rank, tolerance, compute.generator())
    values = found.values
    return Solved(values, lambda q: (found.vectors[:, :q], None), size, len(values) == size,
                  rounding_floor(values, size), tolerance, iterative=True, steps=found.steps)
