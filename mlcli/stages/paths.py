"""Shortest paths on the neighbor graph: geodesic distances (Tenenbaum, de Silva and Langford, 2000)."""

from typing import Literal

import numpy as np

from mlcli.base.options import Options, option
from mlcli.base.stage import note, stage
from mlcli.base.types import Array
from mlcli.stages.distances import row_blocks
from mlcli.stages.graph import Graph
from mlcli.stages.nearest import Lists

FLOYD = 0.2  # Floyd-Warshall's n³ steps are this many times cheaper than Dijkstra's (m + n) log n for each source


class Paths(Options):
    """Which algorithm finds the shortest paths; all give the same distances."""

    algorithm: Literal["auto", "dijkstra", "floyd"] = option(
        "auto", "Shortest-path algorithm: from each point in turn (dijkstra), all at once (floyd), or the cheaper.")

    @stage("paths")
    def __call__(self, graph: Graph) -> Array:
        """Lengths of the shortest paths between all points (n x n); infinite between pieces."""
        distances = _floyd(graph) if self.chosen_for(graph) == "floyd" else _dijkstra(graph)
        return np.minimum(distances, distances.T)

    def chosen_for(self, graph: Graph) -> str:
        """The algorithm that `auto` takes: Floyd's n³ where the graph is dense."""
        if self.algorithm != "auto":
            return self.algorithm
        size = graph.size
        cost_dijkstra = size * (2 * graph.edges + size) * np.log2(size + 1)
        algorithm = "floyd" if FLOYD * size**3 < cost_dijkstra else "dijkstra"
        note("F-PATHS", f"shortest paths by {algorithm}: {size} points, {graph.edges} edges")
        return algorithm


def paths_of_new(graph: Graph, lists: Lists) -> Array:
    """Path lengths (m x n) from new points, joined by their neighbor lists to the graph, to all of its points."""
    from scipy.sparse.csgraph import dijkstra

    size, new = graph.size, len(lists.starts) - 1
    joined = Graph(np.concatenate([graph.starts, graph.starts[-1] + lists.starts[1:]]),
                   np.concatenate([graph.indices, lists.indices]), np.concatenate([graph.lengths, lists.lengths]))
    matrix = joined.matrix()
    paths = np.empty((new, size))
    for block in row_blocks(new, 16 * size):
        sources = np.arange(size + block.start, size + block.stop)
        paths[block] = dijkstra(matrix, directed=True, indices=sources)[:, :size]
    return paths


def _dijkstra(graph: Graph) -> Array:
    from scipy.sparse.csgraph import dijkstra

    matrix, size = graph.matrix(), graph.size
    distances = np.empty((size, size))
    for block in row_blocks(size, 16 * size):
        distances[block] = dijkstra(matrix, directed=True, indices=np.arange(block.start, block.stop))
    return distances


def _floyd(graph: Graph) -> Array:
    from scipy.sparse.csgraph import floyd_warshall

    distances: Array = floyd_warshall(graph.matrix(), directed=True)
    return distances
