"""What interior-point methods for unfoldings share: the program, its solution, and steps that stay inside."""

from dataclasses import dataclass

import numpy as np

from mlcli.base.types import Array
from mlcli.stages.linalg import lower_solve, symmetric_eigenvalues

PATIENCE = 8  # steps without gain after which rounding, or the lack of an interior, has the last word


@dataclass(frozen=True)
class Program:
    """Maximize tr R over positive semidefinite R (r x r) with vᵀRv = b, or at most b, for each row v.

    Its dual: minimize bᵀy over weights y with Σ y vvᵀ - I positive semidefinite (y >= 0 for `at most`).
    """

    rows: Array  # m x r
    squared: Array  # m
    equal: bool

    def weighted(self, weights: Array) -> Array:
        """Σ y vvᵀ (r x r), the Laplacian of weighted pairs."""
        return np.asarray((self.rows.T * weights) @ self.rows)

    def least_curvature(self, weights: Array) -> float:
        """The smallest eigenvalue of Σ y vvᵀ."""
        return float(symmetric_eigenvalues(self.weighted(weights))[-1])

    def dual_start(self) -> Array:
        """Equal weights, large enough that Σ y vvᵀ - I is at least I (m)."""
        ones = np.ones(len(self.rows))
        return 2 * ones / self.least_curvature(ones)

    def violation(self, lengths: Array) -> float:
        """How far squared lengths vᵀRv are from what is asked, at worst, relative to the mean of b."""
        excess = lengths - self.squared
        worst = np.abs(excess) if self.equal else np.maximum(excess, 0.0)
        return float(worst.max(initial=0.0) / self.squared.mean())


@dataclass(frozen=True)
class Solution:
    """The best that an interior-point method found."""

    root: Array  # r x r, R = root rootᵀ
    weights: Array  # m, dual feasible
    iterations: int


@dataclass(frozen=True)
class Progress:
    """The best iterate so far, and how long ago it was."""

    root: Array
    weights: Array
    merit: float  # the larger of relative gap and violation
    at: int

    def better(self, other: "Progress") -> "Progress":
        """The one with the smaller merit; a gain of less than a tenth does not count as one in time."""
        if self.merit < other.merit:
            return self if self.merit < 0.9 * other.merit else Progress(self.root, self.weights, self.merit, other.at)
        return other


def relative_gap(value: float, bound: float) -> float:
    """The distance from a value to its upper bound, relative to the bound."""
    return abs(bound - value) / max(abs(bound), abs(value), np.finfo(float).tiny)


def longest(triangle: Array, direction: Array) -> float:
    """The largest step for which L Lᵀ + step * direction stays positive semidefinite."""
    half = lower_solve(triangle, direction)
    smallest = symmetric_eigenvalues(symmetric(lower_solve(triangle, half.T)))[-1]
    return float("inf") if smallest >= 0 else -1 / float(smallest)


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

