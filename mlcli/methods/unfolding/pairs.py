"""Pairs of points whose distances an unfolding keeps."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Joined, WeightedGraph
from mlcli.core.graph.graph import Graph
from mlcli.core.metrics.distances import squares_of_pairs


@frozen
class NeighborPairs:
    """Pairs of points, each once, with their squared distances in the data."""

    size: int  # points
    left: Indices  # m
    right: Indices  # m
    squared: Array  # m

    def __len__(self) -> int:
        return len(self.left)

    def take(self, places: Indices) -> "NeighborPairs":
        """Return the pairs at `places`, an (s,) array of indices."""
        return NeighborPairs(self.size, self.left[places], self.right[places], self.squared[places])

    def differences(self, columns: Array) -> Array:
        """Return the rows xᵢ - xⱼ (m x r) of a matrix (n x r) with a row for each point."""
        return np.asarray(columns[self.left] - columns[self.right])

    def misses(self, factor: Array, equal: bool) -> Array:
        """Return the errors (m) of the squared distances of K = F Fᵀ, F (n x r), relative to the mean to keep."""
        excess = squared_norms(self.differences(factor)) - self.squared
        return np.asarray((np.abs(excess) if equal else np.maximum(excess, 0.0)) / self.squared.mean())

    def shortest_between(self, groups: Indices) -> Indices:
        """Return indices of the shortest pair between every two groups that pairs join; `groups` is an (n,) array."""
        low, high = np.sort(np.stack([groups[self.left], groups[self.right]]), axis=0)
        apart = np.flatnonzero(low != high)
        order = apart[np.lexsort((self.squared[apart], high[apart], low[apart]))]
        low, high = low[order], high[order]
        return order[np.append(True, (low[1:] != low[:-1]) | (high[1:] != high[:-1]))[: len(order)]]

    def merge(self, groups: Indices) -> "NeighborPairs":
        """Return the pairs between groups of points, each once, at the shortest distance; `groups` is an (n,) array."""
        places = self.shortest_between(groups)
        low, high = np.sort(np.stack([groups[self.left[places]], groups[self.right[places]]]), axis=0)
        return NeighborPairs(int(groups.max()) + 1, low, high, self.squared[places])


def neighbor_pairs(graph: Graph, data: Joined, common: bool) -> NeighborPairs:
    """Return the edges of the neighbor graph, and with `common` all pairs of points that have a neighbor in common."""
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    once = rows < graph.indices
    if not common or isinstance(data, WeightedGraph):
        return NeighborPairs(graph.size, rows[once], graph.indices[once], graph.lengths[once] ** 2)
    pattern = graph.matrix()
    pattern.data = np.ones_like(pattern.data)
    joined = (pattern + pattern @ pattern).tocoo()
    above = joined.row < joined.col
    left, right = joined.row[above].astype(np.int64), joined.col[above].astype(np.int64)
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    return NeighborPairs(graph.size, left, right, squares_of_pairs(data, left, right))


def coincident_groups(pairs: NeighborPairs) -> Indices:
    """Return the group of each point (n), where pairs of distance zero join points to one group."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    zero = pairs.squared == 0
    links = coo_array((np.ones(int(zero.sum())), (pairs.left[zero], pairs.right[zero])), shape=(pairs.size,) * 2)
    return connected_components(links, directed=False)[1].astype(np.int64)


def squared_norms(rows: Array) -> Array:
    """Return the squared lengths (m) of rows (m x r)."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
