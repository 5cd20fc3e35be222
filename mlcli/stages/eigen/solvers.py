"""Solvers of a symmetric matrix, in memory or only applied: LAPACK for the whole spectrum, block Krylov for its top."""

from collections.abc import Callable
from typing import Protocol

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.errors import NumericalError
from mlcli.stages.algebra.krylov import SPARE, Ritz, krylov
from mlcli.stages.algebra.linalg import leading_eigen
from mlcli.stages.eigen.landmarks import landmark_start
from mlcli.stages.eigen.solved import Solved, rounding_floor
from mlcli.stages.eigen.spectrum_request import SpectrumRequest

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

    def to_dense(self, compute: Compute) -> "Stored":
        """Return the matrix in memory."""


class Stored(Protocol):
    """A symmetric matrix in memory."""

    @property
    def matrix(self) -> Array:
        """All of its entries (n x n)."""

    @property
    def trace(self) -> float:
        """The sum of its diagonal."""


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
    whole = kernel.to_dense(compute)
    values, leading = leading_eigen(whole.matrix)
    return Solved(values, lambda q: (leading(q), None), size, True, rounding_floor(values, size), trace=whole.trace)


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
    from mlcli.stages.eigen.power import POWER_TOLERANCE, power_iteration

    tolerance = demand.tolerance or POWER_TOLERANCE
    found = power_iteration(matrix, demand, rank, tolerance, compute.generator())
    values = found.values
    return Solved(values, lambda q: (found.vectors[:, :q], None), size, len(values) == size,
                  rounding_floor(values, size), tolerance, iterative=True, steps=found.steps)
