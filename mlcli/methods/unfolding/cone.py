"""Common parts of the interior-point methods for unfoldings: program, iteration, and steps that stay inside."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stages.stage import advance
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.core.blocked import product
from mlcli.core.linalg import lower_solve, symmetric_eigenvalues
from mlcli.methods.unfolding.pairs import NeighborPairs, squared_norms

PATIENCE = 15  # steps without gain after which rounding, or the lack of an interior, ends the iteration
SMALL = 200  # rows of a matrix up to which its least eigenvalue is computed with all others
LANCZOS = 60  # steps for a larger matrix


@frozen
class Program:
    """Maximize tr R over positive semidefinite R (r x r) with vᵀRv = b, or at most b, for each row v.

    A row is the difference of the basis vectors V at the two points of a pair. The
    dual: minimize bᵀy over weights y with Σ y vvᵀ - I positive semidefinite (y >= 0 for `at most`).
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
            advance(iteration, limit)
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

