"""How each form of kernel is solved: LAPACK for the whole spectrum, Lanczos for its top, power iteration."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.types import Array
from mlcli.stages.kernels import Dense, Factored, Inverse, Kernel
from mlcli.stages.lanczos import TOLERANCE, lanczos
from mlcli.stages.linalg import EPS, orthonormal, singular, symmetric_eigen
from mlcli.stages.power import POWER_TOLERANCE, power_iteration

if TYPE_CHECKING:
    from mlcli.stages.eigensolve import Eigensolve

WHOLE = 2000  # up to this size the whole spectrum costs seconds, and is worth having
WHOLE_SVD = 600  # the same for singular values of LLE's dense root

Take = Callable[[int], tuple[Array, Array | None]]


@dataclass(frozen=True)
class Solved:
    """Eigenvalues (descending), and the first axes on demand: vectors (n x q) and directions (d x q) or None."""

    values: Array
    take: Take
    size: int  # n, or the smaller side of a factor: what rounding grows with
    complete: bool
    floor: float  # eigenvalues up to here are zero in this arithmetic
    tolerance: float = 0.0  # residuals that an iterative solver leaves, relative
    by_roots: bool = False  # whether rounding is relative to the largest root (singular values), not eigenvalue


def solve(kernel: Kernel, options: "Eigensolve", compute: Compute) -> Solved:
    """The top of the kernel's spectrum, by the solver that fits its form and size."""
    if isinstance(kernel, Inverse):
        return _solve_inverse(kernel, options, compute)
    if isinstance(kernel, Dense):
        return _solve_matrix(kernel.matrix, kernel.trace, options, compute)
    if kernel.route == "svd":
        return _solve_svd(kernel)
    return _solve_factored(kernel, options, compute)


def _solve_matrix(matrix: Array, trace: float, options: "Eigensolve", compute: Compute) -> Solved:
    size = len(matrix)
    if (size > WHOLE and options.solver != "dense") or options.solver == "lanczos":
        count = _enough(matrix, trace, options, compute)
        if count * 4 <= size:
            values, vectors = lanczos(matrix.__matmul__, size, count, compute.generator())
            return Solved(values, lambda q: (vectors[:, :q], None), size, False, _floor(values, size), TOLERANCE)
    values, vectors = symmetric_eigen(matrix)
    return Solved(values, lambda q: (vectors[:, :q], None), size, True, _floor(values, size))


def _enough(matrix: Array, trace: float, options: "Eigensolve", compute: Compute) -> int:
    """How many leading eigenvalues reach the share asked for: doubled until they do."""
    size = len(matrix)
    if isinstance(options.components, int):
        return options.wanted(size)
    count = max(16, options.report or 0)
    while count * 4 <= size:
        values, _ = lanczos(matrix.__matmul__, size, count, compute.generator())
        if values.sum() >= options.components * trace:
            return count
        count *= 2
    return size


def _solve_factored(kernel: Factored, options: "Eigensolve", compute: Compute) -> Solved:
    """The smaller side's matrix, its eigenvectors lifted to the other side ("dual PCA")."""
    side, size, rank = kernel.side, max(kernel.factor.shape), min(kernel.factor.shape)
    lift = _from_directions if kernel.by_columns else _from_vectors
    if kernel.route == "power":
        solved = _solve_power(side, rank, options, compute)
    else:
        solved = _solve_matrix(side, float(np.trace(side)), options, compute)
    values = solved.values[:rank]
    floor = 10 * size * EPS * float(values[:1].max(initial=0.0))
    return Solved(values, lambda q: lift(kernel, values[:q], solved.take(q)[0], floor), size,
                  solved.complete, floor, solved.tolerance)


def _solve_power(side: Array, rank: int, options: "Eigensolve", compute: Compute) -> Solved:
    size = len(side)
    values, vectors = power_iteration(side, options.components, options.wanted(rank), compute.generator())
    return Solved(values, lambda q: (vectors[:, :q], None), size, False, _floor(values, size), POWER_TOLERANCE)


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
    noise = 10 * max(kernel.factor.shape) * EPS * float(sizes[:1].max(initial=0.0))
    return Solved(sizes**2, lambda q: (left[:, :q], right[:q].T.copy()), max(kernel.factor.shape), True, noise**2,
                  by_roots=True)


def _solve_inverse(kernel: Inverse, options: "Eigensolve", compute: Compute) -> Solved:
    """The smallest costs of M, constant vector apart, as the largest eigenvalues of M⁺."""
    size = kernel.root.shape[0]
    if (size <= WHOLE_SVD and options.solver != "lanczos") or options.solver == "dense":
        vectors = _smallest_costs(kernel)
        complete = True
    else:
        _, vectors = lanczos(kernel.apply, size, min(options.wanted(size) + 1, size - 1), compute.generator())
        complete = False
    costs = kernel.costs(vectors)
    order = np.argsort(costs, kind="stable")
    costs, vectors = costs[order], vectors[:, order]
    noise = float((kernel.root.multiply(kernel.root)).sum()) / size * EPS**2
    values = np.append(1 / np.maximum(costs, noise), [0.0] if complete else [])
    return Solved(values, lambda q: (vectors[:, :q], None), size, complete, 0.0, TOLERANCE)


def _smallest_costs(kernel: Inverse) -> Array:
    """All right singular vectors of R off the constant one: squares of small σ keep their digits."""
    root = kernel.root.toarray()
    size = len(root)
    basis = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, : size - 1]]))[0][:, 1:]
    _, _, right = singular(root @ basis)
    return basis @ right.T[:, ::-1]


def _floor(values: Array, size: int) -> float:
    return 10 * size * EPS * float(np.abs(values).max(initial=0.0))
