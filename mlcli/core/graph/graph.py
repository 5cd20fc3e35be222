"""The neighbor graph in compressed rows, and its connected pieces."""

from typing import TYPE_CHECKING, Literal

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.products import Later, Sparse
from mlcli.core.graph.search import Lists
from mlcli.native.paths import Join

if TYPE_CHECKING:
    from scipy import sparse


@stored("graph", starts="s", indices="e", lengths="e", within={"indices": "n"})
@frozen
class Graph:
    """An undirected graph of neighbor lengths in compressed rows; a zero length is an edge."""

    starts: Indices  # n + 1
    indices: Indices  # both directions of every edge
    lengths: Array

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.starts) - 1

    @property
    def parts(self) -> tuple[AnyArray, ...]:
        """The arrays of the graph, as a key."""
        return self.starts, self.indices, self.lengths

    @property
    def edges(self) -> int:
        """Number of edges, each counted once."""
        return len(self.indices) // 2

    @property
    def bytes(self) -> int:
        """Memory of the arrays."""
        return self.starts.nbytes + self.indices.nbytes + self.lengths.nbytes

    def matrix(self) -> "sparse.csr_array":
        """Return a SciPy matrix with explicit zeros as edges; its indices are 32-bit, as older SciPy requires, unless
        there are more edges than that.
        """
        from scipy import sparse

        kind = np.int32 if len(self.indices) <= np.iinfo(np.int32).max else np.int64
        return sparse.csr_array((self.lengths, self.indices.astype(kind), self.starts.astype(kind)),
                                shape=(self.size, self.size))

    def product(self) -> Sparse:
        """Return the sparse matrix that a run may keep."""
        return Sparse(self.starts, self.indices, self.lengths, "input")

    def pieces(self) -> Indices:
        """Return the piece of each vertex, an (n,) array, numbered by descending size."""
        if native.available():
            return by_size(native.pieces(self.starts, self.indices, self.lengths))
        from scipy.sparse.csgraph import connected_components

        _, labels = connected_components(self.matrix(), directed=False)
        return by_size(labels)

    def subgraph(self, kept: Indices) -> "Graph":
        """Return the graph among the (m,) vertices `kept`, renumbered in their order."""
        rows = np.repeat(np.arange(self.size), np.diff(self.starts))
        place = np.full(self.size, -1)
        place[kept] = np.arange(len(kept))
        inside = (place[rows] >= 0) & (place[self.indices] >= 0) & (rows < self.indices)
        return undirected(len(kept), place[rows[inside]], place[self.indices[inside]], self.lengths[inside], "union")

    def joined(self, left: Indices, right: Indices, lengths: Array) -> "Graph":
        """Return the graph with more edges, given by (k,) arrays."""
        rows = np.repeat(np.arange(self.size), np.diff(self.starts))
        return undirected(self.size, np.concatenate([rows, left]), np.concatenate([self.indices, right]),
                          np.concatenate([self.lengths, lengths]), "union")


def by_size(labels: Indices) -> Indices:
    """Renumber (n,) piece labels by descending size, from 0; equal sizes in the order of their first vertex."""
    _, first, renumbered, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    return rank[renumbered]


def undirected(size: int, left: Indices, right: Indices, lengths: Array, rule: Literal["union", "mutual"]) -> Graph:
    """Return a graph from directed pairs ((k,) arrays): joined if either lists the other (union), or if both (mutual).
    """
    if native.available():
        order = np.argsort(left, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=size))])
        return Graph(*native.undirected(starts, right[order], lengths[order], mutual=rule == "mutual"))
    pairs = np.minimum(left, right).astype(np.int64) * size + np.maximum(left, right)
    order = np.argsort(pairs, kind="stable")
    pairs, lengths = pairs[order], lengths[order]
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    lengths = np.minimum.reduceat(lengths, first) if len(first) else lengths
    if rule == "mutual":
        both = np.diff(first, append=len(pairs)) > 1
        first, lengths = first[both], lengths[both]
    low, high = np.divmod(pairs[first], size)
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.argsort(rows * size + columns, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    return Graph(starts, columns[order], np.concatenate([lengths, lengths])[order])


def graph_of(lists: Lists, rule: Literal["union", "mutual"]) -> Graph:
    """Return the undirected graph of neighbor lists."""
    if native.available():
        return Graph(*native.undirected(lists.starts, lists.indices, lists.lengths, mutual=rule == "mutual"))
    return undirected(len(lists.starts) - 1, lists.rows, lists.indices, lists.lengths, rule)


LONGEST = 4096  # entries of a list up to which it is looked through for each of them


def symmetrize(lists: Lists, join: Join, *, divisor: float = 1.0, mix: float = 1.0,
               single: bool = False) -> tuple[Indices, AnyArray, AnyArray]:
    """Return starts (n + 1), columns (int32) and numbers of a symmetric matrix of the lengths v and w in both lists.

    They are (v + w) / `divisor` (sum), `mix` (v + w - v w) + (1 - `mix`) v w (mixture), or the larger of both, with
    zero for a list without the other vertex. Numbers that are zero are left out but for the last. A list names a vertex
    once. `single` rounds the lengths and them to single precision.
    """
    if native.available() and int(lists.counts.max(initial=0)) <= LONGEST:
        return native.join_lists(lists.starts, lists.indices, lists.lengths, join=join, divisor=divisor, mix=mix,
                                 single=single)
    rows, columns, size = lists.rows, lists.indices.astype(np.int64), len(lists.counts)
    every = np.union1d(rows * size + columns, columns * size + rows)
    there, other = np.zeros(len(every)), np.zeros(len(every))
    kind = np.float32 if single else np.float64
    there[np.searchsorted(every, rows * size + columns)] = lists.lengths.astype(kind)
    other[np.searchsorted(every, columns * size + rows)] = lists.lengths.astype(kind)
    if join == "sum":
        found = there / divisor + other / divisor
    elif join == "larger":
        found = np.maximum(there, other)
    else:
        products = there * other
        found = mix * (there + other - products) + (1 - mix) * products
    kept = np.ones(len(every), dtype=bool) if join == "larger" else found != 0
    rows, columns = np.divmod(every[kept], size)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    return starts, columns.astype(np.int32), found[kept].astype(kind)


def union_recipe(lists: Lists) -> Later:
    """Return the undirected graph of neighbor lists as what a run may keep."""
    return Later(lambda: graph_of(lists, "union").product(), "input")
