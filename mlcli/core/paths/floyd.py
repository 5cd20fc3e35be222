"""Floyd-Warshall: all shortest paths at once, in n³ steps for every graph (Floyd, 1962; Warshall, 1962)."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.core.graph.graph import Graph
from mlcli.storage.keys import Keys


@result("shortened")
@frozen
class FloydState:
    """Lengths of paths (n x n) with intermediate points in the first blocks of pivots only."""

    given: str  # the key of the graph
    lengths: Array
    pivots: int  # blocks of them


def floyd_warshall(graph: Graph, distances: Array) -> None:
    """Fill `distances` (n x n) with path lengths."""
    if not native.available():
        from scipy.sparse.csgraph import floyd_warshall as whole

        distances[:] = whole(graph.matrix(), directed=True)
        return
    with loop(FloydState) as place:
        given, left = Keys().of(graph.parts), place.left
        if left is not None and left.given == given:
            distances[:], first = left.lengths, left.pivots
        else:
            _edges(graph, distances)
            first = 0
        for pivots in shorten(distances, first):
            place.offer(partial(FloydState, given, distances, pivots))


def _edges(graph: Graph, distances: Array) -> None:
    """Fill `distances` with the lengths of edges, infinite where there is none."""
    distances[:] = np.inf
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    distances[rows, graph.indices] = graph.lengths
    np.fill_diagonal(distances, 0.0)


def shorten(lengths: Array, first: int = 0) -> Iterator[int]:
    """Turn lengths (n x n, zero diagonal, infinite where there is no edge) into distances in place, natively.

    After each block of pivots, from the `first`, it yields how many are done.
    """
    strips = range(-(-len(lengths) // native.STRIP))
    for pivot in strips[first:]:
        native.floyd_pivot(lengths, pivot)
        each(partial(native.floyd_rows, lengths, pivot), [strip for strip in strips if strip != pivot])
        yield pivot + 1


def after_each_pivot(graph: Graph) -> Iterator[Array]:
    """Yield the lengths of edges (n x n), then of the shortest paths over the first point, the first two, and so on."""
    lengths = np.empty((graph.size, graph.size))
    _edges(graph, lengths)
    yield lengths.copy()
    for pivot in range(graph.size):
        np.minimum(lengths, lengths[:, pivot, None] + lengths[pivot], out=lengths)
        yield lengths.copy()
