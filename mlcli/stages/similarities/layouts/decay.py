"""New points of a walk by alpha-decay affinities: the probabilities of a step to the training points."""

from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.distances import squared_distances
from mlcli.stages.algebra.metrics import EUCLIDEAN, Fitted
from mlcli.stages.algebra.metrics.blocks import distances
from mlcli.stages.graph.walks.clusters import memberships
from mlcli.stages.graph.walks.decay import Decay
from mlcli.stages.similarities.base import Parts, Similarity


@stored("decay-steps", points="nd", clusters="n", within={"clusters": "c"})
@frozen
class DecaySteps(Similarity):
    """The affinities of a new point to the training points, or their sums over clusters, as shares of their sum."""

    keeps_distances: ClassVar[bool] = False
    decay: Decay
    points: Array | None  # n x d; None where dissimilarities are given
    clusters: Indices | None  # n; None: every point by itself
    nodes: int  # training points, or clusters
    metric: Fitted = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return probabilities that sum to one (m x nodes)."""
        weights = self.decay.affinities(self.lengths(new), 0)
        if self.clusters is not None:
            weights = weights @ memberships(self.clusters, self.nodes).T
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def lengths(self, new: Array) -> Array:
        """Return the distances from the training points (m x n); of other metrics than the Euclidean without squares.
        """
        if self.points is None:
            return new
        return np.sqrt(squared_distances(new, self.points)) if self.metric.plain else distances(
            self.metric, new, self.points)

    @property
    def parts(self) -> Parts:
        """The points and their metric."""
        return Parts(points=self.points, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of nodes."""
        return self.nodes


@stored("edge-steps", clusters="n", within={"clusters": "c"})
@frozen
class EdgeSteps(Similarity):
    """The walk on a given graph, whose points have no features: new ones cannot be projected."""

    keeps_distances: ClassVar[bool] = False
    clusters: Indices | None
    nodes: int

    def width(self, given: int) -> int:
        """Return the number of nodes."""
        return self.nodes
