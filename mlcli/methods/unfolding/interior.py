"""Interior-point methods: what they share, and the one for the semidefinite program of an unfolding over its pairs.

Directions of Helmberg, Rendl, Vanderbei and Wolkowicz (1996), Kojima, Shindoh and Hara (1997) and
Monteiro (1997) with Mehrotra's predictor and corrector. Constraints are pairs, so the system for
the weights has the entries (uᵀRv)(uᵀZ⁻¹v) for pairs u and v: two products and one Cholesky.

Directions are computed in the coordinates of the roots R = L Lᵀ and Z = C Cᵀ. Rounding is then relative to
each direction's own size; products with R and Z⁻¹ themselves lose the short distances where weights are large.
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stages.stage import Limit, advance
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.core.blocked import gram_product, product, steady_solver
from mlcli.core.linalg import cholesky, lower_solve, symmetric_eigenvalues
from mlcli.methods.unfolding.pairs import NeighborPairs, squared_norms

PATIENCE = 15  # steps without gain after which rounding, or the lack of an interior, ends the iteration
SMALL = 200  # rows of a matrix up to which its least eigenvalue is computed with all others
LANCZOS = 60  # steps for a larger matrix


@frozen
class Program:
    """Maximize tr R over positive semidefinite R (r x r) with vᵀRv = b, or at most b, for each row v.

    A row is the difference of the basis vectors V at the two points of a pair. The
    dual: minimize bᵀy over weights y with Σ y vvᵀ - I positive semidefinite (y >= 0 for `at most`). This keeps the
    distances; with few unknowns that is impossible, and `PenalizedProgram` (`basis.py`) has another objective and dual.
    """

    basis: Array  # n x r, V
    pairs: NeighborPairs  # m, with the squared distances b
    equal: bool
    even: Array | None = None  # m, weights to start from; None: all equal
    give: float = 0.0  # increase of relative gap and violation allowed to softened distances, under `equal`
    implied: NeighborPairs | None = None  # pairs that the others imply
    usual: float | None = None  # squared distance that violations are relative to; None for the mean of b

    @property
    def squared(self) -> Array:
        """b (m)."""
        return self.pairs.squared

    @cached_property
    def rows(self) -> Array:
        """The rows v (m x r)."""
        return self.pairs.differences(self.basis)

    @cached_property
    def incidence(self) -> Any:
        """The sparse matrix (m x n) of differences between the points of each pair."""
        from scipy.sparse import csr_array

        columns = np.stack([self.pairs.left, self.pairs.right], axis=1).ravel()
        entries = np.tile([1.0, -1.0], len(self.pairs)), columns, np.arange(0, len(columns) + 1, 2)
        return csr_array(entries, shape=(len(self.pairs), self.pairs.size))

    def laplacian(self, weights: Array) -> Array:
        """Return Σ y vvᵀ (r x r), the Laplacian of pairs with weights y (m)."""
        sparse = self.incidence.T @ self.incidence.multiply(weights[:, None])
        return symmetric_part(product(self.basis.T, sparse @ self.basis))

    def least_curvature(self, weights: Array) -> float:
        """Return the smallest eigenvalue of Σ y vvᵀ for weights y, an (m,) array."""
        return float(symmetric_eigenvalues(self.laplacian(weights))[-1])

    def dual_start(self) -> Array:
        """Return even weights (m), so large that Σ y vvᵀ - I is at least I."""
        even = np.ones(len(self.pairs)) if self.even is None else self.even
        return 2 * even / self.least_curvature(even)

    def bound(self, weights: Array, least: float) -> float:
        """Return the dual objective of y/λ for weights y, an (m,) array; λ is the smallest eigenvalue of Σ y vvᵀ."""
        return float(self.squared @ weights) / least

    def violation(self, points: Array) -> float:
        """Return the largest error of squared distances between points V L (n x r), relative to the usual one."""
        excess = [squared_norms(pairs.differences(points)) - pairs.squared
                  for pairs in (self.pairs, self.implied) if pairs is not None]
        worst = max(float((np.abs(one) if self.equal else one).max(initial=0.0)) for one in excess)
        return worst / (self.usual or float(self.squared.mean()))


@frozen
class Solution:
    """The best iterate of an interior-point method."""

    root: Array  # r x r, R = root rootᵀ
    weights: Array  # m, dual feasible
    trace: Array  # the objective after each iteration


@result("inside")
@frozen
class InteriorPoint:
    """A point in the interior of both cones; Z is always Σ y vvᵀ - I of its weights."""

    root: Array  # r x r, L with R = L Lᵀ
    slack: Array  # m, b - vᵀRv at convergence; empty or unused under `equal`
    weights: Array  # m, y


class FactoredIterate(Protocol):
    """An iterate with its factorizations and figures."""

    @property
    def now(self) -> InteriorPoint:
        """The iterate."""

    @property
    def value(self) -> float:
        """The objective."""

    @property
    def bound(self) -> float:
        """The dual objective."""

    @property
    def merit(self) -> float:
        """The larger of relative gap and violation."""


F = TypeVar("F", bound=FactoredIterate)


@frozen
class Progress(Generic[F]):
    """The best iterate so far, and the iteration of the last considerable gain."""

    best: F
    at: int

    def with_next(self, frame: F, iteration: int) -> "Progress[F]":
        """Return the progress with the better frame; a gain below a tenth does not renew the patience."""
        if frame.merit >= self.best.merit:
            return self
        return Progress(frame, iteration if frame.merit < 0.9 * self.best.merit else self.at)


@result("unfolding")
@frozen
class ConeCheckpoint:
    """State of a program between two steps; what follows from the iterates is computed again, to the same bits."""

    now: InteriorPoint
    best: InteriorPoint
    at: int  # of the last gain
    trace: Array  # the objective after each iteration so far


def climb(start: InteriorPoint, framed: Callable[[InteriorPoint], F | None], step: Callable[[F], InteriorPoint | None],
          tolerance: float, limit: int, floor: float = -np.inf) -> Solution:
    """Iterate until gap and violation are below `tolerance`, or as far as rounding allows.

    `framed` factors an iterate; it returns None for one on the boundary to rounding. Stops as soon as the dual bound
    falls below `floor`, a value that every feasible kernel reaches: then none exists. Each step offers a checkpoint.
    """
    with loop(ConeCheckpoint) as place:
        begun = place.left or ConeCheckpoint(start, start, 0, np.zeros(0))
        frame = framed(begun.now)
        best = frame if begun.best is begun.now else framed(begun.best)
        if frame is None or best is None:
            return Solution(np.zeros_like(start.root), start.weights, np.zeros(0))
        progress, trace = Progress(best, begun.at), begun.trace.tolist()
        for iteration in range(len(trace) + 1, limit + 1):
            if progress.best.merit <= tolerance or frame.bound < floor or iteration - progress.at > PATIENCE:
                break
            now = step(frame)
            following = None if now is None else framed(now)
            if following is None:
                break
            frame = following
            trace.append(frame.value)
            progress = progress.with_next(frame, iteration)
            advance(iteration, Limit(limit))
            place.offer(partial(ConeCheckpoint, frame.now, progress.best.now, progress.at, np.array(trace)))
    best = frame if frame.bound < floor else progress.best
    return Solution(best.now.root, best.now.weights, np.array(trace))


def relative_gap(value: float, bound: float, scale: float = 0.0) -> float:
    """Return the distance from a value to its upper bound, relative to the largest size among them and a scale."""
    return abs(bound - value) / max(abs(bound), abs(value), scale, np.finfo(float).tiny)


def longest_step(triangle: Array, direction: Array) -> float:
    """Return the largest step for which L Lᵀ + step * direction (r x r each) stays positive semidefinite."""
    half = lower_solve(triangle, direction)
    return longest_scaled(symmetric_part(lower_solve(triangle, half.T)))


def longest_scaled(direction: Array) -> float:
    """Return the largest step for which I + step * direction (r x r) stays positive semidefinite."""
    smallest = least_eigenvalue(direction)
    return float("inf") if smallest >= 0 else -1 / smallest


def least_eigenvalue(matrix: Array) -> float:
    """Return the smallest eigenvalue of a symmetric matrix (r x r); for a large one a lower bound to 1 % (Lanczos)."""
    size = len(matrix)
    if size <= SMALL:
        return float(symmetric_eigenvalues(matrix)[-1])
    basis = np.zeros((size, LANCZOS + 1))
    small = np.zeros((LANCZOS + 1, LANCZOS + 1))
    basis[:, 0] = np.random.default_rng(0).standard_normal(size)
    basis[:, 0] /= np.linalg.norm(basis[:, 0])
    for step in range(LANCZOS):
        image = matrix @ basis[:, step]
        small[: step + 1, step] = basis[:, : step + 1].T @ image
        for _ in range(2):
            image -= basis[:, : step + 1] @ (basis[:, : step + 1].T @ image)
        rest = float(np.linalg.norm(image))
        values, vectors = np.linalg.eigh(small[: step + 1, : step + 1], UPLO="U")
        error = rest * abs(float(vectors[-1, 0]))
        if rest <= EPS * np.abs(values).max() or (step > 8 and error <= 0.01 * abs(values[0])):
            break
        basis[:, step + 1] = image / rest
    return float(values[0]) - error


def longest_linear(values: Array, direction: Array) -> float:
    """Return the largest step along a direction (m) for which positive values, an (m,) array, stay nonnegative."""
    down = direction < 0
    return float(np.min(-values[down] / direction[down], initial=np.inf))


def inverse_root(triangle: Array) -> Array:
    """Return L⁻¹ (r x r) of A = L Lᵀ, for A⁻¹ = L⁻ᵀ L⁻¹."""
    return lower_solve(triangle, np.eye(len(triangle)))


def symmetric_part(matrix: Array) -> Array:
    """Return the symmetric part of a matrix (r x r)."""
    return np.asarray((matrix + matrix.T) / 2)


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
