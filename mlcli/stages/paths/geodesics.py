"""Geodesic distances, however they are found: as rows, as a whole matrix, or streamed into a kernel."""

from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.stage import advance
from mlcli.base.threads import allowed, each
from mlcli.base.types import AnyArray, Array, Indices, RowsOf
from mlcli.stages.algebra.distances import gower
from mlcli.stages.graph.graph import Graph
from mlcli.stages.kernels.folding import Folded
from mlcli.stages.kernels.streamed import Streamed

SOURCES = 64  # rows of distances in a block
LANDMARKS = 48  # rows found for the start of the eigensolver: one group of a sweep, or as many single searches
SHARES = 4  # parts of a thread's share of single sources, which take unlike times
SWEEP_WIDTH = 8  # vectors that a sweep can multiply at little more than its own cost


class Engine(Protocol):
    """A way to find shortest paths from blocks of sources."""

    @property
    def blocks(self) -> int:
        """How many blocks of sources there are."""

    @property
    def groups(self) -> int:
        """How many pieces of work a fold has."""

    @property
    def order(self) -> Indices | None:
        """The vertices by their places in what is folded (n), or None where those are their numbers."""

    @property
    def rows(self) -> RowsOf | None:
        """Finds distances from some vertices to all (m x n), where that is quicker than one by one."""

    def write(self, number: int, distances: AnyArray) -> None:
        """Writes a block's rows of distances into their place in a matrix (n x n)."""

    def fold(self, number: int, block: Array) -> Folded:
        """What a piece of work adds to K = -D²/2 times a block of vectors, with its sums."""

    def stop(self) -> None:
        """Lets folds that have begun end early: nobody waits for them any more."""


@frozen
class DijkstraRows:
    """One source at a time with a heap; the same distances whatever the graph."""

    graph: Graph
    order = None

    @property
    def blocks(self) -> int:
        """How many blocks of sources there are."""
        return -(-self.graph.size // SOURCES)

    @property
    def groups(self) -> int:
        """One block to a piece of work."""
        return self.blocks

    @property
    def rows(self) -> None:
        """Nothing quicker than one by one."""

    def write(self, number: int, distances: AnyArray) -> None:
        """Writes a block's rows of distances."""
        sources = self._sources(number)
        distances[sources] = dijkstra_rows(self.graph, sources)

    def fold(self, number: int, block: Array) -> Folded:
        """A block's rows of K = -D²/2 times a block of vectors."""
        sources = self._sources(number)
        kernel = halved_squares(dijkstra_rows(self.graph, sources))  # zero on its diagonal
        return Folded(sources, kernel @ block, kernel.sum(axis=1), float(np.vdot(kernel, kernel)))

    def stop(self) -> None:
        """A block is soon done."""

    def _sources(self, number: int) -> Indices:
        return np.arange(number * SOURCES, min((number + 1) * SOURCES, self.graph.size))


def dijkstra_rows(graph: Graph, sources: Indices) -> Array:
    """Distances from some vertices to all (m x n), on all threads; infinite between pieces."""
    if native.available():
        rows = np.empty((len(sources), graph.size))
        step = max(1, len(sources) // (SHARES * allowed()))
        parts = [slice(start, start + step) for start in range(0, len(sources), step)]
        each(lambda part: native.dijkstra_rows(graph.starts, graph.indices, graph.lengths, sources[part], rows[part]),
             parts)
        return rows
    from scipy.sparse.csgraph import dijkstra

    found: Array = dijkstra(graph.matrix(), directed=True, indices=sources)
    return found


def halved_squares(distances: Array) -> Array:
    """-D²/2 in the place of D."""
    np.multiply(distances, distances, out=distances)
    return gower(distances, out=distances)


def all_rows(engine: Engine, distances: AnyArray) -> None:
    """Fills a matrix (n x n) with all distances."""
    with ThreadPoolExecutor(allowed()) as pool:
        for done, _ in enumerate(pool.map(lambda number: engine.write(number, distances), range(engine.blocks))):
            advance(done + 1, engine.blocks)


def streamed(engine: Engine, graph: Graph, tolerance: float) -> Streamed:
    """The kernel -D²/2 of geodesics that are found anew in every pass."""
    rows = engine.rows
    quick = None if rows is None else lambda chosen: halved_squares(rows(chosen))
    return Streamed(graph.size, engine.groups, lambda number, block, _: [engine.fold(number, block)],
                    lambda chosen: halved_squares(dijkstra_rows(graph, chosen)), SWEEP_WIDTH, LANDMARKS, tolerance,
                    order=engine.order, quick_rows=quick, stop=engine.stop)
