"""The base of similarities whose rows are coordinates among those of training points, which stay where they are."""

from mlcli.base.types import Array
from mlcli.stages.algebra.metrics import Fitted
from mlcli.stages.similarities.base import Parts, Similarity


class AmongFixed(Similarity):
    """The base of similarities with coordinates (n x p) of the training points, their rows, and the metric of these."""

    coordinates: Array
    points: Array | None
    metric: Fitted

    @property
    def parts(self) -> Parts:
        """The points and their metric."""
        return Parts(points=self.points, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of axes."""
        return self.coordinates.shape[1]
