"""Metrics by differences of numbers besides the Euclidean one: city block, Chebyshev, Minkowski, Canberra, Hamming."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.options import option
from mlcli.core.arithmetic import power
from mlcli.core.metrics.base import Metric, by_columns, differences, unequal


@stored("cityblock-metric")
class Cityblock(Metric):
    """The sum of the differences of all columns, Σ |x - y|; SciPy's `cityblock`."""

    name: Literal["cityblock"] = "cityblock"
    unit_power: ClassVar[int] = 1

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of two arrays of rows (m x d, n x d)."""
        return differences("cityblock", left, right)


@stored("chebyshev-metric")
class Chebyshev(Metric):
    """The largest difference in a column, max |x - y|; SciPy's `chebyshev`."""

    name: Literal["chebyshev"] = "chebyshev"
    unit_power: ClassVar[int] = 1

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of two arrays of rows (m x d, n x d)."""
        return differences("chebyshev", left, right)


@stored("minkowski-metric")
class Minkowski(Metric):
    """(Σ |x - y|ᵖ)^(1/p), between city block (p = 1), Euclidean (p = 2) and Chebyshev; SciPy's `minkowski`."""

    name: Literal["minkowski"] = "minkowski"
    column_seconds: ClassVar[float] = 5e-9
    unit_power: ClassVar[int] = 1
    p: float = option(3.0, "Exponent p of the Minkowski distance.", ge=1)

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of rows (m x d, n x d), in units of the largest difference: powers do not vanish."""
        largest = differences("chebyshev", left, right)
        unit = np.where(largest > 0, largest, 1.0)
        sums = by_columns(left, right, lambda own, other: power(np.abs(own - other) / unit, self.p))
        found: Array = largest * power(sums, 1 / self.p)
        return found


@stored("canberra-metric")
class Canberra(Metric):
    """Σ |x - y| / (|x| + |y|), where columns with two zeros count nothing; SciPy's `canberra`.

    It is not divided by the number of columns that are not zero in both rows, as R's vegan does.
    """

    name: Literal["canberra"] = "canberra"
    amounts: ClassVar[bool] = True
    column_seconds: ClassVar[float] = 4e-10

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of two arrays of rows (m x d, n x d)."""
        return differences("canberra", left, right)


@stored("hamming-metric")
class Hamming(Metric):
    """The share of the columns in which two rows have different numbers; SciPy's `hamming`."""

    name: Literal["hamming"] = "hamming"
    column_seconds: ClassVar[float] = 4e-10
    scalable: ClassVar[bool] = False

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of two arrays of rows (m x d, n x d)."""
        found: Array = unequal(left, right) / left.shape[1]
        return found
