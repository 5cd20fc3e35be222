"""Metrics of compositions, where only the shares of a row's total count: Hellinger, Jensen-Shannon, Aitchison."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core import rows
from mlcli.core.arithmetic import logarithm, series
from mlcli.core.metrics.base import Metric, by_columns
from mlcli.core.metrics.domain import Domain

NEAR_ONE = 1 - 2.0**-53
NEAR = 0.25  # t below which the series of the divergence takes the place of logarithms
COEFFICIENTS = 1 / (np.arange(13.0, 0, -1) * np.arange(25.0, 0, -2))  # 1 / (k (2 k - 1)), the last of 1e-17 at that t


@stored("hellinger-metric")
class Hellinger(Metric):
    """The Euclidean distance of the square roots of shares, √Σ (√p - √q)² with p = x / Σx, from 0 to √2.

    It is that of vegan (Legendre and Gallagher, 2001); statisticians divide by √2.
    """

    name: Literal["hellinger"] = "hellinger"
    amounts: ClassVar[bool] = True
    embeds: ClassVar[bool] = True

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers below zero and rows of zeros (n x d); raises DataError."""
        Domain(self.name, points, ids, columns).require_amounts()

    def represent(self, points: Array) -> Array:
        """Return square roots of shares (n x d)."""
        return rows.root_shares(points)


@stored("jensenshannon-metric")
class JensenShannon(Metric):
    """√(½ Σ p ln(p/m) + ½ Σ q ln(q/m)) of the shares p and q of two rows, m = (p + q) / 2; SciPy's `jensenshannon`.

    From 0 to √(ln 2).
    """

    name: Literal["jensenshannon"] = "jensenshannon"
    amounts: ClassVar[bool] = True
    column_seconds: ClassVar[float] = 8e-9

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers below zero and rows of zeros (n x d); raises DataError."""
        Domain(self.name, points, ids, columns).require_amounts()

    def represent(self, points: Array) -> Array:
        """Return the shares of each row's total (n x d)."""
        return rows.shares(points)

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of rows of shares (m x d, n x d)."""
        return np.sqrt(by_columns(left, right, _divergence))


@stored("aitchison-metric")
class Aitchison(Metric):
    """The Euclidean distance of centered log-ratios, ln x - mean(ln x) (Aitchison, 1986); vegan's `aitchison`."""

    name: Literal["aitchison"] = "aitchison"
    amounts: ClassVar[bool] = True
    scalable: ClassVar[bool] = False
    embeds: ClassVar[bool] = True

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers of zero or less (n x d), which have no logarithm; raises DataError."""
        Domain(self.name, points, ids, columns).require_cells(
            points > 0, "over zero", "add a small amount to all cells, or replace zeros by one (a pseudocount), "
            "as for prepare.transform: clr; or choose hellinger, which takes zeros")

    def represent(self, points: Array) -> Array:
        """Return centered log-ratios (n x d)."""
        return rows.log_ratios(points)


def _divergence(p: Array, q: Array) -> Array:
    """½ (p ln(p/m) + q ln(q/m)) as ½ m (t ln((1 + t)/(1 - t)) + ln(1 - t²)) with t = |p - q| / (p + q).

    Where t is small, its series keeps the digits. At t = 1 the limit is m ln 2, which t less one bit gives to 1e-14.
    """
    total, t = p + q, np.abs(p - q)
    np.divide(t, total, out=t, where=total > 0)
    np.minimum(t, NEAR_ONE, out=t)
    up, down, near = 1 + t, 1 - t, t < NEAR
    found = logarithm(up / down)  # in place from here on: most of the time goes to new arrays
    found *= t
    up *= down
    found += logarithm(up)
    t *= t
    np.copyto(found, t * series(t, COEFFICIENTS), where=near)
    total *= 0.25
    found *= total
    return found
