"""Metrics by the angle between two rows: cosine and correlation."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core import rows
from mlcli.core.metrics.base import Metric
from mlcli.core.metrics.domain import CONSTANT, Domain
from mlcli.errors import GeometryError


@stored("cosine-metric")
class Cosine(Metric):
    """One minus the cosine of the angle between two rows, 1 - ⟨x, y⟩ / (‖x‖ ‖y‖), from 0 to 2; SciPy's `cosine`.

    It is half the squared Euclidean distance of the rows at unit length, which is how it is computed: so near rows
    keep their digits. It breaks the triangle inequality.
    """

    name: Literal["cosine"] = "cosine"
    triangle: ClassVar[bool] = False
    embeds: ClassVar[bool] = True
    contrasts: ClassVar[bool] = True

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse rows (n x d) of zeros, which have no direction; raises DataError."""
        Domain(self.name, points, ids, columns).require_nonzero()

    def require_contrast(self, gap: float, count: int) -> None:
        """Refuse rows that differ by rounding only; raises GeometryError."""
        require_directions(self.name, gap, count)

    def represent(self, points: Array) -> Array:
        """Return rows of unit length (n x d)."""
        return rows.unit(points)

    def lengths(self, squared: Array) -> Array:
        """Return half the squared distances (m x n), in place."""
        return np.multiply(squared, 0.5, out=squared)


@stored("correlation-metric")
class Correlation(Metric):
    """One minus Pearson's correlation of two rows, the cosine metric of rows less their means; SciPy's `correlation`.

    It breaks the triangle inequality.
    """

    name: Literal["correlation"] = "correlation"
    triangle: ClassVar[bool] = False
    embeds: ClassVar[bool] = True
    contrasts: ClassVar[bool] = True

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse rows (n x d) whose numbers are all equal; raises DataError."""
        Domain(self.name, points, ids, columns).require_varying()

    def require_contrast(self, gap: float, count: int) -> None:
        """Refuse rows that differ by rounding only; raises GeometryError."""
        require_directions(self.name, gap, count)

    def represent(self, points: Array) -> Array:
        """Return rows less their means, of unit length (n x d)."""
        return rows.unit(rows.centered(points))

    def lengths(self, squared: Array) -> Array:
        """Return half the squared distances (m x n), in place."""
        return np.multiply(squared, 0.5, out=squared)


def require_directions(name: str, gap: float, count: int) -> None:
    """Raise GeometryError where all rows have one direction but for rounding; exactly equal rows are no error here."""
    if 0 < gap <= CONSTANT:
        raise GeometryError("ALL-EQUAL", f"all {count} points are equal under {name}, but for rounding",
                            hint="columns with far larger numbers than the others dominate the metric: scale all "
                                "columns ({prepare.scale=standard}), or choose euclidean")
