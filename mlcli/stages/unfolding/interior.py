"""The semidefinite program of an unfolding by a primal-dual interior-point method over its pairs.

Directions of Helmberg, Rendl, Vanderbei and Wolkowicz (1996), Kojima, Shindoh and Hara (1997) and
Monteiro (1997) with Mehrotra's predictor and corrector. Constraints are pairs, so the system for
the weights has the entries (uᵀRv)(uᵀZ⁻¹v) for pairs u and v: two products and one Cholesky.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.stages.algebra.linalg import cholesky, steady_solver
from mlcli.stages.unfolding.cone import (
    Iterate,
    Program,
    Solution,
    climb,
    inverse_root,
    longest_linear,
    longest_step,
    relative_gap,
    symmetric_part,
)
from mlcli.stages.unfolding.pairs import squared_norms

LEAST = 1e-7  # length of a step below which the iteration ends
COPIES = 3.0  # arrays of pairs x pairs in memory at once


@frozen
class Frame:
    """An iterate with its factorizations and inverse."""

    program: Program
    now: Iterate
    root: Array  # L with R = L Lᵀ
    cost_root: Array  # L with Z = L Lᵀ
    inverse: Array  # Z⁻¹
    inverse_lengths: Array  # vᵀZ⁻¹v
    mean: float  # complementarity, per eigenvalue and slack

    @property
    def value(self) -> float:
        """tr R."""
        return float(np.trace(self.now.kernel))

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
        share = min(program.give, self.mean * len(self.root) / abs(self.bound))
        return share * min(float(program.squared.mean() / np.abs(weights).max()),
                           abs(self.bound) / float(weights @ weights))

    @property
    def merit(self) -> float:
        """The larger of relative gap and violation."""
        return max(relative_gap(self.value, self.bound), self.program.violation(self.root))


@frozen
class Direction:
    """A search direction from an iterate."""

    kernel: Array
    slack: Array
    weights: Array
    cost: Array

    def lengths(self, frame: Frame) -> tuple[float, float]:
        """Return the largest primal and dual steps that stay inside."""
        primal, dual = longest_step(frame.root, self.kernel), longest_step(frame.cost_root, self.cost)
        if frame.program.equal:
            return primal, dual
        return (min(primal, longest_linear(frame.now.slack, self.slack)),
                min(dual, longest_linear(frame.now.weights, self.weights)))


def maximize(program: Program, tolerance: float, limit: int, floor: float) -> Solution:
    """Solve the program until gap and violation are below `tolerance`, or as far as rounding allows.

    Stops as soon as the dual bound falls below `floor`, a value that every feasible kernel reaches: then none exists.
    """
    return climb(_start(program), partial(_frame, program), _step, tolerance, limit, floor)


def _start(program: Program) -> Iterate:
    """Return the start: dual feasible weights, and R a multiple of Z⁻¹ with about the squared lengths b."""
    weights = program.dual_start()
    size = program.rows.shape[1]
    root = cholesky(program.laplacian(weights) - np.eye(size))
    half = inverse_root(np.eye(size) if root is None else root)
    lengths = squared_norms(program.rows @ half.T)
    share = float(program.squared @ weights) / float(lengths @ weights)
    slack = np.maximum(program.squared - share * lengths, 0.1 * program.squared.mean())
    return Iterate(share * (half.T @ half), slack, weights)


def _frame(program: Program, now: Iterate) -> Frame | None:
    """Return an iterate with its factorizations; None where it lies on the boundary to rounding."""
    cost = program.laplacian(now.weights) - np.eye(len(now.kernel))
    root, cost_root = cholesky(now.kernel), cholesky(cost)
    if root is None or cost_root is None:
        return None
    half = inverse_root(cost_root)
    pairing = float(np.sum(now.kernel * cost))
    count = len(root) if program.equal else len(root) + len(now.slack)
    mean = (pairing + (0.0 if program.equal else float(now.slack @ now.weights))) / count
    return Frame(program=program, now=now, root=root, cost_root=cost_root, inverse=half.T @ half,
                 inverse_lengths=squared_norms(program.rows @ half.T), mean=mean)


def _step(frame: Frame) -> Iterate | None:
    """Return the next iterate by a predictor-corrector step; None where no step is possible."""
    solver = _schur(frame)
    if solver is None:
        return None
    zero = np.zeros_like(frame.now.kernel)
    predictor = _direction(frame, solver, 0.0, zero, np.zeros_like(frame.now.slack))
    primal, dual = (min(1.0, length) for length in predictor.lengths(frame))
    ahead = _mean_after(frame, predictor, primal, dual)
    share = min(1.0, max(1e-6, (ahead / frame.mean) ** 3)) if min(primal, dual) > 0.1 else 0.5
    bend = symmetric_part(predictor.kernel @ predictor.cost @ frame.inverse)
    direction = _direction(frame, solver, share * frame.mean, bend, predictor.slack * predictor.weights)
    inside = 0.9 + 0.08 * min(primal, dual)
    primal, dual = (min(1.0, inside * length) for length in direction.lengths(frame))
    if max(primal, dual) < LEAST:
        return None
    now = frame.now
    return Iterate(symmetric_part(now.kernel + primal * direction.kernel), now.slack + primal * direction.slack,
                   now.weights + dual * direction.weights)


def _schur(frame: Frame) -> Callable[[Array], Array] | None:
    """Return the solver of the system for the weights: entries (uᵀRv)(uᵀZ⁻¹v), and s/y on the diagonal for slacks."""
    left = frame.program.rows @ frame.root
    system = left @ left.T
    right = frame.program.rows @ inverse_root(frame.cost_root).T
    system *= right @ right.T
    diagonal = np.arange(len(system))
    system[diagonal, diagonal] += frame.give if frame.program.equal else frame.now.slack / frame.now.weights
    return steady_solver(system)


def _direction(frame: Frame, solver: Callable[[Array], Array], target: float, bend: Array,
               slack_bend: Array) -> Direction:
    """Return the Newton direction toward complementarity `target`, less second-order terms of the predictor."""
    program, now = frame.program, frame.now
    right = target * frame.inverse_lengths - program.squared - np.einsum("ij,ij->i", program.rows @ bend, program.rows)
    right += -frame.give * now.weights if program.equal else (target - slack_bend) / now.weights
    weights = solver(right)
    cost = program.laplacian(weights)
    turned = symmetric_part(now.kernel @ cost @ frame.inverse)
    kernel = target * frame.inverse - now.kernel - turned - bend
    if program.equal:
        return Direction(kernel=kernel, slack=np.zeros_like(now.slack), weights=weights, cost=cost)
    slack = (target - slack_bend - now.slack * weights) / now.weights - now.slack
    return Direction(kernel=kernel, slack=slack, weights=weights, cost=cost)


def _mean_after(frame: Frame, direction: Direction, primal: float, dual: float) -> float:
    """Return the complementarity, per eigenvalue and slack, after steps along a direction."""
    now, count = frame.now, len(frame.root)
    cost = frame.program.laplacian(now.weights + dual * direction.weights) - np.eye(count)
    pairing = float(np.sum((now.kernel + primal * direction.kernel) * cost))
    if frame.program.equal:
        return pairing / count
    slack, weights = now.slack + primal * direction.slack, now.weights + dual * direction.weights
    return (pairing + float(slack @ weights)) / (count + len(slack))
