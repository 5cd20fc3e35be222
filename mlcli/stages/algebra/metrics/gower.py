"""Gower's coefficient: numbers and categories in one distance."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.metrics.base import Metric
from mlcli.stages.algebra.metrics.domain import Domain
from mlcli.stages.algebra.metrics.sums import differences, unequal

LARGEST = float(np.finfo(np.float64).max) / 4


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
        """Refuses numbers so large that a range may not be a double."""
        require_ranges(points, ids, columns)

    def fitted(self, points: Array, categories: Sequence[int] = ()) -> "RangedGower":
        """The comparison with the ranges of the columns."""
        low, high = points.min(axis=0), points.max(axis=0)
        nominal = high == low
        nominal[list(categories)] = True
        numeric = np.flatnonzero(~nominal)
        return RangedGower(numeric, np.flatnonzero(nominal), low[numeric], high[numeric] - low[numeric])


@stored("gower-ranges", within={"numeric": "d", "nominal": "d"}, numeric="g", nominal="h", low="g", ranges="g")
@frozen
class RangedGower:
    """Gower's coefficient with the ranges of the training data."""

    numeric: Indices  # columns of numbers
    nominal: Indices  # columns of categories
    low: Array  # the smallest number of each column of numbers: a far origin costs no digits
    ranges: Array  # of these columns
    name: ClassVar[str] = "gower"
    plain: ClassVar[bool] = False
    embeds: ClassVar[bool] = False
    unit_power: ClassVar[int] = 0
    column_seconds: ClassVar[float] = 1e-9
    scalable: ClassVar[bool] = False

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Likewise."""
        require_ranges(points, ids, columns)

    def represented(self, points: Array) -> Array:
        """Numbers over the lowest in units of their ranges, then categories."""
        return np.hstack([(points[:, self.numeric] - self.low) / self.ranges, points[:, self.nominal]])

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


def require_ranges(points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
    """Refuses numbers beyond half of the largest double; raises DataError with row and column."""
    Domain("gower", points, ids, columns).require_cells(
        np.abs(points) <= LARGEST, f"of at most {LARGEST:.2g} in size", "correct the cell, or give it in another unit")
