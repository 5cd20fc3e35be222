"""Geodesic distances by any algorithm: as rows, as a matrix, or as rows of a kernel; and the way between two points."""

from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.machine.threads import allowed
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.stages.steps import Passes
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.euclidean_distances import gower
from mlcli.core.graph.graph import Graph
from mlcli.core.kernels.streamed import BlockSums, KernelRows
from mlcli.errors import GeometryError

SOURCES = 64  # rows of distances in a block
LANDMARKS = 48  # rows computed to start the eigensolver: one group of a sweep, or as many single searches
SHARES = 4  # blocks per thread of single sources, which take different times
WIDTH = 8  # vectors that a sweep can multiply at little more than its own cost
SCATTERED = 1 << 17  # vertices from which their order in memory matters
MANY = 8  # single sources for which they are renumbered
WITHOUT = {"heap": 2.6, "cube": 22.0}  # how much longer steps take by SciPy, without the native kernels


@frozen
class Cost:
    """Predicted time of one pass of an algorithm."""

    algorithm: str
    seconds: float  # for one pass over all pairs, all threads
    preparation: float  # seconds once, before the first pass
    threads: int


class GeodesicRows(KernelRows, Protocol):
    """An algorithm for shortest paths: the rows of the kernel K = -D²/2, and of D itself."""

    @property
    def strips(self) -> int:
        """Number of strips of rows in which D is written."""

    def write(self, strip: int, distances: AnyArray) -> None:
        """Write the rows of a strip into D (n x n)."""


