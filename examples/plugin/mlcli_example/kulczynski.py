"""The Kulczynski dissimilarity of amounts, as of species at sites."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core.metrics.base import Metric, by_columns
from mlcli.core.metrics.domain import Domain


@stored()
class Kulczynski(Metric):
    """What two rows do not share, as the mean of its shares of both, 1 - (Σ min / Σ x + Σ min / Σ y) / 2, from 0 to 1.

    It is vegan's `kulczynski` (Faith, Minchin and Belbin, 1987). It breaks the triangle inequality.
    """

    name: Literal["kulczynski"] = "kulczynski"
    amounts: ClassVar[bool] = True
    triangle: ClassVar[bool] = False
    column_seconds: ClassVar[float] = 2e-9
    definition: ClassVar[str] = "mlcli_example.kulczynski:defined"
    rounding: ClassVar[float] = 1.0  # of the difference from one

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers below zero and rows of zeros (n x d); raises DataError."""
        Domain(self.name, points, ids, columns).require_amounts()

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of two arrays of rows (m x d, n x d): the mean of both excesses' shares."""
        over = by_columns(left, right, lambda x, y: np.maximum(x - y, 0))
        under = by_columns(left, right, lambda x, y: np.maximum(y - x, 0))
        return np.asarray((over / left.sum(axis=1)[:, None] + under / right.sum(axis=1)) / 2)


def defined(metric: Any, left: Array, right: Array) -> Array:
    """Return dissimilarities (m x n) of rows (m x d, n x d) by the definition, for the certificate."""
    shared = np.array([np.minimum(row, right).sum(axis=1) for row in left]).reshape(len(left), len(right))
    return np.asarray(1 - (shared / left.sum(axis=1)[:, None] + shared / right.sum(axis=1)) / 2)
