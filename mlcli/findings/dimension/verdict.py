"""The verdict of a rule for the number of axes, and the evidence for all rules."""

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Rows
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.methods import Method


@frozen
class Verdict:
    """The answer of a rule that applies."""

    components: int | None  # axes to keep; None where the rule gives figures and no count
    rule: str  # the rule in one sentence
    detail: str  # the deciding figure, in a few words
    figures: dict[str, Any] = field(default_factory=dict)
    doubt: str = ""  # why it has no vote in the recommendation here, where it has none


@frozen
class NotApplicable:
    """A rule that does not apply, with the reason."""

    reason: str


@frozen
class Evidence:
    """The evidence for the rules: the eigenvalues of `method`, and everything else where it exists.

    Of factor analysis they are the eigenvalues of the correlations of the columns, and `points` is standardized.
    """

    method: Method
    spectrum: Spectrum
    axes: Array  # (n, q) array: coordinates on the kept axes and on further ones that were computed, in one unit
    points: Array | None  # where `of_columns`: all rows, or of very many a sample, in the units of `solved` (m x d)
    width: int  # number of columns of the input, the cost of one distance
    distances: Callable[[Indices, Indices], Array] | None  # from some points to some (s x t), those the method keeps
    nearest: Callable[[Indices, int], Array] | None  # to the nearest others among some points (m x k), of the input
    seed: int = 0
    of_columns: bool = False  # whether the eigenvalues are variances of combinations of columns
    moments: Array | None = None  # d x d: the covariance of the columns in the units of `solved`, where no row is known
    observations: int | None = None  # rows that the eigenvalues are sums over, or that a covariance was made of
    no_eigenvalues: str = ""  # why the spectrum does not say how many axes to keep, where it does not
    rows: Rows | None = None  # of a table read in blocks, some of which are in memory
    factors: int = 0  # the most factors that factor analysis can determine; 0 for other methods

    @property
    def positive(self) -> Array:
        """The computed eigenvalues above rounding, in the units of `solved`."""
        solved = self.spectrum.solved
        return solved[solved > 10 * max(self.size, 1) * EPS * float(solved[:1].max(initial=0.0))]

    @property
    def parts(self) -> tuple[int, float] | None:
        """The number of eigenvalues in the positive total, and that total; None where either is unknown."""
        if self.of_columns:
            most = self.width if self.points is None else self.size - 1
            return min(most, len(self.norms)), self.spectrum.solved_trace
        return (len(self.positive), float(self.positive.sum())) if self.spectrum.complete else None

    @cached_property
    def columns(self) -> Array:
        """The columns of `points` that vary, minus their means, an (m, c) array."""
        if self.points is None:
            return np.zeros((0, 0))
        points = self.points
        varying = points.max(axis=0) > points.min(axis=0) if len(points) else np.zeros(points.shape[1], dtype=bool)
        return points[:, varying] - points[:, varying].mean(axis=0)

    @cached_property
    def norms(self) -> Array:
        """The norms of the columns that vary, scaled so that the squares sum to the trace, a (c,) array."""
        if self.moments is not None:
            return np.sqrt(np.diag(self.moments)[np.diag(self.moments) > 0])
        norms = np.linalg.norm(self.columns, axis=0)
        size = float(np.linalg.norm(norms))  # zero where all squares vanish
        return norms * np.sqrt(self.spectrum.solved_trace) / size if size else norms

    @property
    def correlations(self) -> Array:
        """The correlations of the columns that vary, a (c, c) array."""
        if self.moments is None:
            norms = np.linalg.norm(self.columns, axis=0)
            return np.asarray(self.columns.T @ self.columns / np.outer(norms, norms))
        varying = np.diag(self.moments) > 0
        return np.asarray(self.moments[np.ix_(varying, varying)] / np.outer(self.norms, self.norms))

    @property
    def correlation_eigenvalues(self) -> list[float]:
        """The eigenvalues of the correlations in factor analysis; empty for other methods."""
        if not self.factors or self.no_eigenvalues:
            return []
        shares = self.spectrum.solved / self.spectrum.solved_trace
        return [float(share) for share in shares * len(self.norms)]

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.axes)

    def generator(self) -> np.random.Generator:
        """Return a new random generator; every call gives the same stream."""
        return np.random.default_rng(self.seed)

    def sample(self, most: int) -> Indices:
        """Return all points, or a random sample of `most` in their order; of those in memory where not all are."""
        if self.rows is not None:
            return self.rows.some(most)
        if self.size <= most:
            return np.arange(self.size)
        return np.sort(self.generator().choice(self.size, most, replace=False))


def count_leading(above: AnyArray) -> int:
    """Return how many of the first values are true, before the first false one."""
    return int(np.argmin(np.append(above, False)))
