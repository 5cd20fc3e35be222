"""Solvers of a symmetric matrix, in memory or only applied: LAPACK for the whole spectrum, block Krylov for its top."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.errors import NumericalError
from mlcli.stages.algebra.krylov import SPARE, Ritz, krylov
from mlcli.stages.algebra.linalg import leading_eigen
from mlcli.stages.eigen.demand import Demand
from mlcli.stages.eigen.landmarks import landmark_start
from mlcli.stages.eigen.power import POWER_TOLERANCE, power_iteration
from mlcli.stages.eigen.solved import Solved, floor_of

STORED = 1e-11  # residual asked of a kernel in memory
SPARE_LEAST = 3  # columns of a block beyond the axes wanted, where more of them would cost more than they gain
WHOLE_COPIES = 3  # arrays as large as the matrix that its whole spectrum takes
SINGLE = 1e-6  # residual down to which passes in single precision lead


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
        """Columns of a block that cost little beside the passes themselves."""

    @property
    def landmarks(self) -> int:
        """Single rows that cost little beside a pass."""

    @property
    def residual(self) -> float:
        """What iterative solvers are asked for by default."""

    @property
    def quick_rows(self) -> RowsOf | None:
        """A quicker way to some rows, where there is one."""

    @property
    def rows(self) -> RowsOf:
        """Some rows of it."""

    @property
    def apply_rough(self) -> Callable[[Array], Array] | None:
        """Itself times a block in single precision, where that is offered."""

    def apply(self, block: Array) -> Array:
        """Itself times a block of vectors (n x b)."""

    def to_dense(self, compute: Compute) -> "Stored":
        """The same held whole."""


class Stored(Protocol):
    """A symmetric matrix in memory."""

    @property
    def matrix(self) -> Array:
        """All of its entries (n x n)."""

    @property
    def trace(self) -> float:
        """The sum of its diagonal."""


def solve_symmetric(kernel: Symmetric, demand: Demand, compute: Compute) -> Solved:
    """The whole spectrum where the matrix is in memory and small; else its top, widened until a share is reached."""
    size = kernel.size
    if demand.solver == "krylov" or (demand.solver == "auto" and kernel.passed):
        tolerance = demand.tolerance or kernel.residual
        count = demand.wanted(size)
        while count + SPARE <= size // 4:
            cheap = min(kernel.width, size // 8)
            width = cheap if count + SPARE_LEAST <= cheap else count + SPARE
            with single_threaded_blas():  # so that passes begin alike for any number of threads
                start = landmark_start(kernel.quick_rows or kernel.rows, size, width, kernel.landmarks,
                                       compute.generator())
            rough, single = kernel.apply_rough, 0
            if rough is not None:
                begun = krylov(rough, start, count, max(tolerance, SINGLE) / 2)
                start, single = begun.block, begun.passes
            try:
                ritz = krylov(kernel.apply, start, count, tolerance)
            except NumericalError as error:
                hand_over(error, compute, size)
                break
            if demand.reached(float(ritz.values.sum()), kernel.trace):
                return _top_only(ritz, size, tolerance, single)
            count *= 2
    whole = kernel.to_dense(compute)
    values, leading = leading_eigen(whole.matrix)
    return Solved(values, lambda q: (leading(q), None), size, True, floor_of(values, size), trace=whole.trace)


def _top_only(ritz: Ritz, size: int, tolerance: float, single: int) -> Solved:
    tell(ritz, single)
    return Solved(ritz.values, lambda q: (ritz.vectors[:, :q], None), size, False, floor_of(ritz.values, size),
                  tolerance, iterative=True, residuals=ritz.residuals, at_least=ritz.at_least,
                  negative=ritz.negative)


def hand_over(error: NumericalError, compute: Compute, size: int) -> None:
    """Notes that the whole spectrum of a matrix of this size takes the place of a search that did not end.

    Raises the search's own error where it is another one, or where memory holds no such matrix.
    """
    if error.code != "E-KRYLOV" or WHOLE_COPIES * 8.0 * size**2 > compute.memory_bytes():
        raise error
    note("N-WHOLE-SPECTRUM", f"{error.what}: the whole spectrum is computed instead")


def tell(ritz: Ritz, single: int = 0) -> None:
    """Records the passes that block Krylov took, and the residuals that it left."""
    passes = ritz.passes + single
    note("F-KRYLOV", f"block Krylov: {passes} passes" + (f", {single} of them in single precision" if single else ""),
         passes=passes, single_precision=single, residuals=[float(f"{r:.3g}") for r in ritz.residuals])


def solve_by_power(matrix: Array, rank: int, demand: Demand, compute: Compute) -> Solved:
    """Leading eigenpairs of a positive semidefinite matrix, one after the other."""
    size = len(matrix)
    tolerance = demand.tolerance or POWER_TOLERANCE
    values, vectors = power_iteration(matrix, demand, rank, tolerance, compute.generator())
    order = np.argsort(-values, kind="stable")  # of nearly equal ones, the smaller may be found first
    values, vectors = values[order], vectors[:, order]
    return Solved(values, lambda q: (vectors[:, :q], None), size, len(values) == size, floor_of(values, size),
                  tolerance, iterative=True)
