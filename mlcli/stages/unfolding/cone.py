"""What interior-point methods for unfoldings share: the program, the way to its solution, steps that stay inside."""

from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stages.stage import advance
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.stages.algebra.linalg import EPS, lower_solve, symmetric_eigenvalues
from mlcli.stages.unfolding.pairs import squared_norms

PATIENCE = 15  # steps without gain after which rounding, or the lack of an interior, ends the iteration
SMALL = 200  # rows of a matrix up to which its least eigenvalue is found with all others
LANCZOS = 60  # steps for those of a larger one


@frozen
class Program:
    """Maximize tr R over positive semidefinite R (r x r) with vᵀRv = b, or at most b, for each row v.

    Its dual: minimize bᵀy over weights y with Σ y vvᵀ - I positive semidefinite (y >= 0 for `at most`).
    """

    rows: Array  # m x r
    squared: Array  # m
    equal: bool
    even: Array | None = None  # m, weights to start from; None: all the same
    give: float = 0.0  # what softened distances may add to relative gap and violation, where distances are kept
    implied: tuple[Array, Array] | None = None  # rows and b of pairs that the others imply
    usual: float | None = None  # squared distance that violations are relative to; None: the mean of b

    def weighted(self, weights: Array) -> Array:
        """Σ y vvᵀ (r x r), the Laplacian of weighted pairs."""
        return np.asarray((self.rows.T * weights) @ self.rows)

    def least_curvature(self, weights: Array) -> float:
        """The smallest eigenvalue of Σ y vvᵀ."""
        return float(symmetric_eigenvalues(self.weighted(weights))[-1])

    def dual_start(self) -> Array:
        """Even weights, large enough that Σ y vvᵀ - I is at least I (m)."""
        even = np.ones(len(self.rows)) if self.even is None else self.even
        return 2 * even / self.least_curvature(even)

    def bound(self, weights: Array, least: float) -> float:
        """The dual objective of y/λ, for Σ y vvᵀ whose smallest eigenvalue is λ."""
        return float(self.squared @ weights) / least

    def violation(self, root: Array) -> float:
        """How far squared lengths vᵀRv, R = L Lᵀ, are from what is asked, at worst, relative to the usual one."""
        excess = squared_norms(self.rows @ root) - self.squared
        if self.implied is not None:
            excess = np.append(excess, squared_norms(self.implied[0] @ root) - self.implied[1])
        worst = np.abs(excess) if self.equal else np.maximum(excess, 0.0)
        return float(worst.max(initial=0.0) / (self.usual or self.squared.mean()))


@frozen
class Solution:
    """The best that an interior-point method found."""

    root: Array  # r x r, R = root rootᵀ
    weights: Array  # m, dual feasible
    trace: Array  # the objective after each iteration


@result("inside")
@frozen
class Iterate:
    """A point inside both cones; Z = Σ y vvᵀ - I is always that of the weights."""

    kernel: Array  # r x r, R
    slack: Array  # m, b - vᵀRv in the end; nothing, or left alone, where distances are kept
    weights: Array  # m, y


class Frame(Protocol):
    """What one iteration computes of its iterate before it looks for directions."""

    @property
    def now(self) -> Iterate:
        """The iterate."""

    @property
    def root(self) -> Array:
        """L with R = L Lᵀ (r x r)."""

    @property
    def value(self) -> float:
        """The objective."""

    @property
    def bound(self) -> float:
        """That of the dual."""

    @property
    def merit(self) -> float:
        """The larger of relative gap and violation."""


F = TypeVar("F", bound=Frame)


@frozen
class Progress(Generic[F]):
    """The best iterate so far, and when the last gain worth its time was."""

    best: F
    at: int

    def with_next(self, frame: F, iteration: int) -> "Progress[F]":
        """The one with the smaller merit; a gain of less than a tenth does not count as one in time."""
        if frame.merit >= self.best.merit:
            return self
        return Progress(frame, iteration if frame.merit < 0.9 * self.best.merit else self.at)


@result("unfolding")
@frozen
class Checkpoint:
    """Where a program stands between two steps: what follows from the iterates is computed again, to the same bits."""

    now: Iterate
    best: Iterate
    at: int  # of the last gain
    trace: Array  # the objective after each iteration so far


def climb(start: Iterate, framed: Callable[[Iterate], F | None], step: Callable[[F], Iterate | None],
          tolerance: float, limit: int, floor: float = -np.inf) -> Solution:
    """Steps until gap and violation are below `tolerance`, or as far as rounding allows.

    `framed` gives None for an iterate that lies on the boundary to rounding. Stops as soon as the dual bound falls
    below `floor`, a value that every feasible kernel reaches: then none exists. Each step offers a checkpoint.
    """
    with loop(Checkpoint) as place:
        begun = place.left or Checkpoint(start, start, 0, np.zeros(0))
        frame = framed(begun.now)
        best = frame if begun.best is begun.now else framed(begun.best)
        if frame is None or best is None:
            return Solution(np.zeros_like(start.kernel), start.weights, np.zeros(0))
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
            place.offer(partial(Checkpoint, frame.now, progress.best.now, progress.at, np.array(trace)))
    best = frame if frame.bound < floor else progress.best
    return Solution(best.root, best.now.weights, np.array(trace))


def relative_gap(value: float, bound: float, scale: float = 0.0) -> float:
    """The distance from a value to its upper bound, relative to the largest size among them and a scale."""
    return abs(bound - value) / max(abs(bound), abs(value), scale, np.finfo(float).tiny)


def longest(triangle: Array, direction: Array) -> float:
    """The largest step for which L Lᵀ + step * direction stays positive semidefinite."""
    half = lower_solve(triangle, direction)
    smallest = least_eigenvalue(symmetric(lower_solve(triangle, half.T)))
    return float("inf") if smallest >= 0 else -1 / smallest


def least_eigenvalue(matrix: Array) -> float:
    """The smallest eigenvalue of a symmetric matrix, or of a large one a lower bound within a hundredth (Lanczos)."""
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
    """The largest step for which positive numbers stay nonnegative."""
    down = direction < 0
    return float(np.min(-values[down] / direction[down], initial=np.inf))


def inverse_root(triangle: Array) -> Array:
    """L⁻¹ of A = L Lᵀ, for A⁻¹ = L⁻ᵀ L⁻¹."""
    return lower_solve(triangle, np.eye(len(triangle)))


def symmetric(matrix: Array) -> Array:
    """The symmetric part."""
    return np.asarray((matrix + matrix.T) / 2)

