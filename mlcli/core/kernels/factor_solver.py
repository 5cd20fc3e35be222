"""Solution of a kernel F Fᵀ: by the matrix of the smaller side of F, or by the singular values of F itself."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.rows.scratch import map_blocks
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.eigen.solved import Solved, Take
from mlcli.core.eigen.solvers import solve_by_power, solve_symmetric
from mlcli.core.kernels.forms import Dense, centering_step
from mlcli.core.linalg import orthonormal, singular, singular_step

SOME = 500  # rows that a prediction samples
TRIANGLE = 3.0  # time of an operation in a blockwise triangle, over its time in a decomposition
STEPS = 5  # of power iteration, for a prediction
NARROW = 1e-5  # share of the largest eigenvalue below which others have fewer than ten digits in FᵀF


class CenteredFactor(Protocol):
    """A factor F (n x d), its columns of mean zero."""

    @property
    def factor(self) -> Array:
        """F, or F before its means are subtracted."""

    @property
    def route(self) -> str:
        """Name of the matrix to solve."""

    @property
    def by_columns(self) -> bool:
        """Whether FᵀF is solved, rather than FFᵀ."""

    @property
    def side(self) -> Array:
        """FᵀF (d x d) or FFᵀ (n x n), the one that is solved."""

    @property
    def rank(self) -> int | None:
        """Upper bound of the number of nonzero eigenvalues of data; None where F is not data."""

    def lift(self, directions: Array) -> Array:
        """Return F times a (d, b) array of directions, an (n, b) array."""

    def lower(self, vectors: Array) -> Array:
        """Return Fᵀ times an (n, b) array of vectors, a (d, b) array."""

    def triangle(self, order: Indices) -> Array:
        """Return R of F = Q R, a (d, d) array, for F's columns in the (d,) array `order`."""


def side_steps(points: Array, route: str, demand: SpectrumRequest, threads: int) -> list[Step]:
    """Return the cost of centering an (n, d) array, of the matrix of one of its sides, and of its spectrum."""
    shape = points.shape
    if route == "svd":
        whole = singular_step("eigensolve", shape, threads, copies=3.4)
        return [centering_step(shape[0] * shape[1], whole.memory), whole]
    steps = product_steps(shape, route, threads)
    side = shape[1] if _by_columns(shape, route) else shape[0]
    solved = demand.step(side, threads, steps[-1].memory, steps[-1].remedy)
    if route == "auto" and demand.solver != "krylov" and loses_digits(points):
        again = singular_step("eigensolve", shape, threads) if shape[0] < shape[1] else singular_step(
            "eigensolve", (side, side), threads)
        triangle = TRIANGLE * 2.0 * shape[0] * side**2 * rates().decomposed / threads * (shape[0] >= shape[1])
        solved = replace(solved, how=f"{solved.how}, again of the data for small eigenvalues",
                         seconds=solved.seconds + again.seconds + triangle, memory=solved.memory + again.memory)
    return [*steps, solved]


