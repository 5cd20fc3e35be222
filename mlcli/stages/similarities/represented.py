"""Rows as a metric represents them: correspondence analysis."""

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.stages.algebra.metrics.profiles import Indicators, Profiles
from mlcli.stages.similarities.base import Similarity


@stored("represented")
@frozen
class Represented(Similarity):
    """The represented rows: their Euclidean distances are those of the metric."""

    metric: Profiles | Indicators

    def rows(self, new: Array) -> Array:
        """Return represented rows (m x c) of new points (m x d)."""
        return self.metric.represent(new)

    def width(self, given: int) -> int:
        """Return the number of columns that the metric represents."""
        return len(self.metric.roots)

    def rounding(self, new: Array) -> Array:
        """Return errors of the represented rows (m x c): of a sum, and of two quotients."""
        return EPS * (new.shape[1] + 4) * self.metric.represent(new)
