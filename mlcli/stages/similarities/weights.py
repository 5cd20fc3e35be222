"""Similarities that are weights over the neighbors: a new point lies where their weighted mean does."""

from typing import ClassVar

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.stages.graph.neighbors import Neighbors
from mlcli.stages.graph.weights import barycentric_weights, placed_on_equals, weight_matrix, weights_by_distances
from mlcli.stages.similarities.base import Similarity


@stored("barycenters", points="cd")
@frozen
class Barycenters(Similarity):
    """Weights that reproduce a new point from its training neighbors: LLE."""

    keeps_distances: ClassVar[bool] = False
    neighbors: Neighbors
    radius: float | None
    points: Array  # n x d
    ridge: float

    def rows(self, new: Array) -> Array:
        """Weights that sum to one (m x n); all weight on one point where the new point equals it."""
        lists = self.neighbors.lists_of_new(new, self.points, self.radius)
        weights = barycentric_weights(new, self.points, lists, self.ridge)
        return placed_on_equals(weight_matrix(weights, lists, len(self.points)).toarray(), lists)

    def width(self, given: int) -> int:
        """One for each training point."""
        return len(self.points)


@stored("given-barycenters", distances="cc")
@frozen
class GivenBarycenters(Similarity):
    """The same weights from dissimilarities that the user gives: SDE of dissimilarities."""

    keeps_distances: ClassVar[bool] = False
    neighbors: Neighbors
    radius: float | None
    distances: Array  # n x n, between the training points
    ridge: float

    def rows(self, new: Array) -> Array:
        """Weights that sum to one (m x n); all weight on one point where the new point is no distance from it."""
        lists = self.neighbors.lists_of_rows(new, self.radius)
        weights = weights_by_distances(lists, self.distances, self.ridge)
        rows = weight_matrix(weights, lists, len(self.distances)).toarray()
        return placed_on_equals(rows, lists)

    def width(self, given: int) -> int:
        """One for each training point."""
        return len(self.distances)
