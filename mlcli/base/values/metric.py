"""What compares the rows of an input: a metric, with its parameters from the training points if it has any."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from mlcli.base.types import Array


class RowMetric:
    """The base of metrics by which rows are compared: options themselves, or with ranges of columns from a fit."""

    plain: ClassVar[bool] = False  # whether it is the Euclidean distance of the points as they are
    unit_power: ClassVar[int] = 0  # the power of the data's unit that distances carry
    scalable: ClassVar[bool] = True  # whether data may be multiplied by a power of two first
    column_seconds: ClassVar[float] = 2e-10  # of a core for one column of one pair, to predict what distances cost
    shared_seconds: ClassVar[float | None] = None  # likewise, for a number over zero, where `in_bulk` skips zeros
    embeds: ClassVar[bool] = False  # whether Euclidean distances of represented rows rank pairs as the metric does
    closed: ClassVar[bool] = False  # whether texts that no training row has are refused
    if TYPE_CHECKING:  # every metric declares it itself

        @property
        def name(self) -> str:
            """Name of the metric."""

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse finite points (n x d) outside the metric's domain; raises DataError with row, column and remedy."""

    def represent(self, points: Array) -> Array:
        """Return represented rows (m x r) of points (m x d), each from its own point alone."""
        raise NotImplementedError

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of represented rows (m x r, n x r): zero for equal rows, exactly symmetric."""
        raise NotImplementedError

    def in_bulk(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) as `compare` does, but for some roundings of the largest, where that is quicker."""
        if not self.embeds:
            return self.compare(left, right)
        squares = left @ right.T
        squares *= -2
        squares += (left * left).sum(axis=1)[:, None]
        squares += (right * right).sum(axis=1)
        squares[squares < 0] = 0.0
        return self.lengths(squares)

    def lengths(self, squared: Array) -> Array:
        """Return distances from squared Euclidean ones (m x n) of represented rows, in place, where `embeds`."""
        raise TypeError(f"{self.name} does not follow from Euclidean distances")
