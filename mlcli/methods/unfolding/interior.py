"""The semidefinite program of an unfolding by a primal-dual interior-point method over its pairs.

Directions of Helmberg, Rendl, Vanderbei and Wolkowicz (1996), Kojima, Shindoh and Hara (1997) and
Monteiro (1997) with Mehrotra's predictor and corrector. Constraints are pairs, so the system for
the weights has the entries (uᵀRv)(uᵀZ⁻¹v) for pairs u and v: two products and one Cholesky.

Directions are computed in the coordinates of the roots R = L Lᵀ and Z = C Cᵀ. Rounding is then relative to
each direction's own size; products with R and Z⁻¹ themselves lose the short distances where weights are large.
"""

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.core.blocked import gram_product, product, steady_solver
from mlcli.core.linalg import cholesky, lower_solve
from mlcli.methods.unfolding.cone import (
    InteriorPoint,
    Program,
    Solution,
    climb,
    inverse_root,
    longest_linear,
    longest_scaled,
    relative_gap,
    symmetric_part,
)
from mlcli.methods.unfolding.pairs import squared_norms

LEAST = 1e-7  # length of a step below which the iteration ends
COPIES = 3.0  # arrays of pairs x pairs in memory at once


@frozen
class InteriorIterate:
    """An iterate with its factorizations."""

    program: Program
    now: InteriorPoint
    half: Array  # C⁻¹ (r x r), Z = C Cᵀ
    points: Array  # V L (n x r): their products are the kernel
    cross: Array  # LᵀC (r x r)
    mean: float  # complementarity, per eigenvalue and slack
    merit: float  # the larger of relative gap and violation

    @property
    def value(self) -> float:
        """tr R."""
        return float(np.sum(self.now.root**2))

    @property
    def bound(self) -> float:
        """bᵀy."""
        return float(self.program.squared @ self.now.weights)

    @property
    def give(self) -> float:
        """Softness of a squared distance for a unit of its weight, so small that gap and violation hardly grow.

        It keeps the system of the weights regular where the dual is hardly attained, and vanishes with the gap.
        """
        weights, program = self.now.weights, self.program
        share = min(program.give, self.mean * len(self.half) / abs(self.bound))
        return share * min(float(program.squared.mean() / np.abs(weights).max()),
                           abs(self.bound) / float(weights @ weights))


@frozen
class Direction:
    """A search direction from an iterate, in the coordinates of its roots."""

    kernel: Array  # r x r, D where R changes by L D Lᵀ
    cost: Array  # r x r, D where Z changes by C D Cᵀ
    mixed: Array  # r x r, the product Lᵀ D C⁻ᵀ for the change D of Z
    slack: Array
    weights: Array

    @cached_property
    def second(self) -> Array:
        """The product L⁻¹ D E C⁻ᵀ (r x r) of the changes D of R and E of Z."""
        return product(self.kernel, self.mixed)

    def lengths(self, frame: InteriorIterate) -> tuple[float, float]:
        """Return the largest primal and dual steps that stay inside."""
        primal, dual = longest_scaled(self.kernel), longest_scaled(self.cost)
        if frame.program.equal:
            return primal, dual
        return (min(primal, longest_linear(frame.now.slack, self.slack)),
                min(dual, longest_linear(frame.now.weights, self.weights)))


@frozen
class System:
    """The Newton system at an iterate."""

    frame: InteriorIterate
    inverse_points: Array  # V C⁻ᵀ (n x r): their products are V Z⁻¹ Vᵀ
    inverse_rows: Array  # m x r, their differences
    turn: Array  # C⁻¹ L⁻ᵀ (r x r)
    solver: Callable[[Array], Array]  # of the system for the weights

    @classmethod
    def at(cls, frame: InteriorIterate) -> "System | None":
        """Return the factored system, with entries (uᵀRv)(uᵀZ⁻¹v), and s/y on the diagonal for slacks.

        None where it is singular.
        """
        program, now = frame.program, frame.now
        inverse_points = product(program.basis, frame.half.T)
        inverse_rows = program.pairs.differences(inverse_points)
        system = gram_product(program.pairs.differences(frame.points), inverse_rows)
        diagonal = np.arange(len(system))
        system[diagonal, diagonal] += frame.give if program.equal else now.slack / now.weights
        solver = steady_solver(system)
        if solver is None:
            return None
        return cls(frame, inverse_points, inverse_rows, lower_solve(now.root, frame.half.T).T, solver)

    def direction(self, target: float, before: Direction | None = None) -> Direction:
        """Return the Newton direction toward complementarity `target`, less second-order terms of the one before."""
        frame, program, now = self.frame, self.frame.program, self.frame.now
        right = target * squared_norms(self.inverse_rows) - program.squared
        left = target * self.turn.T
        if before is not None:
            left = left - before.second
            bent = program.pairs.differences(product(frame.points, before.second))
            right -= np.einsum("ij,ij->i", bent, self.inverse_rows)
        slack_bend = np.zeros_like(now.slack) if before is None else before.slack * before.weights
        right += -frame.give * now.weights if program.equal else (target - slack_bend) / now.weights
        weights = self.solver(right)
        pull = program.incidence.T @ (weights[:, None] * self.inverse_rows)
        mixed = product(frame.points.T, pull)
        slack = np.zeros_like(now.slack) if program.equal else (
            (target - slack_bend - now.slack * weights) / now.weights - now.slack)
        kernel = symmetric_part(product(left - mixed, self.turn)) - np.eye(len(left))
        return Direction(kernel=kernel, mixed=mixed, slack=slack, weights=weights,
                         cost=symmetric_part(product(self.inverse_points.T, pull)))


