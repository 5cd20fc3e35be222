"""Similarities by shortest paths on a graph, of neighbors or given, and the matrices that a run may keep."""

from functools import cache, partial

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.base.values.products import Products
from mlcli.base.values.scaling import Unit
from mlcli.core.centering import Centering
from mlcli.core.euclidean_distances import gower
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Neighborhood
from mlcli.core.kernels.square import distance_products
from mlcli.core.metrics import EUCLIDEAN, RowMetric
from mlcli.core.paths.elimination import eliminate, sweep_rows
from mlcli.core.paths.geodesics import dijkstra_rows
from mlcli.core.paths.paths import paths_of_new, plan_paths
from mlcli.core.similarities.base import Parts, Similarity
from mlcli.core.similarities.spaces import GeodesicSpace, Space


def path_products(graph: Graph, whole: bool, centering: Centering) -> Products:
    """Return the graph and, for a fit of all points, the path lengths and the kernel."""
    of_all = distance_products(graph.size, quickest_rows(graph), centering) if whole else {}
    return {"graph": graph.product(), **of_all}


def quickest_rows(graph: Graph) -> RowsOf:
    """Return a function that computes path lengths in double precision, by the fastest algorithm for all of them."""

    @cache
    def rows() -> RowsOf:
        analysis = plan_paths(graph, "auto", "streamed", "float64", Compute()).elimination
        return partial(dijkstra_rows, graph) if analysis is None else partial(
            sweep_rows, eliminate(analysis, "float64"))

    return lambda chosen: rows()(chosen)


class PathLengths(Similarity):
    """Minus half the squared path lengths between the points of a graph, or from all of them to landmarks."""

    graph: Graph
    landmarks: Indices | None  # the training points that count; None: all

    @property
    def path_graph(self) -> Graph:
        """The graph."""
        return self.graph

    @property
    def parts(self) -> Parts:
        """The graph, and the landmarks."""
        return Parts(graph=self.graph, landmarks=self.landmarks)

    def products(self, centering: Centering) -> Products:
        """Return the graph and the matrices of its path lengths."""
        return path_products(self.graph, self.landmarks is None, centering)

    def width(self, given: int) -> int:
        """Return the number of training points in use."""
        return self.graph.size if self.landmarks is None else len(self.landmarks)

    def space(self, rows: RowsOf | None, units: tuple[Unit, Unit], compute: Compute) -> Space:
        """Return the space of shortest paths on the graph."""
        return GeodesicSpace(self.graph, units[0], rows, compute)


@stored("geodesics", points="nd", landmarks="c", within={"landmarks": "n"})
@frozen
class Geodesics(PathLengths):
    """Path lengths from new points into the graph of training neighbors: Isomap."""

    neighbors: Neighborhood
    graph: Graph
    points: Array | None  # n x d; None where dissimilarities are given
    metric: RowMetric = EUCLIDEAN
    landmarks: Indices | None = None

    @property
    def parts(self) -> Parts:
        """The graph and its neighbor search, the points and their metric, and the landmarks."""
        return Parts(points=self.points, landmarks=self.landmarks, graph=self.graph, neighbors=self.neighbors,
                     metric=self.metric)

    def rows(self, new: Array) -> Array:
        """Return -δ²/2 with δ = min over neighbors j of d(x, xⱼ) + D[j, :] (m x landmarks), by shortest paths from x.
        """
        lists = self.neighbors.of_new(new, self.points, self.metric)
        paths = paths_of_new(self.graph, lists)
        return gower(np.square(paths if self.landmarks is None else paths[:, self.landmarks]))


@stored("given-graph", landmarks="c", within={"landmarks": "n"})
@frozen
class GivenGraph(PathLengths):
    """Path lengths of a given graph, whose points have no features: new ones cannot be projected."""

    graph: Graph
    landmarks: Indices | None = None
