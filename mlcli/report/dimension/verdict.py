"""What a rule for the number of axes says, and what all rules go by."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.stages.linalg import EPS
from mlcli.stages.spectrum import Spectrum


@dataclass(frozen=True)
class Verdict:
    """A rule that applies."""

    components: int | None  # axes to keep; None where the rule gives figures and no count
    rule: str  # the rule in one sentence
    detail: str  # what decided, in a few words
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LeftOut:
    """A rule that does not apply, and why."""

    reason: str


@dataclass(frozen=True)
class Evidence:
    """What the rules go by; the eigenvalues are those of `method`, everything else is there where it exists."""

    method: str
    spectrum: Spectrum
    axes: Array  # n x q: coordinates on the kept axes and on further ones that were computed, in one unit
    points: Array | None  # of PCA only: all rows, or of very many a sample, in the units of `solved` (m x d)
    width: int  # columns of the input: what one distance costs
    distances: Callable[[Indices, Indices], Array] | None  # from some points to some (s x t), those the method keeps
    nearest: Callable[[Indices, int], Array] | None  # to the nearest others among some points (m x k), of the input
    seed: int = 0

    @property
    def of_columns(self) -> bool:
        """Whether the eigenvalues are variances of combinations of columns: PCA."""
        return self.spectrum.directions is not None

    @property
    def positive(self) -> Array:
        """The computed eigenvalues that are more than rounding, in the units of `solved`."""
        solved = self.spectrum.solved
        return solved[solved > 10 * max(self.size, 1) * EPS * float(solved[:1].max(initial=0.0))]

    @property
    def parts(self) -> tuple[int, float] | None:
        """How many eigenvalues the positive total is made of, and that total; None where either is unknown."""
        if self.of_columns and self.points is not None:
            return min(self.size - 1, self.columns.shape[1]), self.spectrum.solved_trace
        return (len(self.positive), float(self.positive.sum())) if self.spectrum.complete else None

    @cached_property
    def columns(self) -> Array:
        """The columns of `points` that vary, less their means."""
        points = np.zeros((0, 0)) if self.points is None else self.points
        varying = np.ptp(points, axis=0) > 0 if len(points) else np.zeros(points.shape[1], dtype=bool)
        return points[:, varying] - points[:, varying].mean(axis=0)

    @cached_property
    def norms(self) -> Array:
        """Their sizes, such that the squares sum to the trace."""
        norms = np.linalg.norm(self.columns, axis=0)
        return norms * np.sqrt(self.spectrum.solved_trace) / np.linalg.norm(norms) if len(norms) else norms

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.axes)

    def generator(self) -> np.random.Generator:
        """A fresh random generator; every call gives the same stream."""
        return np.random.default_rng(self.seed)

    def sample(self, most: int) -> Indices:
        """All points, or so many of them at random, in their order."""
        if self.size <= most:
            return np.arange(self.size)
        return np.sort(self.generator().choice(self.size, most, replace=False))


def leading(above: AnyArray) -> int:
    """How many of the first come before one that fails."""
    return int(np.argmin(np.append(above, False)))