def maximize(program: Program, tolerance: float, limit: int, floor: float) -> Solution:
    """Solve the program until gap and violation are below `tolerance`, or as far as rounding allows.

    Stops as soon as the dual bound falls below `floor`, a value that every feasible kernel reaches: then none exists.
    """
    return climb(_start(program), partial(_frame, program), _step, tolerance, limit, floor)


def _start(program: Program) -> InteriorPoint:
    """Return the start: dual feasible weights, and R a multiple of Z⁻¹ with about the squared lengths b."""
    weights = program.dual_start()
    size = program.basis.shape[1]
    cost_root = cholesky(program.laplacian(weights) - np.eye(size))
    half = inverse_root(np.eye(size) if cost_root is None else cost_root)
    lengths = squared_norms(program.pairs.differences(program.basis @ half.T))
    share = float(program.squared @ weights) / float(lengths @ weights)
    slack = np.maximum(program.squared - share * lengths, 0.1 * program.squared.mean())
    root = cholesky(share * (half.T @ half))
    return InteriorPoint(np.zeros_like(half) if root is None else root, slack, weights)


def _frame(program: Program, now: InteriorPoint) -> InteriorIterate | None:
    """Return an iterate with its factorizations; None where it lies on the boundary to rounding."""
    cost_root = cholesky(program.laplacian(now.weights) - np.eye(len(now.root)))
    if cost_root is None or not np.diag(now.root).min() > 0:
        return None
    cross, points = product(now.root.T, cost_root), product(program.basis, now.root)
    pairing, count = float(np.sum(cross**2)), len(cross)
    if not program.equal:
        pairing, count = pairing + float(now.slack @ now.weights), count + len(now.slack)
    gap = relative_gap(float(np.sum(now.root**2)), float(program.squared @ now.weights))
    return InteriorIterate(program=program, now=now, half=inverse_root(cost_root), points=points, cross=cross,
                           mean=pairing / count, merit=max(gap, program.violation(points)))


def _step(frame: InteriorIterate) -> InteriorPoint | None:
    """Return the next iterate by a predictor-corrector step; None where no step is possible."""
    system = System.at(frame)
    if system is None:
        return None
    predictor = system.direction(0.0)
    primal, dual = (min(1.0, length) for length in predictor.lengths(frame))
    ahead = _mean_after(frame, predictor, primal, dual)
    share = min(1.0, max(1e-6, (ahead / frame.mean) ** 2)) if min(primal, dual) > 0.1 else 0.5
    direction = system.direction(share * frame.mean, predictor)
    inside = 0.9 + 0.08 * min(primal, dual)
    primal, dual = (min(1.0, inside * length) for length in direction.lengths(frame))
    change = cholesky(np.eye(len(frame.half)) + primal * direction.kernel)
    if max(primal, dual) < LEAST or change is None:
        return None
    now = frame.now
    slack, weights = now.slack + primal * direction.slack, now.weights + dual * direction.weights
    return InteriorPoint(product(now.root, change), slack, weights)


def _mean_after(frame: InteriorIterate, direction: Direction, primal: float, dual: float) -> float:
    """Return the complementarity, per eigenvalue and slack, after steps along a direction toward none.

    Such a direction takes all of ⟨R, Z⟩ to first order.
    """
    now, count = frame.now, len(frame.half)
    pairing, of_cost = float(np.sum(frame.cross**2)), float(np.sum(frame.cross * direction.mixed))
    pairing += dual * of_cost - primal * (pairing + of_cost)
    pairing += primal * dual * float(np.sum(frame.cross * direction.second))
    if frame.program.equal:
        return pairing / count
    slack, weights = now.slack + primal * direction.slack, now.weights + dual * direction.weights
    return (pairing + float(slack @ weights)) / (count + len(slack))
