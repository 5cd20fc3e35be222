"""Floyd-Warshall: all shortest paths at once, in n³ steps whatever the graph (Floyd, 1962; Warshall, 1962)."""

from functools import partial

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import each
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
    shorten(distances)


def shorten(lengths: Array) -> None:
    """Turns lengths (n x n, zero diagonal, infinite where there is no edge) into distances in place, natively."""
    strips = range(-(-len(lengths) // native.STRIP))
    for pivot in strips:
        native.floyd_pivot(lengths, pivot)
        each(partial(native.floyd_rows, lengths, pivot), [strip for strip in strips if strip != pivot])
