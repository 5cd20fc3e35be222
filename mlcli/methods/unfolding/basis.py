"""Unfoldings of many points: kernels V A Vᵀ over the smoothest vectors on the neighbor graph.

V holds bottom eigenvectors of the graph's Laplacian (Weinberger, Sha, Zhu and Saul, 2006), so A is
small whatever the number of points, and the semidefinite program is solved over A.
"""

from functools import cached_property, partial

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.core.blocked import gram_product, steady_solver
from mlcli.core.kernels.inverse import Inverse
from mlcli.core.krylov import SPARE, krylov
from mlcli.core.linalg import cholesky, orthonormal, symmetric_eigen
from mlcli.core.sparse_factors import CompressedRows
from mlcli.methods.unfolding.interior import (
    LEAST,
    InteriorPoint,
    Program,
    Solution,
    climb,
    inverse_root,
    longest_linear,
    longest_step,
    relative_gap,
    symmetric_part,
)
from mlcli.methods.unfolding.pairs import NeighborPairs, squared_norms

TOLERANCE = 1e-8  # residual of the basis's eigenvectors
SMALL = 600  # groups of points up to which a Laplacian is solved whole


def laplacian_basis(pairs: NeighborPairs, groups: Indices, count: int, compute: Compute) -> Array:
    """Return orthonormal mean-free columns (n x q), bottom vectors of the Laplacian of the pairs between groups.

    `groups` (n) numbers the group of each point; there are at most `count` columns.
    """
    merged = pairs.merge(groups)
    count = min(count, merged.size - 1)
    columns, signs = np.stack([merged.left, merged.right], axis=1).ravel(), np.tile([1.0, -1.0], len(merged))
    root = CompressedRows(2 * np.arange(len(merged) + 1), columns, signs, merged.size)
    if merged.size <= SMALL:
        bottom = symmetric_eigen((root.matrix().T @ root.matrix()).toarray())[1][:, ::-1][:, 1 : count + 1]
    else:
        start = compute.generator().standard_normal((merged.size, count + SPARE))
        bottom = krylov(Inverse(root).solver(), start, count, TOLERANCE).vectors[:, :count]
    spread = bottom[groups] - bottom[groups].mean(axis=0)
    return orthonormal(spread)


@frozen
class PenalizedProgram(Program):
    """Maximize tr A - κ/2 Σ r² over positive semidefinite A, with r the error of each squared distance.

    So few unknowns cannot keep all distances. Under `at most`, r is the excess of a squared distance. The
    dual: minimize bᵀy + yᵀy/2κ over the weights of the program without r.
    """

    penalty: float = 1.0  # κ

    def value(self, root: Array) -> float:
        """Return the objective of A = L Lᵀ, L (q x q)."""
        excess = squared_norms(self.rows @ root) - self.squared
        off = excess if self.equal else np.maximum(excess, 0.0)
        return float(np.sum(root**2) - self.penalty / 2 * (off @ off))

    def bound(self, weights: Array, least: float) -> float:
        """Return the dual objective of y/λ for weights y, an (m,) array; λ is the smallest eigenvalue of Σ y vvᵀ."""
        even = weights / least
        return float(self.squared @ even + even @ even / (2 * self.penalty))


@frozen
class VectorizedProgram:
    """The program with A as a vector: a product for each pair and entry, and A's entries in order."""

    program: PenalizedProgram
    upper: tuple[Indices, Indices]
    weights: Array  # q (q + 1) / 2: weights that make the entries of A an orthonormal basis
    products: Array  # m x q (q + 1) / 2

    @classmethod
    def of(cls, program: PenalizedProgram) -> "VectorizedProgram":
        """Return the program with the products of every two entries of each row."""
        i, j = np.triu_indices(program.rows.shape[1])
        weights = np.where(i == j, 1.0, np.sqrt(2.0))
        return cls(program, (i, j), weights, program.rows[:, i] * program.rows[:, j] * weights)

    def vector(self, matrix: Array) -> Array:
        """Return the entries (q (q + 1) / 2) of a symmetric matrix (q x q)."""
        return np.asarray(matrix[self.upper] * self.weights)

    def matrix(self, vector: Array) -> Array:
        """Return the symmetric matrix (q x q) of its entries (q (q + 1) / 2)."""
        size = self.program.rows.shape[1]
        full = np.zeros((size, size))
        full[self.upper] = vector / self.weights
        return full + np.triu(full, 1).T

    def sandwich(self, left: Array, right: Array) -> Array:
        """Return the matrix of D -> (P D Q + Q D P)/2 on entries, for P and Q (q x q)."""
        i, j = self.upper
        halves = self.weights / 2
        a, b = np.ix_(i, i), np.ix_(j, j)
        c, d = np.ix_(i, j), np.ix_(j, i)
        total = left[b] * right[a] + left[d] * right[c] + left[a] * right[b] + left[c] * right[d]
        return np.asarray(total * halves[:, None] * halves)


