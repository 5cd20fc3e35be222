"""Similarities of points that have no features, only the edges of a graph: new points cannot be projected."""

from typing import ClassVar

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Indices, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Given
from mlcli.base.values.products import Products
from mlcli.base.values.scaling import Unit
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.graph.affinities import Affinity
from mlcli.stages.graph.graph import Graph
from mlcli.stages.paths.products import path_products
from mlcli.stages.similarities.base import Parts, Similarity
from mlcli.stages.similarities.spaces import GeodesicSpace, Space
from mlcli.stages.similarities.witness import Witness, of_paths


@stored("given-graph", landmarks="c", within={"landmarks": "n"})
@frozen
class GivenGraph(Similarity):
    """Minus half the squared path lengths of a given graph."""

    graph: Graph
    landmarks: Indices | None = None  # the points in use; None: all

    @property
    def parts(self) -> Parts:
        """The graph, and the landmarks."""
        return Parts(graph=self.graph, landmarks=self.landmarks)

    def width(self, given: int) -> int:
        """Return the number of points in use."""
        return self.graph.size if self.landmarks is None else len(self.landmarks)

    @property
    def path_graph(self) -> Graph:
        """The graph."""
        return self.graph

    def products(self, centering: Centering) -> Products:
        """Return the graph and the matrices of its path lengths."""
        return path_products(self.graph, self.landmarks is None, centering)

    def witness(self, data: Given, fit: Indices, full: bool) -> Witness:
        """Return the kernel of shortest paths, proven shortest, of the points in an (n,) array `fit`."""
        return of_paths(self.graph, fit, full)

    def space(self, rows: RowsOf | None, units: tuple[Unit, Unit], compute: Compute) -> Space:
        """Return the space of shortest paths on the graph."""
        return GeodesicSpace(self.graph, units[0], rows, compute)


@stored("edge-affinities")
@frozen
class EdgeAffinities(Similarity):
    """Affinities of the edges of a given graph."""

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
