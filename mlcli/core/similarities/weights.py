"""Similarities that are weights over the neighbors: a new point gets the weighted mean of their coordinates."""

from dataclasses import field
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core.graph.affinities import Affinity
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Neighborhood
from mlcli.core.graph.weights import barycentric_weights, place_on_equals, weight_rows, weights_by_distances
from mlcli.core.metrics import EUCLIDEAN, RowMetric
from mlcli.core.metrics.distances import local_distances
from mlcli.core.similarities.base import Parts, Similarity


@stored("barycenters", points="cd")
@frozen
class Barycenters(Similarity):
    """Weights that reproduce a new point from its training neighbors: LLE and SDE."""

    keeps_distances: ClassVar[bool] = False
    on_equals: ClassVar[bool] = True
    neighbors: Neighborhood
    points: Array  # n x d, or n x n dissimilarities
    ridge: float
    square: bool = False  # whether `points` are dissimilarities
    metric: RowMetric = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return weights that sum to one (m x n); all weight is on one training point that equals the new one, if any.
        """
        lists = self.neighbors.of_new(new, None if self.square else self.points, self.metric)
        local = local_distances(self.points, None if self.square else self.metric)
        plain = self.metric.plain and not self.square
        weights = (barycentric_weights(new, self.points, lists, ridge=self.ridge) if plain
                   else weights_by_distances(lists, local, self.ridge))
        return place_on_equals(weight_rows(weights, lists, len(self.points)), lists)

    @property
    def parts(self) -> Parts:
        """The points, their metric, the neighbor search, and the regularization."""
        return Parts(points=self.points, neighbors=self.neighbors, ridge=self.ridge, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of training points."""
        return len(self.points)


@stored("affinities", points="nd")
@frozen
class Affinities(Similarity):
    """Affinities to the training neighbors as shares of their sum: Laplacian eigenmaps (Bengio et al., 2004)."""

    keeps_distances: ClassVar[bool] = False
    on_equals: ClassVar[bool] = True
    neighbors: Neighborhood
    affinity: Affinity
    graph: Graph
    points: Array | None  # n x d; None where dissimilarities are given
    metric: RowMetric = EUCLIDEAN
    walking: bool = field(kw_only=True)  # whether a duplicate of a training point gets that point's row

    def rows(self, new: Array) -> Array:
        """Return shares that sum to one (m x n)."""
        lists = self.neighbors.of_new(new, self.points, self.metric)
        rows = weight_rows(self.affinity.of_new(lists, self.graph), lists, self.graph.size)
        firsts = lists.starts[:-1]
        far = np.flatnonzero(rows.sum(axis=1) == 0)  # too far for affinities above zero: the nearest gets all weight
        rows[far, lists.indices[firsts[far]]] = 1.0
        rows = place_on_equals(rows, lists)
        equal = np.flatnonzero(lists.lengths[firsts] == 0)
        if self.walking and len(equal):
            weights = self.affinity.of_graph(self.graph)
            for row, point in zip(equal.tolist(), lists.indices[firsts[equal]].tolist(), strict=True):
                edges = slice(self.graph.starts[point], self.graph.starts[point + 1])
                rows[row] = 0.0
                rows[row, self.graph.indices[edges]] = weights[edges]
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    @property
    def parts(self) -> Parts:
        """The graph and its neighbor search, the weights of its edges, the points and their metric."""
        return Parts(points=self.points, graph=self.graph, neighbors=self.neighbors, affinity=self.affinity,
                     metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of training points."""
        return self.graph.size


@stored("edge-affinities")
@frozen
class EdgeAffinities(Similarity):
    """Affinities of the edges of a given graph, whose points have no features: new ones cannot be projected."""

    keeps_distances: ClassVar[bool] = False
    graph: Graph
    affinity: Affinity

    @property
    def parts(self) -> Parts:
        """The graph and the weights of its edges."""
        return Parts(graph=self.graph, affinity=self.affinity)

    def width(self, given: int) -> int:
        """Return the number of points."""
        return self.graph.size