@frozen
class BasisIterate:
    """An iterate with its factorizations."""

    small: VectorizedProgram
    now: InteriorPoint
    cost_root: Array  # L with Σ y vvᵀ - I = L Lᵀ

    @cached_property
    def value(self) -> float:
        """The penalized trace."""
        return self.small.program.value(self.now.root)

    @cached_property
    def bound(self) -> float:
        """The dual objective."""
        return self.small.program.bound(self.now.weights, 1.0)

    @property
    def merit(self) -> float:
        """The relative gap."""
        return relative_gap(self.value, self.bound, float(np.sum(self.now.root**2)))


@frozen
class Direction:
    """A search direction from an iterate."""

    kernel: Array
    weights: Array
    slack: Array
    cost: Array

    def step(self, root: Array, cost_root: Array, now: InteriorPoint, equal: bool) -> float:
        """Return the largest common step of kernel and weights that stays inside; `root` and `cost_root` are q x q."""
        most = min(longest_step(root, self.kernel), longest_step(cost_root, self.cost))
        if equal:
            return most
        return min(most, longest_linear(now.slack, self.slack), longest_linear(now.weights, self.weights))


def maximize_over_basis(program: PenalizedProgram, tolerance: float, limit: int) -> Solution:
    """Solve the penalized program until its gap is below `tolerance`, or as far as rounding allows."""
    return climb(_start(program), partial(_frame, VectorizedProgram.of(program)), _step, tolerance, limit)


def _start(program: PenalizedProgram) -> InteriorPoint:
    """Return the start: dual feasible weights, and a multiple of the identity with about the squared lengths b."""
    size = program.rows.shape[1]
    share = program.squared.sum() / np.sum(program.rows**2)
    slack = np.full(len(program.pairs), program.squared.mean())
    return InteriorPoint(np.sqrt(share) * np.eye(size), slack, program.dual_start())


def _frame(small: VectorizedProgram, now: InteriorPoint) -> BasisIterate | None:
    """Return an iterate with its factorizations; None where it lies on the boundary to rounding."""
    cost_root = cholesky(small.program.laplacian(now.weights) - np.eye(len(now.root)))
    return None if cost_root is None else BasisIterate(small, now, cost_root)


def _step(frame: BasisIterate) -> InteriorPoint | None:
    """Return the next iterate by a predictor-corrector step; None where the system cannot be solved."""
    small, now, root, cost_root = frame.small, frame.now, frame.now.root, frame.cost_root
    program, equal = small.program, small.program.equal
    kernel, cost, half = root @ root.T, cost_root @ cost_root.T, inverse_root(root)
    inverse = half.T @ half
    paired = np.zeros(0) if equal else now.slack * now.weights
    mean = (float(np.sum(kernel * cost)) + float(paired.sum())) / (len(root) + len(paired))
    miss = program.squared - squared_norms(program.rows @ root) + now.weights / program.penalty
    miss -= 0.0 if equal else now.slack
    stiffness = program.penalty * np.ones_like(miss)
    if not equal:
        stiffness = now.weights / (now.slack + now.weights / program.penalty)
    weighted = small.products * np.sqrt(stiffness)[:, None]
    solver = steady_solver(small.sandwich(cost, inverse) + gram_product(weighted.T))
    if solver is None:
        return None

    def direction(target: float, bend: Array, slack_bend: Array) -> Direction:
        aim = -stiffness * miss if equal else (
            stiffness * ((target - slack_bend) / now.weights - now.slack - miss))
        vector = solver(small.vector(target * inverse - cost - bend) - small.products.T @ aim)
        change = small.products @ vector
        weights = aim + stiffness * change
        return Direction(kernel=small.matrix(vector), weights=weights, slack=miss - change + weights / program.penalty,
                         cost=program.laplacian(weights))

    predictor = direction(0.0, np.zeros_like(kernel), np.zeros_like(miss))
    length = min(1.0, predictor.step(root, cost_root, now, equal))
    share = min(1.0, max(1e-6, (1 - length) ** 3)) if length > 0.1 else 0.5
    bend = symmetric_part(predictor.cost @ predictor.kernel @ inverse)
    corrector = direction(share * mean, bend, predictor.slack * predictor.weights)
    length = min(1.0, (0.9 + 0.08 * length) * corrector.step(root, cost_root, now, equal))
    following = cholesky(symmetric_part(kernel + length * corrector.kernel))
    if length < LEAST or following is None:
        return None
    return InteriorPoint(following, now.slack + length * corrector.slack, now.weights + length * corrector.weights)
