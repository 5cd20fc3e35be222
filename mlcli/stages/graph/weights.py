"""Reconstruction weights: each point as a weighted mean of its neighbors (Roweis and Saul, 2000)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.stages.algebra.linalg import require_finite, solve_positive
from mlcli.stages.algebra.metrics.local import Local, local_distances
from mlcli.stages.algebra.metrics.points import is_euclidean, metric_of
from mlcli.stages.graph.nearest import Lists

if TYPE_CHECKING:
    from scipy import sparse

BLOCK = 2**18  # numbers of the differences in a block of work: what fits a core's cache


def reconstruction_weights(data: Spatial, lists: Lists, ridge: float) -> Array:
    """The weights of all points over their neighbors, by coordinates where distances are those of coordinates."""
    if isinstance(data, Dissimilarities):
        return weights_by_distances(lists, local_distances(data.values, None), ridge)
    if is_euclidean(data):
        return barycentric_weights(data.values, data.values, lists, ridge)
    return weights_by_distances(lists, local_distances(data.values, metric_of(data)), ridge)


def barycentric_weights(targets: Array, points: Array, lists: Lists, ridge: float) -> Array:
    """Weights, entry by entry of the lists, that sum to one for each target (m x d) and best reproduce it.

    Solves (G + r I) w ∝ 1 with G the Gram matrix of the differences to the neighbors and
    r = ridge x trace G, or `ridge` itself where all neighbors coincide with the point.
    """
    return _of_systems(lists, points.shape[1], lambda rows, entries: _solve(
        targets[rows], points[lists.indices[entries]], ridge))


def _of_systems(lists: Lists, width: int, solve: Callable[[Indices, Indices], Array]) -> Array:
    """Weights, entry by entry of the lists: of some rows and their entries (m x k) at a time, equally many each."""
    weights = np.empty(len(lists.indices))

    def work(rows: Indices) -> None:
        entries = lists.starts[rows][:, None] + np.arange(lists.counts[rows[0]])
        weights[entries] = solve(rows, entries)

    blocks = []
    for count in np.unique(lists.counts).tolist():
        same = np.flatnonzero(lists.counts == count)
        blocks += [same[rows] for rows in row_blocks(len(same), BLOCK, count * max(width, count))]
    each(work, blocks)
    return weights


def _solve(targets: Array, neighbors: Array, ridge: float) -> Array:
    """Weights (m x k) for targets (m x d) with k neighbors each (m x k x d)."""
    differences = np.subtract(neighbors, targets[:, None, :], out=neighbors)
    return weights_of_gram(differences @ differences.transpose(0, 2, 1), ridge)


def weights_of_gram(gram: Array, ridge: float) -> Array:
    """Weights (m x k) from the local Gram matrices (m x k x k), which are changed in place."""
    traces = np.einsum("mii->m", gram)
    indices = np.arange(gram.shape[1])
    gram[:, indices, indices] += (ridge * np.where(traces > 0, traces, 1.0))[:, None]
    require_finite(gram, "a local Gram matrix")
    weights = solve_positive(gram, np.ones(gram.shape[:2]), where="method.ridge", hint="use a larger ridge")
    return weights / weights.sum(axis=1, keepdims=True)


def weights_by_distances(lists: Lists, local: Local, ridge: float) -> Array:
    """The same weights where only distances are known: the lists' own, and those among the neighbors of each point.

    The Gram matrix of the differences has the entries (δⱼ² + δₖ² - Dⱼₖ²)/2; negative eigenvalues are left out.
    """
    def solve(rows: Indices, entries: Indices) -> Array:
        squared = lists.lengths[entries] ** 2
        gram = (squared[:, :, None] + squared[:, None, :] - local(lists.indices[entries])) / 2
        require_finite(gram, "a local Gram matrix")
        values, vectors = np.linalg.eigh(gram)
        return weights_of_gram((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1), ridge)

    return _of_systems(lists, 1, solve)


def placed_on_equals(rows: Array, lists: Lists) -> Array:
    """Rows of weights (m x n), changed in place, with all weight on the first neighbor where it is at no distance."""
    firsts = lists.starts[:-1]
    equal = np.flatnonzero(lists.lengths[firsts] == 0)
    rows[equal] = 0.0
    rows[equal, lists.indices[firsts[equal]]] = 1.0
    return rows


def weight_matrix(weights: Array, lists: Lists, columns: int) -> "sparse.csr_array":
    """The weights as a sparse matrix (m x columns)."""
    from scipy import sparse

    return sparse.csr_array((weights, lists.indices, lists.starts), shape=(len(lists.starts) - 1, columns))


def residual_matrix(weights: Array, lists: Lists) -> "sparse.csr_array":
    """I - W (n x n); its rows sum to zero."""
    from scipy import sparse

    size = len(lists.starts) - 1
    return (sparse.eye_array(size, format="csr") - weight_matrix(weights, lists, size)).tocsr()


def closed_groups(lists: Lists) -> Indices:
    """The closed group that each point belongs to, or -1: groups whose neighbors are all among themselves.

    I - W has one null vector for every closed group, so more than one leaves no room for coordinates.
    """
    from scipy.sparse.csgraph import connected_components

    size = len(lists.starts) - 1
    graph = weight_matrix(np.ones(len(lists.indices)), lists, size)
    count, labels = connected_components(graph, directed=True, connection="strong")
    leaving = labels[lists.rows] != labels[lists.indices]
    closed = np.ones(count, dtype=bool)
    closed[labels[lists.rows[leaving]]] = False
    return np.where(closed[labels], labels, -1)


def basins(lists: Lists, groups: Indices) -> Indices:
    """The one closed group that each point leads into by its neighbors and theirs, or -1 where there are several."""
    first = np.where(groups >= 0, groups, groups.max(initial=0) + 1)
    last = groups.copy()
    while True:
        lower, higher = first.copy(), last.copy()
        np.minimum.at(lower, lists.rows, first[lists.indices])
        np.maximum.at(higher, lists.rows, last[lists.indices])
        if np.array_equal(lower, first) and np.array_equal(higher, last):
            return np.where(first == last, first, -1)
        first, last = lower, higher
