"""What a metric is: a choice with parameters, a domain, and a way to compare rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.options import Options
from mlcli.stages.algebra.metrics.sums import differences


class Comparison(Protocol):
    """Rows compared by a metric that has learned what it needs from the training data."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def plain(self) -> bool:
        """Whether it is the Euclidean distance of the points as they are."""

    @property
    def embeds(self) -> bool:
        """Whether Euclidean distances of represented rows rank pairs as the metric does."""

    @property
    def unit_power(self) -> int:
        """The power of the data's unit that distances carry."""

    @property
    def column_seconds(self) -> float:
        """Seconds of a core for one column of one pair, to predict what distances cost."""

    @property
    def scalable(self) -> bool:
        """Whether data may be multiplied by a power of two first."""

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuses finite points for which the metric is not defined; raises DataError with row, column and remedy."""

    def represented(self, points: Array) -> Array:
        """Rows (m x r) as they are compared, each made of its own point alone."""

    def compared(self, left: Array, right: Array) -> Array:
        """Distances (m x n) of represented rows: zero for equal rows, and the same bits either way round."""

    def lengths(self, squared: Array) -> Array:
        """Distances from squared Euclidean ones of represented rows, where these embed; in place."""


class Metric(Options):
    """The base of all metrics: how far apart two rows are; Euclidean distances where nothing else is said."""

    plain: ClassVar[bool] = False  # whether it is the Euclidean distance of the points as they are
    unit_power: ClassVar[int] = 0  # the power of the data's unit that distances carry
    scalable: ClassVar[bool] = True  # whether data may be multiplied by a power of two first
    column_seconds: ClassVar[float] = 2e-10  # of a core for one column of one pair, to predict what distances cost
    triangle: ClassVar[bool] = True  # whether no way over a third point is shorter
    categories: ClassVar[bool] = False  # whether columns of text are taken, as numbers that stand for categories
    embeds: ClassVar[bool] = False  # whether Euclidean distances of represented rows rank pairs as the metric does
    contrasts: ClassVar[bool] = False  # whether a table is refused whose represented rows are all alike
    aliases: ClassVar[tuple[str, ...]] = ()  # other names that people type
    if TYPE_CHECKING:  # every metric declares it itself
        name: str

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuses finite points for which the metric is not defined; raises DataError with row, column and remedy."""

    def require_contrast(self, gap: float, count: int) -> None:
        """Refuses a table of so many rows whose represented ones differ by a gap at most; raises MlcliError."""

    def fitted(self, points: Array, categories: Sequence[int] = ()) -> Any:
        """The comparison of rows with what it needs to know from the training points; most need nothing.

        `categories` are the columns of text, for metrics that take them.
        """
        return self

    def represented(self, points: Array) -> Array:
        """Rows (m x r) as they are compared, each made of its own point alone."""
        return points

    def compared(self, left: Array, right: Array) -> Array:
        """Distances (m x n) of represented rows: zero for equal rows, and the same bits either way round."""
        return self.lengths(differences("sqeuclidean", left, right))

    def lengths(self, squared: Array) -> Array:
        """Distances from squared Euclidean ones of represented rows, where these embed; in place."""
        return np.sqrt(squared, out=squared)
