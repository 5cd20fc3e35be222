"""New points of t-SNE: each where its affinities to the training points are kept best; and points of a graph."""

from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.stages.algebra.metrics import EUCLIDEAN, Fitted
from mlcli.stages.graph.neighborhoods import Nearest
from mlcli.stages.graph.perplexity import conditional, gaps_of, reach
from mlcli.stages.layout.entering import enter
from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.layouts.fixed import AmongFixed


@stored("calibrated", precisions="ns")
@frozen
class Calibrated(Similarity):
    """The precisions of a graph's points, which have no features: new points cannot be compared with them."""

    precisions: Array  # n x s, of squared lengths over the middle one of each row; n x 0 of given affinities
    dof: float
    axes: int

    def width(self, given: int) -> int:
        """Return the number of axes."""
        return self.axes


@stored("entering", coordinates="np", points="nd", precisions="ns")
@frozen
class Entering(AmongFixed):
    """Coordinates whose divergence from a new point's affinities is least, with those of training points fixed."""

    on_equals: ClassVar[bool] = True
    coordinates: Array  # n x p
    points: Array | None  # n x d; None where dissimilarities are given
    precisions: Array  # n x s
    perplexities: tuple[float, ...]
    dof: float
    metric: Fitted = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return coordinates (m x p); a point at distance zero from a training point is placed on it."""
        lists = self.neighborhood.of_new(new, self.points, self.metric)
        shares, _ = conditional(gaps_of(lists, slice(0, len(new))), self.perplexities)
        indices = lists.indices.reshape(shares.shape)
        placed = enter(shares, indices, self.coordinates, self.dof)
        on = np.flatnonzero(lists.lengths.reshape(shares.shape)[:, 0] == 0)
        placed[on] = self.coordinates[indices[on, 0]]
        return placed

    @property
    def neighborhood(self) -> Nearest:
        """The neighbors that affinities are computed from."""
        return Nearest(reach(self.perplexities))
