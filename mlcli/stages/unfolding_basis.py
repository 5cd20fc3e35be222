"""Unfoldings of many points: kernels V A Vᵀ over the smoothest vectors on the neighbor graph.

V holds bottom eigenvectors of the graph's Laplacian (Weinberger, Sha, Zhu and Saul, 2006), so A is
small whatever the number of points, and the semidefinite program is solved over A.
"""

from dataclasses import dataclass

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.stage import advance
from mlcli.base.types import Array, Indices
from mlcli.stages.kernels import Inverse
from mlcli.stages.krylov import SPARE, krylov
from mlcli.stages.linalg import cholesky, positive_solver, symmetric_eigen
from mlcli.stages.unfolding_cone import (
    PATIENCE,
    Program,
    Progress,
    Solution,
    inverse_root,
    longest,
    longest_linear,
    relative_gap,
    symmetric,
)
from mlcli.stages.unfolding_pairs import Pairs, squared_norms

TOLERANCE = 1e-8  # residual of the basis's eigenvectors
SMALL = 600  # groups of points up to which a Laplacian is solved whole


def laplacian_basis(pairs: Pairs, groups: Indices, count: int, compute: Compute) -> Array:
    """Orthonormal mean-free columns (n x q): bottom vectors of the Laplacian of the pairs among groups of points."""
    from scipy import sparse

    merged = pairs.merged(groups)
    count = min(count, merged.size - 1)
    rows, signs = np.repeat(np.arange(len(merged)), 2), np.tile([1.0, -1.0], len(merged))
    columns = np.stack([merged.left, merged.right], axis=1).ravel()
    root = sparse.csr_array((signs, (rows, columns)), shape=(len(merged), merged.size))
    if merged.size <= SMALL:
        bottom = symmetric_eigen((root.T @ root).toarray())[1][:, ::-1][:, 1 : count + 1]
    else:
        start = compute.generator().standard_normal((merged.size, count + SPARE))
        bottom = krylov(Inverse(root).apply, start, count, TOLERANCE).vectors[:, :count]
    spread = bottom[groups] - bottom[groups].mean(axis=0)
    return np.asarray(spread @ np.linalg.inv(np.linalg.qr(spread, mode="r")))


@dataclass(frozen=True)
class Small:
    """The program with A as a vector: a product for each pair and entry, and A's entries in order."""

    program: Program
    upper: tuple[Indices, Indices]
    weights: Array  # q (q + 1) / 2: what makes the entries of A an orthonormal basis
    products: Array  # m x q (q + 1) / 2

    @classmethod
    def of(cls, program: Program) -> "Small":
        """The products of every two entries of each row."""
        i, j = np.triu_indices(program.rows.shape[1])
        weights = np.where(i == j, 1.0, np.sqrt(2.0))
        return cls(program, (i, j), weights, program.rows[:, i] * program.rows[:, j] * weights)

    def vector(self, matrix: Array) -> Array:
        """The entries of a symmetric matrix."""
        return np.asarray(matrix[self.upper] * self.weights)

    def matrix(self, vector: Array) -> Array:
        """The symmetric matrix of such entries."""
        size = self.program.rows.shape[1]
        full = np.zeros((size, size))
        full[self.upper] = vector / self.weights
        return full + np.triu(full, 1).T

    def sandwich(self, left: Array, right: Array) -> Array:
        """The matrix of D -> (P D Q + Q D P)/2 on such entries."""
        i, j = self.upper
        halves = self.weights / 2
        a, b = np.ix_(i, i), np.ix_(j, j)
        c, d = np.ix_(i, j), np.ix_(j, i)
        total = left[b] * right[a] + left[d] * right[c] + left[a] * right[b] + left[c] * right[d]
        return np.asarray(total * halves[:, None] * halves)


def maximize_over_basis(program: Program, tolerance: float, limit: int) -> Solution:
    """The program `at most`, feasible on both sides from the start, solved until the gap is below `tolerance`."""
    small = Small.of(program)
    size = program.rows.shape[1]
    kernel = 0.5 * float(np.min(program.squared / squared_norms(program.rows))) * np.eye(size)
    weights = program.dual_start()
    best = Progress(np.zeros((size, size)), weights, np.inf, 0)
    for iteration in range(limit + 1):
        cost = program.weighted(weights) - np.eye(size)
        slack = program.squared - np.einsum("ij,ij->i", program.rows @ kernel, program.rows)
        root, cost_root = cholesky(kernel), cholesky(cost)
        if root is None or cost_root is None or slack.min() <= 0:
            break
        merit = relative_gap(float(np.trace(kernel)), float(program.squared @ weights))
        best = Progress(root, weights, merit, iteration).better(best)
        advance(iteration, limit)
        if best.merit <= tolerance or iteration == limit or iteration - best.at > PATIENCE:
            break
        moved = _moved(small, root, cost_root, slack, weights)
        if moved is None:
            break
        kernel, weights = moved
    return Solution(best.root, best.weights, iteration)


def _moved(small: Small, root: Array, cost_root: Array, slack: Array, weights: Array) -> tuple[Array, Array] | None:
    """A predictor and a corrector step; None where the system cannot be solved."""
    kernel, cost = root @ root.T, cost_root @ cost_root.T
    half = inverse_root(root)
    inverse = half.T @ half
    system = small.sandwich(cost, inverse)
    system += (small.products.T * (weights / slack)) @ small.products
    solver = positive_solver(system)
    if solver is None:
        return None
    mean = (float(np.sum(kernel * cost)) + float(slack @ weights)) / (len(root) + len(slack))

    def direction(target: float, bend: Array, slack_bend: Array) -> tuple[Array, Array, Array, Array]:
        aim = (target - slack * weights - slack_bend) / slack
        vector = solver(small.vector(target * inverse - cost - bend) - small.products.T @ aim)
        change = small.products @ vector
        steered = aim + weights / slack * change
        return small.matrix(vector), -change, steered, small.program.weighted(steered)

    def lengths(way: tuple[Array, Array, Array, Array]) -> tuple[float, float]:
        return (min(longest(root, way[0]), longest_linear(slack, way[1])),
                min(longest(cost_root, way[3]), longest_linear(weights, way[2])))

    way = direction(0.0, np.zeros_like(kernel), np.zeros_like(slack))
    primal, dual = (min(1.0, length) for length in lengths(way))
    ahead = (float(np.sum((kernel + primal * way[0]) * (cost + dual * way[3])))
             + float((slack + primal * way[1]) @ (weights + dual * way[2]))) / (len(root) + len(slack))
    share = min(1.0, max(1e-6, (ahead / mean) ** 3)) if min(primal, dual) > 0.1 else 0.5
    way = direction(share * mean, symmetric(way[3] @ way[0] @ inverse), way[1] * way[2])
    inside = 0.9 + 0.08 * min(primal, dual)
    primal, dual = (min(1.0, inside * length) for length in lengths(way))
    return symmetric(kernel + primal * way[0]), weights + dual * way[2]