@frozen
class DijkstraRows:
    """One source at a time."""

    graph: Graph
    landmarks = LANDMARKS
    width = WIDTH
    order = None
    quick_rows = sample = None
    lasting = True

    @property
    def key(self) -> tuple[AnyArray | str, ...]:
        """The graph."""
        return *self.graph.parts, "dijkstra"

    @property
    def size(self) -> int:
        """Number of vertices."""
        return self.graph.size

    @property
    def blocks(self) -> int:
        """Number of blocks of work in a pass."""
        return -(-self.size // SOURCES)

    @property
    def strips(self) -> int:
        """Number of strips: one per block."""
        return self.blocks

    def write(self, strip: int, distances: AnyArray) -> None:
        """Write the rows of a strip into D (n x n)."""
        sources = self._sources(strip)
        distances[sources] = dijkstra_rows(self.graph, sources)

    def rows(self, chosen: Indices) -> Array:
        """Return rows of K (m x n)."""
        return halved_squares(dijkstra_rows(self.graph, chosen))

    def fold(self, number: int, vectors: Array, moments: bool) -> tuple[BlockSums]:
        """Return the sums that a block's rows of K add to K times (n, b) vectors. The diagonal is zero."""
        sources = self._sources(number)
        kernel, rows = self.rows(sources), slice(int(sources[0]), int(sources[-1]) + 1)
        return (BlockSums(rows, kernel @ vectors, kernel.sum(axis=1), float(np.vdot(kernel, kernel))),)

    def stop(self) -> None:
        """Do nothing: a block takes little time."""

    def _sources(self, number: int) -> Indices:
        return np.arange(number * SOURCES, min((number + 1) * SOURCES, self.size))


def dijkstra_passes(graph: Graph, count: int, cost: Cost) -> Passes:
    """Return the cost of passes on a cluster."""
    vectors = 8.0 * WIDTH * graph.size
    return Passes(count, cost.seconds * cost.threads, -(-graph.size // SOURCES), vectors, vectors, once=graph.bytes,
                  working=8.0 * SOURCES * graph.size, summed=8.0 * WIDTH * SOURCES)


def dijkstra_rows(graph: Graph, sources: Indices) -> Array:
    """Return distances from some vertices to all (m x n), on all threads; infinite between pieces."""
    if native.available():
        rows = np.empty((len(sources), graph.size))
        places, near = None, graph
        if len(sources) >= MANY and is_renumbered(graph):
            places, near = memoize("near graph", graph.parts, lambda: renumber_near(graph))
            sources = places[sources]

        def compute(some: slice) -> None:
            native.dijkstra_rows(near.starts, near.indices, near.lengths, sources[some], rows[some])
            for row in rows[some] if places is not None else ():
                row[:] = row[places]

        each(compute, row_blocks(len(sources), len(sources) // (SHARES * allowed())))
        return rows
    from scipy.sparse.csgraph import dijkstra

    lengths: Array = dijkstra(graph.matrix(), directed=True, indices=sources)
    return lengths


def is_renumbered(graph: Graph) -> bool:
    """Whether searches from many single points use a copy of the graph whose vertices are renumbered."""
    return native.available() and graph.size >= SCATTERED and len(graph.indices) <= np.iinfo(np.int32).max


def renumber_near(graph: Graph) -> tuple[Indices, Graph]:
    """Return the places of the (n,) vertices in the order of Cuthill and McKee (1969), and the graph in this order.

    Neighbors are near each other in it, and in memory, where a search finds them several times as fast.
    """
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    matrix = graph.matrix()
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    places = np.empty(graph.size, dtype=np.int64)
    places[order] = np.arange(graph.size)
    rows = matrix[order]
    return places, Graph(rows.indptr.astype(np.int64), places[rows.indices], rows.data)


def halved_squares(distances: Array) -> Array:
    """Overwrite distances D, an array of any shape, by -D²/2."""
    np.multiply(distances, distances, out=distances)
    return gower(distances, out=distances)


def dijkstra_cost(size: int, edges: int, threads: int, native: bool) -> Cost:
    """Cost of Dijkstra's algorithm from n sources; SciPy's holds the interpreter: it uses one thread."""
    steps = size * (2 * edges + size * np.log2(size + 1))
    used, slower = (threads, 1.0) if native else (1, WITHOUT["heap"])
    return Cost("dijkstra", steps * rates().heap * slower / used, 0.0, used)


def floyd_cost(size: int, threads: int, native: bool) -> Cost:
    """Cost of the n³ relaxations of Floyd and Warshall."""
    used, slower = (threads, 1.0) if native else (1, WITHOUT["cube"])
    return Cost("floyd", float(size) ** 3 * rates().cube * slower / used, 0.0, used)


@frozen
class Route:
    """The points on the path, both ends included, and their distances from the first."""

    points: Indices
    lengths: Array


def shortest_route(graph: Graph, start: int, end: int) -> Route:
    """Return the shortest path between two points; raises GeometryError where there is none."""
    from scipy.sparse.csgraph import dijkstra

    lengths, before = dijkstra(graph.matrix(), indices=start, return_predecessors=True)
    if not np.isfinite(lengths[end]):
        raise GeometryError("NO-ROUTE", "no path joins the two points", where="the graph of the run",
                            hint="they lie in different pieces of it")
    way = [end]
    while way[-1] != start:
        way.append(int(before[way[-1]]))
    points = np.array(way[::-1], dtype=np.int64)
    return Route(points, np.asarray(lengths[points]))


@frozen
class Search:
    """Points that Dijkstra's algorithm settled, in order (m each), and those that were next at its end (f each)."""

    settled: Indices
    lengths: Array  # distances from the first
    before: Indices  # the point before each on its shortest path; -1 of the first
    frontier: Indices  # points with a tentative distance that are not settled, by it
    tentative: Array  # their distances so far


def search(graph: Graph, start: int, end: int) -> Search:
    """Settle points from one on by their distance until another one is settled, or no tentative distance is finite.

    Of points equally far the other one is the last, so that every shortest path to it is among the settled ones.
    Source: Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959.
    """
    reached, before = {start: 0.0}, {start: -1}
    settled, done = list[int](), set[int]()
    waiting = [(0.0, start == end, start)]
    while waiting:
        length, _, point = heappop(waiting)
        if point in done:
            continue
        settled.append(point)
        done.add(point)
        if point == end:
            break
        edges = slice(graph.starts[point], graph.starts[point + 1])
        for other, step in zip(graph.indices[edges].tolist(), graph.lengths[edges].tolist(), strict=True):
            if length + step < reached.get(other, np.inf):
                reached[other], before[other] = length + step, point
                heappush(waiting, (length + step, other == end, other))
    frontier = sorted(reached.keys() - done, key=lambda point: (reached[point], point))
    order = np.array(settled, dtype=np.int64)
    return Search(order, np.array([reached[point] for point in settled]),
                  np.array([before[point] for point in settled], dtype=np.int64), np.array(frontier, dtype=np.int64),
                  np.array([reached[point] for point in frontier]))
