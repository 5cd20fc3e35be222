"""Metrics of amounts and of presence: Bray-Curtis, Ruzicka, Jaccard, Dice."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from mlcli import native
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core.metrics.base import Metric, differences
from mlcli.core.metrics.domain import Domain
from mlcli.errors import DataError


@stored("braycurtis-metric")
class BrayCurtis(Metric):
    """Differences as a share of all that two rows hold, Σ |x - y| / Σ (x + y), from 0 to 1; SciPy's `braycurtis`.

    It is also vegan's `bray`. It breaks the triangle inequality.
    """

    name: Literal["braycurtis"] = "braycurtis"
    amounts: ClassVar[bool] = True
    column_seconds: ClassVar[float] = 3e-10
    shared_seconds: ClassVar[float | None] = 9e-11
    triangle: ClassVar[bool] = False

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers below zero and rows of zeros (n x d); raises DataError."""
        Domain(self.name, points, ids, columns).require_amounts()

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of two arrays of rows (m x d, n x d)."""
        return differences("braycurtis", left, right)

    def in_bulk(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of two arrays of rows (m x d, n x d), from what they have in common."""
        return native.amount_distances("braycurtis", left, right) if native.available() else self.compare(left, right)


@stored("ruzicka-metric")
class Ruzicka(Metric):
    """Jaccard's distance of amounts, Σ |x - y| / Σ max(x, y), from 0 to 1 (Ruzicka, 1958).

    It is 2 B / (1 + B) of the Bray-Curtis distance B, and what vegan computes as `jaccard` by default.
    """

    name: Literal["ruzicka"] = "ruzicka"
    amounts: ClassVar[bool] = True
    column_seconds: ClassVar[float] = 5e-10
    shared_seconds: ClassVar[float | None] = 9e-11

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers below zero and rows of zeros (n x d); raises DataError."""
        Domain(self.name, points, ids, columns).require_amounts()

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of two arrays of rows (m x d, n x d)."""
        return differences("ruzicka", left, right)

    def in_bulk(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of two arrays of rows (m x d, n x d), from what they have in common."""
        return native.amount_distances("ruzicka", left, right) if native.available() else self.compare(left, right)


class Presence(Metric):
    """The base of metrics of presence: columns that are not zero, whatever their amounts."""

    scalable: ClassVar[bool] = False
    contrasts: ClassVar[bool] = True
    presence: ClassVar[bool] = True

    def require_contrast(self, gap: float, count: int) -> None:
        """Refuse a table all of whose rows have the same columns that are not zero; raises DataError."""
        if count > 1 and gap == 0:
            raise DataError("METRIC", f"all rows have the same non-zero columns, and {self.name} compares only these",
                            where="method.metric", hint="choose braycurtis or ruzicka, which compare amounts")

    def represent(self, points: Array) -> Array:
        """Return an (n, d) array with one where a number is not zero."""
        return np.asarray(points != 0, dtype=np.float64)


@stored("jaccard-metric")
class Jaccard(Presence):
    """Of the columns that are not zero in at least one of two rows, the share that is zero in the other.

    Only presence counts, not amounts; SciPy's `jaccard` of x > 0, and vegan's with `binary = TRUE`. Two rows of zeros
    have distance zero.
    """

    name: Literal["jaccard"] = "jaccard"
    amounts: ClassVar[bool] = True

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers below zero (n x d); raises DataError."""
        Domain(self.name, points, ids, columns).require_nonnegative()

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of rows of zeros and ones (m x d, n x d), quotients of whole numbers."""
        shared, sums = _counts(left, right)
        either = sums - shared
        found: Array = (either - shared) / np.maximum(either, 1.0)
        return found


@stored("dice-metric")
class Dice(Presence):
    """Columns that are zero in one of two rows only, as a share of the numbers that are not zero in both together.

    Only presence counts, not amounts; SciPy's `dice` of x > 0, the Bray-Curtis distance of presence, also called
    Sørensen's. It breaks the triangle inequality.
    """

    name: Literal["dice"] = "dice"
    amounts: ClassVar[bool] = True
    triangle: ClassVar[bool] = False

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers below zero and rows of zeros (n x d); raises DataError."""
        Domain(self.name, points, ids, columns).require_amounts()

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of rows of zeros and ones (m x d, n x d), quotients of whole numbers."""
        shared, sums = _counts(left, right)
        found: Array = (sums - 2 * shared) / sums
        return found


def _counts(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the number of columns where both rows have a one, and the sum of their ones (m x n each): exact."""
    return left @ right.T, left.sum(axis=1)[:, None] + right.sum(axis=1)
