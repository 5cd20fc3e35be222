"""Floyd-Warshall: all shortest paths at once, in n³ steps whatever the graph (Floyd, 1962; Warshall, 1962)."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mlcli import native
from mlcli.base.threads import allowed
from mlcli.base.types import Array
from mlcli.stages.graph.graph import Graph


def floyd_warshall(graph: Graph, distances: Array) -> None:
    """Fills `distances` (n x n) with path lengths."""
    if not native.available():
        from scipy.sparse.csgraph import floyd_warshall as whole

        distances[:] = whole(graph.matrix(), directed=True)
        return
    distances[:] = np.inf
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    distances[rows, graph.indices] = graph.lengths
    np.fill_diagonal(distances, 0.0)
    with ThreadPoolExecutor(allowed()) as pool:
        native.floyd_warshall(distances, pool.map)
