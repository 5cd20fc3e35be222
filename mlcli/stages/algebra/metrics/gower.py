"""Gower's coefficient: numbers and categories in one distance."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.errors import DataError
from mlcli.stages.algebra.metrics.base import Metric
from mlcli.stages.algebra.metrics.sums import differences, unequal


@stored("gower-metric")
class Gower(Metric):
    """The mean over the columns of |x - y| over the column's range, for categories of x ≠ y (Gower, 1971).

    Ranges are those of the training data; they scale new rows too, which may lie outside. It is `daisy` of R's package
    cluster for numbers and nominal categories. A column that is constant in the training data counts as a category.
    Columns of text that `input.columns` names are categories, and may be all that there is; no other metric reads
    text. A text that no training row has differs from all of them.
    """

    name: Literal["gower"] = "gower"
    categories: ClassVar[bool] = True
    scalable: ClassVar[bool] = False  # ranges are those of the data as it is

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuses a column whose range is beyond double precision."""
        with np.errstate(over="ignore"):
            wide = np.flatnonzero(np.isinf(np.ptp(points, axis=0)))
        if len(wide):
            raise DataError("METRIC", f"column {columns[wide[0]]!r}: the range of its numbers is beyond double "
                            "precision", where="method.metric", hint="give the column in another unit")

    def fitted(self, points: Array, categories: Sequence[int] = ()) -> "RangedGower":
        """The comparison with the ranges of the columns."""
        low, high = points.min(axis=0), points.max(axis=0)
        nominal = high == low
        nominal[list(categories)] = True
        numeric = np.flatnonzero(~nominal)
        return RangedGower(numeric, np.flatnonzero(nominal), low[numeric], high[numeric] - low[numeric])


@stored("gower-ranges", within={"numeric": "d", "nominal": "d"}, numeric="g", nominal="h", lowest="g", ranges="g")
@frozen
class RangedGower:
    """Gower's coefficient with the ranges of the training data."""

    numeric: Indices  # columns of numbers
    nominal: Indices  # columns of categories
    lowest: Array  # number of each column of numbers, from which they are measured: far from zero they have few digits
    ranges: Array  # of the columns of numbers
    name: ClassVar[str] = "gower"
    plain: ClassVar[bool] = False
    embeds: ClassVar[bool] = False
    unit_power: ClassVar[int] = 0
    column_seconds: ClassVar[float] = 1e-9
    scalable: ClassVar[bool] = False

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """All numbers can be compared."""

    def represented(self, points: Array) -> Array:
        """Numbers above the lowest in units of their ranges, then categories."""
        return np.hstack([(points[:, self.numeric] - self.lowest) / self.ranges, points[:, self.nominal]])

    def compared(self, left: Array, right: Array) -> Array:
        """Distances (m x n)."""
        count = len(self.numeric)
        sums = differences("cityblock", left[:, :count], right[:, :count])
        sums += unequal(left[:, count:], right[:, count:])
        sums /= left.shape[1]
        return sums

    def lengths(self, squared: Array) -> Array:
        """Not from Euclidean distances."""
        raise TypeError("Gower's coefficient does not follow from Euclidean distances")
