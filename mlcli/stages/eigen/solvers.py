"""How each form of kernel is solved: LAPACK for the whole spectrum, block Krylov for its top, power iteration."""

from collections.abc import Callable
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.frozen import frozen
from mlcli.base.stage import note
from mlcli.base.threads import single_threaded_blas
from mlcli.base.types import Array
from mlcli.stages.algebra.costs import WHOLE
from mlcli.stages.algebra.krylov import SPARE, Apply, Ritz, krylov
from mlcli.stages.algebra.linalg import EPS, leading_eigen, orthonormal, singular
from mlcli.stages.eigen.power import POWER_TOLERANCE, power_iteration
from mlcli.stages.kernels.factored import Factored
from mlcli.stages.kernels.forms import Dense, Inverse, uncentered
from mlcli.stages.kernels.landmarks import MOST, landmark_start
from mlcli.stages.kernels.streamed import Streamed

if TYPE_CHECKING:
    from mlcli.stages.eigen.eigensolve import Eigensolve

Kernel = Dense | Factored | Inverse | Streamed

WHOLE_SVD = 600  # the same for singular values of LLE's dense root
STORED = 1e-11  # residual asked of a kernel in memory
SINGLE = 1e-6  # residual down to which passes in single precision lead
LATER = 1e-9  # residual of M⁺ that is enough where rounding keeps it from becoming smaller
NARROW = 1e-5  # share of the largest eigenvalue below which FᵀF leaves another fewer than ten digits
CLEAR = 1e-5  # share of the largest eigenvalue of M⁺ from which on another is found together with it

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
    iterative: bool = False  # whether the solver's tolerance ended it
    residuals: Array = field(default_factory=lambda: np.zeros(0))  # of an iterative solver, relative
    trace: float | None = None  # of the matrix that was solved, where a streamed kernel was stored for it
    at_least: Array = field(default_factory=lambda: np.zeros(0))  # lower bounds of eigenvalues after `values`


def solve(kernel: Kernel, options: "Eigensolve", compute: Compute) -> Solved:
    """The top of the kernel's spectrum, by the solver that fits its form and size."""
    if isinstance(kernel, Inverse):
        return _solve_inverse(kernel, options, compute)
    if isinstance(kernel, Factored):
        return _solve_svd(kernel) if kernel.route == "svd" else _solve_factored(kernel, options, compute)
    return _solve_symmetric(kernel, options, compute)


