"""The pieces of a graph, and shortest paths by Dijkstra's algorithm and by blocked Floyd-Warshall."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels

STRIP = 64  # rows of a strip in Floyd-Warshall


def pieces(starts: Indices, indices: Indices, lengths: Array) -> Indices:
    """The piece that each vertex of an undirected graph lies in (n), numbered in the order of their first vertex."""
    labels = np.empty(len(starts) - 1, dtype=np.int64)
    kernels().pieces(_vector(starts, np.int64), _vector(indices, np.int64), _vector(lengths, np.float64), labels)
    return labels


def dijkstra_rows(starts: Indices, indices: Indices, lengths: Array, sources: Indices, out: AnyArray) -> None:
    """Writes the distances from each source to all vertices into a row of `out` (float32 or float64)."""
    kernels().dijkstra_rows(_vector(starts, np.int64), _vector(indices, np.int64), _vector(lengths, np.float64),
                            _vector(sources, np.int64), out)


def floyd_pivot(matrix: AnyArray, pivot: int) -> None:
    """The first half of a step, in place: the rows of strip `pivot` through one another."""
    kernels().floyd_pivot(matrix, pivot)


def floyd_rows(matrix: AnyArray, pivot: int, strip: int) -> None:
    """The second half, in place: the rows of another strip through the pivot's; strips may run at the same time."""
    kernels().floyd_rows(matrix, pivot, strip)


def _vector(values: AnyArray, kind: type) -> AnyArray:
    return np.ascontiguousarray(values, dtype=kind)
