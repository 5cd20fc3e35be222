"""Geodesic distances, however they are found: as rows, as a whole matrix, or as rows of a kernel."""

from typing import Protocol

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import allowed
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stages.steps import Passes
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.stages.algebra.costs import Cost
from mlcli.stages.algebra.distances import gower
from mlcli.stages.graph.graph import Graph
from mlcli.stages.kernels.folding import BlockSums, KernelRows

SOURCES = 64  # rows of distances in a block
LANDMARKS = 48  # rows found for the start of the eigensolver: one group of a sweep, or as many single searches
SHARES = 4  # blocks in a thread's share of single sources, which take different times
WIDTH = 8  # vectors that a sweep can multiply at little more than its own cost


class Geodesics(KernelRows, Protocol):
    """A way to find shortest paths: the rows of the kernel K = -D²/2, and of D itself."""

    @property
    def strips(self) -> int:
        """How many strips of rows D is written in."""

    def write(self, strip: int, distances: AnyArray) -> None:
        """Writes the rows of a strip into their place in D (n x n)."""


@frozen
class DijkstraRows:
    """One source at a time with a heap; the same distances whatever the graph."""

    graph: Graph
    landmarks = LANDMARKS
    width = WIDTH
    order = None
    quick_rows = None
    lasting = True

    @property
    def key(self) -> tuple[AnyArray | str, ...]:
        """The graph."""
        return *self.graph.parts, "dijkstra"

    @property
    def size(self) -> int:
        """The number of vertices."""
        return self.graph.size

    @property
    def blocks(self) -> int:
        """How many blocks of work a pass has."""
        return -(-self.size // SOURCES)

    @property
    def strips(self) -> int:
        """As many as blocks."""
        return self.blocks

    def write(self, strip: int, distances: AnyArray) -> None:
        """Writes the rows of a strip of D."""
        sources = self._sources(strip)
        distances[sources] = dijkstra_rows(self.graph, sources)

    def rows(self, chosen: Indices) -> Array:
        """Some rows of K (m x n)."""
        return halved_squares(dijkstra_rows(self.graph, chosen))

    def fold(self, number: int, vectors: Array, moments: bool) -> tuple[BlockSums]:
        """What a block's rows of K give; its diagonal is zero."""
        sources = self._sources(number)
        kernel = self.rows(sources)
        return (BlockSums(sources, kernel @ vectors, kernel.sum(axis=1), float(np.vdot(kernel, kernel))),)

    def stop(self) -> None:
        """A block takes little time."""

    def _sources(self, number: int) -> Indices:
        return np.arange(number * SOURCES, min((number + 1) * SOURCES, self.size))


def dijkstra_passes(graph: Graph, count: int, cost: Cost) -> Passes:
    """Passes of a cost as a cluster would run them."""
    vectors = 8.0 * WIDTH * graph.size
    return Passes(count, cost.seconds * cost.threads, -(-graph.size // SOURCES), vectors, vectors, once=graph.bytes,
                  working=8.0 * SOURCES * graph.size)


def dijkstra_rows(graph: Graph, sources: Indices) -> Array:
    """Distances from some vertices to all (m x n), on all threads; infinite between pieces."""
    if native.available():
        rows = np.empty((len(sources), graph.size))
        each(lambda some: native.dijkstra_rows(graph.starts, graph.indices, graph.lengths, sources[some], rows[some]),
             row_blocks(len(sources), len(sources) // (SHARES * allowed())))
        return rows
    from scipy.sparse.csgraph import dijkstra

    lengths: Array = dijkstra(graph.matrix(), directed=True, indices=sources)
    return lengths


def halved_squares(distances: Array) -> Array:
    """-D²/2 in the place of D."""
    np.multiply(distances, distances, out=distances)
    return gower(distances, out=distances)


def all_rows(geodesics: Geodesics, distances: AnyArray) -> None:
    """Fills a matrix (n x n) with all distances."""
    each(lambda strip: geodesics.write(strip, distances), range(geodesics.strips), progress=True)
