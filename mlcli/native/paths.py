"""Undirected graphs, their pieces, and shortest paths by Dijkstra's algorithm and by blocked Floyd-Warshall."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels

STRIP = 64  # rows of a strip in Floyd-Warshall


def undirected(size: int, left: Indices, right: Indices, lengths: Array, *, mutual: bool,
               ) -> tuple[Indices, Indices, Array]:
    """Return compressed rows of a graph of `size` vertices: starts (n + 1), indices and lengths (e each).

    Pairs (k each) are joined if listed once or, where `mutual`, twice or more, at the least of their lengths. Raises
    ValueError for vertices out of range.
    """
    starts, indices, least = np.empty(size + 1, np.int64), np.empty(2 * len(left), np.int64), np.empty(2 * len(left))
    pairs = _vector(left, np.int64), _vector(right, np.int64), _vector(lengths, np.float64)
    count = kernels().undirected(*pairs, mutual, starts, indices, least)
    return starts, indices[:count].copy(), least[:count].copy()


def pieces(starts: Indices, indices: Indices, lengths: Array) -> Indices:
    """Return the piece of each vertex of an undirected graph, numbered by first vertex, as an array of shape (n,)."""
    labels = np.empty(len(starts) - 1, dtype=np.int64)
    kernels().pieces(_vector(starts, np.int64), _vector(indices, np.int64), _vector(lengths, np.float64), labels)
    return labels


def strong_pieces(starts: Indices, indices: Indices) -> Indices:
    """Return the strongly connected piece of each vertex of a directed graph, an array of shape (n,)."""
    labels = np.empty(len(starts) - 1, dtype=np.int64)
    kernels().strong_pieces(_vector(starts, np.int64), _vector(indices, np.int64), labels)
    return labels


def dijkstra_rows(starts: Indices, indices: Indices, lengths: Array, sources: Indices, out: AnyArray) -> None:
    """Write the distances from m sources to all n vertices into `out`, an (m, n) array of float64."""
    kernels().dijkstra_rows(_vector(starts, np.int64), _vector(indices, np.int64), _vector(lengths, np.float64),
                            _vector(sources, np.int64), out)


def floyd_pivot(matrix: AnyArray, pivot: int) -> None:
    """Run the first half of a step in place: relax the rows of strip `pivot` of an (n, n) array through one another."""
    kernels().floyd_pivot(matrix, pivot)


def floyd_rows(matrix: AnyArray, pivot: int, strip: int) -> None:
    """Run the second half in place: relax the rows of another strip through the pivot's; strips may run in parallel."""
    kernels().floyd_rows(matrix, pivot, strip)


def _vector(values: AnyArray, kind: type) -> AnyArray:
    return np.ascontiguousarray(values, dtype=kind)