def _solve_symmetric(kernel: Dense | Streamed, options: "Eigensolve", compute: Compute) -> Solved:
    """The whole spectrum where the matrix is at hand and small; else its top, widened until a share is reached."""
    size = kernel.size
    large = isinstance(kernel, Streamed) or size > WHOLE
    if options.solver == "krylov" or (options.solver == "auto" and large):
        tolerance = options.tolerance or (kernel.tolerance if isinstance(kernel, Streamed) else STORED)
        count = options.wanted(size)
        while count + SPARE <= size // 4:
            width = max(count + SPARE, min(kernel.width, size // 8) if isinstance(kernel, Streamed) else 0)
            landmarks = kernel.landmarks if isinstance(kernel, Streamed) else MOST
            with single_threaded_blas():  # so that passes begin alike for any number of threads
                start = landmark_start(kernel.quick_rows or kernel.rows, size, width, landmarks, compute.generator())
            rough, single = kernel.apply_rough if isinstance(kernel, Streamed) else None, 0
            if rough is not None:
                begun = krylov(rough, start, count, max(tolerance, SINGLE) / 2)
                start, single = begun.block, begun.passes
            ritz = krylov(kernel.apply, start, count, tolerance)
            if options.reached(float(ritz.values.sum()), kernel.trace):
                return _top_only(ritz, size, tolerance, single)
            count *= 2
    whole = kernel.stored(compute) if isinstance(kernel, Streamed) else kernel
    values, leading = leading_eigen(whole.matrix)
    return Solved(values, lambda q: (leading(q), None), size, True, _floor(values, size),
                  trace=None if whole is kernel else whole.trace)


def _top_only(ritz: Ritz, size: int, tolerance: float, single: int) -> Solved:
    _tell(ritz, single)
    return Solved(ritz.values, lambda q: (ritz.vectors[:, :q], None), size, False, _floor(ritz.values, size),
                  tolerance, iterative=True, residuals=ritz.residuals, at_least=ritz.at_least)


def _tell(ritz: Ritz, single: int = 0) -> None:
    passes = ritz.passes + single
    note("F-KRYLOV", f"block Krylov: {passes} passes" + (f", {single} of them in single precision" if single else ""),
         passes=passes, single_precision=single, residuals=[float(f"{r:.3g}") for r in ritz.residuals])


def _solve_factored(kernel: Factored, options: "Eigensolve", compute: Compute) -> Solved:
    """The smaller side's matrix, or F itself where that has digits of reported eigenvalues which its products lost."""
    solved = _solve_side(kernel, options, compute)
    if not kernel.digits or kernel.route != "auto" or options.solver == "krylov":
        return solved
    reported = solved.values[: min(options.reported(len(solved.values)), kernel.rank)]
    if np.all(reported >= NARROW * solved.values[:1]):
        return solved
    return _solve_triangle(kernel) if kernel.by_columns else _solve_svd(kernel)


def _solve_side(kernel: Factored, options: "Eigensolve", compute: Compute) -> Solved:
    """The smaller side's matrix, its eigenvectors lifted to the other side ("dual PCA")."""
    size, rank = max(kernel.factor.shape), min(kernel.factor.shape)
    side = kernel.side
    lift = _from_directions if kernel.by_columns else _from_vectors
    if kernel.route == "power":
        solved = _solve_power(side, rank, options, compute)
    else:
        solved = _solve_symmetric(Dense(side, uncentered(len(side))), options, compute)
    values = solved.values[:rank]
    floor = 10 * size * EPS * float(values[:1].max(initial=0.0))
    return replace(solved, values=values, take=lambda q: lift(kernel, values[:q], solved.take(q)[0], floor),
                   size=size, floor=floor)


def _solve_power(side: Array, rank: int, options: "Eigensolve", compute: Compute) -> Solved:
    size = len(side)
    tolerance = options.tolerance or POWER_TOLERANCE
    values, vectors = power_iteration(side, options, rank, tolerance, compute.generator())
    order = np.argsort(-values, kind="stable")  # of nearly equal ones, the smaller may be found first
    values, vectors = values[order], vectors[:, order]
    return Solved(values, lambda q: (vectors[:, :q], None), size, len(values) == size, _floor(values, size),
                  tolerance, iterative=True)


def _from_directions(kernel: Factored, values: Array, directions: Array, floor: float) -> tuple[Array, Array]:
    """V = F W / √λ from the eigenvectors W of FᵀF."""
    return _over_roots(kernel.lifted(directions), values, floor), directions


def _from_vectors(kernel: Factored, values: Array, vectors: Array, floor: float) -> tuple[Array, Array]:
    """W = FᵀV / √λ from the eigenvectors V of FFᵀ, made orthonormal again, and V = F W / √λ from those.

    Errors of V along the leading axes grow by the ratio of roots in FᵀV, and making W orthonormal removes them.
    """
    positive = int(np.sum(values > floor))
    directions = np.zeros((kernel.factor.shape[1], vectors.shape[1]))
    directions[:, :positive] = orthonormal(kernel.lowered(vectors[:, :positive]))
    return _over_roots(kernel.lifted(directions), values, floor), directions


def _over_roots(columns: Array, values: Array, floor: float) -> Array:
    above = values > floor
    return np.divide(columns, np.sqrt(np.where(above, values, 1.0)), out=np.zeros_like(columns), where=above)


def _solve_svd(kernel: Factored) -> Solved:
    """λ = σ² of F itself: small eigenvalues keep the digits that a Gram matrix loses."""
    left, sizes, right = singular(kernel.factor)
    return _of_roots(kernel, sizes, lambda q: (left[:, :q], right[:q].T.copy()))


def _solve_triangle(kernel: Factored) -> Solved:
    """The same by F's triangle, made without a second copy of F; its columns descend, so that none spoils a smaller."""
    order = np.argsort(-np.diag(kernel.side), kind="stable")
    _, sizes, right = singular(kernel.triangle(order))
    directions = right.T[np.argsort(order)]
    values, floor = sizes**2, _noise(kernel, sizes) ** 2
    return _of_roots(kernel, sizes, lambda q: _from_directions(kernel, values[:q], directions[:, :q], floor))


def _of_roots(kernel: Factored, sizes: Array, take: Take) -> Solved:
    return Solved(sizes**2, take, max(kernel.factor.shape), True, _noise(kernel, sizes) ** 2, by_roots=True)


def _noise(kernel: Factored, sizes: Array) -> float:
    """Singular values up to here are zero in this arithmetic."""
    return 10 * max(kernel.factor.shape) * EPS * float(sizes[:1].max(initial=0.0))


def _solve_inverse(kernel: Inverse, options: "Eigensolve", compute: Compute) -> Solved:
    """The smallest costs of M, constant vector apart, as the largest eigenvalues of M⁺."""
    size, tolerance = kernel.size, options.tolerance or STORED
    complete = options.components == "all" or (
        size <= WHOLE_SVD if options.solver == "auto" else options.solver == "dense")
    if complete:
        vectors, tolerance, following = _smallest_costs(kernel), STORED, np.zeros(0)
    else:
        count = min(options.wanted(size) + 1, size - 1)
        start = compute.generator().standard_normal((size, min(count + SPARE, size - 1)))
        start -= start.mean(axis=0)  # the constant vector would be found as well, at cost zero
        noise = max(kernel.noise, LATER)
        vectors, tolerance, following = _in_turns(kernel.apply, start, count, options.tolerance or STORED, noise)
    costs = kernel.costs(vectors)
    order = np.argsort(costs, kind="stable")
    costs, vectors = costs[order], vectors[:, order]
    noise = float((kernel.root.multiply(kernel.root)).sum()) / size * EPS**2
    values = np.append(1 / np.maximum(costs, noise), [0.0] if complete else [])
    return Solved(values, lambda q: (vectors[:, :q], None), size, complete, 0.0,
                  STORED if complete else tolerance, iterative=not complete, at_least=following)


def _in_turns(apply: Apply, start: Array, count: int, tolerance: float, noise: float,
              ) -> tuple[Array, float, Array]:
    """The top `count` eigenvectors, those far above the rest first: beside them the rest would be called converged.

    With them the largest residual of the first, relative to their largest eigenvalue, and lower bounds of the
    eigenvalues that follow.

    Pieces that hardly hang together have costs of nearly zero, and M⁺ then has eigenvalues without end.
    """
    found, first, following = np.empty((len(start), 0)), tolerance, np.zeros(0)

    def rest(block: Array) -> Array:
        return block - found @ (found.T @ block)

    while found.shape[1] < count:
        left = count - found.shape[1]
        turn = krylov(lambda block: rest(apply(rest(block))), rest(start)[:, : left + SPARE], left, tolerance,
                      noise, CLEAR)
        _tell(turn)
        clear = max(int(np.sum(turn.values >= CLEAR * turn.values[0])), 1)
        first = first if found.shape[1] else max(tolerance, float(turn.residuals[:clear].max(initial=0.0)))
        found = np.column_stack([found, turn.vectors[:, :clear]])
        following = turn.at_least if clear == len(turn.values) else np.zeros(0)
    return found, first, following


def _smallest_costs(kernel: Inverse) -> Array:
    """All right singular vectors of R off the constant one: squares of small σ keep their digits."""
    root = kernel.root.toarray()
    size = len(root)
    basis = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, : size - 1]]))[0][:, 1:]
    _, _, right = singular(root @ basis)
    return basis @ right.T[:, ::-1]


def _floor(values: Array, size: int) -> float:
    return 10 * size * EPS * float(np.abs(values).max(initial=0.0))