def loses_digits(points: Array) -> bool:
    """Whether products of columns (of n x d points) lose digits of reported eigenvalues, judged from a sample.

    The smallest eigenvalue is no larger than the smallest variance, and of noise it is about (1 - √(d/n))² of that
    (Marchenko and Pastur, 1967); the largest is no smaller than the result of a few steps of power iteration.
    """
    rows, columns = points.shape
    some = points[:: max(rows // SOME, 1)]
    variances = some.var(axis=0)
    there = variances[variances > 0]  # columns neither constant nor with missing cells
    if not len(there) or rows < columns:
        return bool(len(there) and there.min() < NARROW * there.max())
    least = there.min() * (1 - np.sqrt(columns / rows)) ** 2
    return bool(least < NARROW * max(there.max(), _largest_variance(some[:, variances > 0])))


def _largest_variance(points: Array) -> float:
    """Return a lower bound of the largest variance along any direction, by power iteration."""
    centered = points - points.mean(axis=0)
    direction = centered[np.einsum("ij,ij->i", centered, centered).argmax()]
    for _ in range(STEPS):
        direction = centered.T @ (centered @ direction)
        direction /= np.linalg.norm(direction) or 1.0
    return float(np.mean((centered @ direction) ** 2))


def product_steps(shape: tuple[int, ...], route: str, threads: int) -> list[Step]:
    """Return the cost of the matrix that is solved: of the columns at once, of the rows after centering."""
    rows, columns = shape
    by_columns = _by_columns(shape, route)
    side, name = (columns, "columns") if by_columns else (rows, "rows")
    held = 8.0 * (side**2 + (0 if by_columns else rows * columns))
    smaller = "use method.route=auto, which takes the smaller side, or " if side > min(rows, columns) else ""
    remedy = f"{smaller}leave rows or columns out"
    products = Step("covariance" if by_columns else "kernel", f"{route}: the side of the {name} ({side})",
                    rows * columns * side / product_rate(threads), held, remedy=remedy)  # symmetric: half of them
    return [products] if by_columns else [centering_step(rows * columns, held, remedy), products]


def _by_columns(shape: tuple[int, ...], route: str) -> bool:
    return route == "covariance" or (route != "dual" and shape[1] <= shape[0])


def solve_factor(kernel: CenteredFactor, demand: SpectrumRequest, compute: Compute) -> Solved:
    """Solve the matrix of the smaller side, or F itself where the matrix lost digits of reported eigenvalues."""
    if kernel.route == "svd":
        return _solve_svd(kernel)
    solved = _solve_side(kernel, demand, compute)
    if kernel.rank is None or kernel.route != "auto" or demand.solver == "krylov":
        return solved
    reported = solved.values[: min(demand.reported(len(solved.values)), kernel.rank)]
    if np.all(reported >= NARROW * solved.values[:1]):
        return solved
    return _solve_triangle(kernel) if kernel.by_columns else _solve_svd(kernel)


def _solve_side(kernel: CenteredFactor, demand: SpectrumRequest, compute: Compute) -> Solved:
    """Solve the matrix of the smaller side, and lift its eigenvectors to the other side ("dual PCA")."""
    size, sides = max(kernel.factor.shape), min(kernel.factor.shape)
    side = kernel.side
    lift = from_directions if kernel.by_columns else from_vectors
    if kernel.route == "power":
        solved = solve_by_power(side, sides, demand, compute)
    else:
        solved = solve_symmetric(Dense(side, uncentered(len(side))), demand, compute)
    values = solved.values[:sides]
    floor = 10 * size * EPS * float(values[:1].max(initial=0.0))
    return replace(solved, values=values, take=lambda q: lift(kernel, values[:q], solved.take(q)[0], floor),
                   size=size, floor=floor, trace=None)


def from_directions(kernel: CenteredFactor, values: Array, directions: Array, floor: float) -> tuple[Array, Array]:
    """Return V = F W / √λ (n x k) and W, for the eigenvectors W of FᵀF, a (d, k) array, and (k,) `values` λ.

    Columns with λ up to `floor` are zero.
    """
    return _over_roots(kernel.lift(directions), values, floor), directions


def from_vectors(kernel: CenteredFactor, values: Array, vectors: Array, floor: float) -> tuple[Array, Array]:
    """Return V = F W / √λ and W, for W the orthonormalized FᵀV / √λ of the eigenvectors V of FFᵀ.

    Errors of V along the leading axes grow by the ratio of roots in FᵀV; orthonormalization removes them.
    """
    positive = int(np.sum(values > floor))
    directions = np.zeros((kernel.factor.shape[1], vectors.shape[1]))
    directions[:, :positive] = orthonormal(kernel.lower(vectors[:, :positive]))
    return _over_roots(kernel.lift(directions), values, floor), directions


def _over_roots(columns: Array, values: Array, floor: float) -> Array:
    above = values > floor
    roots = np.sqrt(np.where(above, values, 1.0))
    return map_blocks(lambda some: np.divide(some, roots, out=np.zeros_like(some), where=above), columns)


def _solve_svd(kernel: CenteredFactor) -> Solved:
    """Solve by λ = σ² of F itself: small eigenvalues keep the digits that a Gram matrix loses."""
    left, sizes, right = singular(kernel.factor)
    return _of_roots(kernel, sizes, lambda q: (left[:, :q], right[:q].T.copy()))


def _solve_triangle(kernel: CenteredFactor) -> Solved:
    """Solve by the singular values of F's triangle, which needs no second copy of F.

    Its columns are in descending order of norm, so that rounding of a large one does not spoil a smaller one.
    """
    order = np.argsort(-np.diag(kernel.side), kind="stable")
    _, sizes, right = singular(kernel.triangle(order))
    directions = right.T[np.argsort(order)]
    values, floor = sizes**2, _noise(kernel, sizes) ** 2
    return _of_roots(kernel, sizes, lambda q: from_directions(kernel, values[:q], directions[:, :q], floor))


def _of_roots(kernel: CenteredFactor, sizes: Array, take: Take) -> Solved:
    return Solved(sizes**2, take, max(kernel.factor.shape), True, _noise(kernel, sizes) ** 2,
                  by_roots=True, own_digits=True)


def _noise(kernel: CenteredFactor, sizes: Array) -> float:
    """Return the size up to which singular values are zero in this arithmetic."""
    return 10 * max(kernel.factor.shape) * EPS * float(sizes[:1].max(initial=0.0))
