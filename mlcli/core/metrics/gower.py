"""Gower's coefficient: numbers and categories in one distance."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import NO_CATEGORIES, TextColumns
from mlcli.base.values.metric import RowMetric
from mlcli.core.metrics.base import Metric, differences, unequal


@stored("gower-metric")
class Gower(Metric):
    """The mean over the columns of |x - y| over the column's range, for categories of x ≠ y (Gower, 1971).

    Ranges are those of the training data; they scale new rows too, which may lie outside. It is `daisy` of R's package
    cluster for numbers and nominal categories. A column that is constant in the training data counts as a category.
    Columns of text that `input.columns` names are categories, and may be the only columns; no other metric reads
    text. A text that no training row has differs from all of them.
    """

    name: Literal["gower"] = "gower"
    categories: ClassVar[TextColumns] = "named"
    scalable: ClassVar[bool] = False  # ranges are those of the data as it is

    def fitted(self, points: Array, categories: Mapping[int, Sequence[str]] = NO_CATEGORIES) -> "RangedGower":
        """Return the comparison with the ranges of the columns of the training points (n x d)."""
        lows = points.min(axis=0)
        halves = points.max(axis=0) / 2 - lows / 2
        nominal = halves == 0
        nominal[list(categories)] = True
        numeric = np.flatnonzero(~nominal)
        return RangedGower(numeric, np.flatnonzero(nominal), lows[numeric], halves[numeric])


@stored("gower-ranges", within={"numeric": "d", "nominal": "d"}, numeric="g", nominal="h", lows="g", halves="g")
@frozen
class RangedGower(RowMetric):
    """Gower's coefficient with the ranges of the training data."""

    numeric: Indices  # columns of numbers
    nominal: Indices  # columns of categories
    lows: Array  # the least number of each column of numbers
    halves: Array  # half of its range: the whole may be larger than any double
    name: ClassVar[str] = "gower"
    column_seconds: ClassVar[float] = 1e-9
    scalable: ClassVar[bool] = False

    def represent(self, points: Array) -> Array:
        """Return numbers in units of their ranges, then categories (n x d), of points (n x d).

        The least is subtracted first: numbers far from zero, compared with their range, would lose digits otherwise.
        """
        shares = (points[:, self.numeric] / 2 - self.lows / 2) / self.halves
        return np.hstack([shares, points[:, self.nominal]])

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of represented rows (m x d, n x d)."""
        count = len(self.numeric)
        sums = differences("cityblock", left[:, :count], right[:, :count])
        sums += unequal(left[:, count:], right[:, count:])
        sums /= left.shape[1]
        return sums
