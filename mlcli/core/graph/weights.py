"""Reconstruction weights: each point as a weighted mean of its neighbors (Roweis and Saul, 2000)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.core.graph.search import Lists
from mlcli.core.linalg import require_finite, solve_regularized
from mlcli.core.metrics.distances import LocalDistances, is_euclidean, local_distances, metric_of

if TYPE_CHECKING:
    from mlcli.core.sparse_factors import CompressedRows

BLOCK = 2**18  # numbers of the differences in a block of work: they fit in a core's cache


def reconstruction_weights(data: Spatial, lists: Lists, ridge: float, rows: Indices | slice = slice(None),
                           errors: Array | None = None) -> Array:
    """Return the weights of points over their neighbors, by coordinates for Euclidean distances.

    The lists are those of all points, or of `rows` (m). Into `errors` (m) go ‖xᵢ - Σ w xⱼ‖², in the unit of squares.
    """
    if isinstance(data, Dissimilarities):
        return weights_by_distances(lists, local_distances(data.values, None), ridge, errors)
    if is_euclidean(data):
        return barycentric_weights(data.values[rows], data.values, lists, ridge=ridge, errors=errors)
    return weights_by_distances(lists, local_distances(data.values, metric_of(data)), ridge, errors)


def barycentric_weights(targets: Array, points: Array, lists: Lists, *, ridge: float,
                        errors: Array | None = None) -> Array:
    """Return weights, one per entry of the lists, that sum to one for each target (m x d) and best reproduce it.

    Solves (G + r I) w ∝ 1 with G the Gram matrix of the differences to the neighbors and r = ridge x trace G, or
    `ridge` itself where all neighbors coincide with the point. Into `errors` (m) go ‖Σ w (xⱼ - x)‖².
    """
    def solve(rows: Indices, entries: Indices) -> Array:
        neighbors = points[lists.indices[entries]]
        differences = np.subtract(neighbors, targets[rows][:, None, :], out=neighbors)
        weights = weights_of_gram(differences @ differences.transpose(0, 2, 1), ridge)
        if errors is not None:
            errors[rows] = np.square(weights[:, None, :] @ differences).sum(axis=(1, 2))
        return weights

    return _of_systems(lists, points.shape[1], solve)


def _of_systems(lists: Lists, width: int, solve: Callable[[Indices, Indices], Array]) -> Array:
    """Compute weights for groups of rows with equally many neighbors: `solve` takes rows and entries (m x k)."""
    weights = np.empty(len(lists.indices))

    def work(rows: Indices) -> None:
        entries = entries_of(lists, rows)
        weights[entries] = solve(rows, entries)

    each(work, equal_blocks(lists, width))
    return weights


def equal_blocks(lists: Lists, width: int) -> list[Indices]:
    """Return the points (m,) in blocks of equally many neighbors each, for work on m x k x max(k, `width`) numbers."""
    blocks = []
    for count in np.unique(lists.counts).tolist():
        same = np.flatnonzero(lists.counts == count)
        blocks += [same[rows] for rows in row_blocks(len(same), BLOCK, count * max(width, count))]
    return blocks


def entries_of(lists: Lists, rows: Indices) -> Indices:
    """Return the entries (m x k) in the lists of some points (m,) that have equally many neighbors."""
    return lists.starts[rows][:, None] + np.arange(lists.counts[rows[0]])


def weights_of_gram(gram: Array, ridge: float) -> Array:
    """Return weights (m x k) from the local Gram matrices (m x k x k), which are overwritten."""
    traces = np.einsum("mii->m", gram)
    indices = np.arange(gram.shape[1])
    with np.errstate(over="ignore"):
        gram[:, indices, indices] += (ridge * np.where(traces > 0, traces, 1.0))[:, None]
    require_finite(gram, "a local Gram matrix")
    weights = solve_regularized(gram, np.ones(gram.shape[:2]))
    return weights / weights.sum(axis=1, keepdims=True)


def weights_by_distances(lists: Lists, local: LocalDistances, ridge: float, errors: Array | None = None) -> Array:
    """Return reconstruction weights from distances: those in the lists, and those among each point's neighbors.

    The Gram matrix G of the differences has the entries (δⱼ² + δₖ² - Dⱼₖ²)/2; negative eigenvalues are replaced by
    zero. Into `errors` (m) go wᵀGw.
    """
    def solve(rows: Indices, entries: Indices) -> Array:
        values, vectors = _local_gram(lists.lengths[entries], local(lists.indices[entries]))
        weights = weights_of_gram((vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1), ridge)
        if errors is not None:
            errors[rows] = (values * (weights[:, None, :] @ vectors)[:, 0] ** 2).sum(axis=1)
        return weights

    return _of_systems(lists, 1, solve)


def _local_gram(lengths: Array, among: Array) -> tuple[Array, Array]:
    """Return eigenvalues (m x k), none below zero, and eigenvectors (m x k x k) of the Gram matrices of differences.

    `lengths` (m x k) are those of the differences, `among` the squared distances of neighbors (m x k x k).
    """
    squared = lengths**2
    gram = (squared[:, :, None] + squared[:, None, :] - among) / 2
    require_finite(gram, "a local Gram matrix")
    values, vectors = np.linalg.eigh(gram)
    return np.maximum(values, 0.0), vectors


def place_on_equals(rows: Array, lists: Lists) -> Array:
    """Put all weight of a row (m x n) on the first neighbor where it is at distance zero, in place."""
    firsts = lists.starts[:-1]
    equal = np.flatnonzero(lists.lengths[firsts] == 0)
    rows[equal] = 0.0
    rows[equal, lists.indices[firsts[equal]]] = 1.0
    return rows


def weight_rows(weights: Array, lists: Lists, columns: int) -> Array:
    """Return the weights as an array (m x columns), from one per entry."""
    from mlcli.core.sparse_factors import CompressedRows

    return CompressedRows(lists.starts, lists.indices, weights, columns).dense()


def residual_matrix(weights: Array, lists: Lists) -> "CompressedRows":
    """Return I - W (n x n), the diagonal first in each row; rows sum to zero."""
    from mlcli.core.sparse_factors import CompressedRows

    size = len(lists.starts) - 1
    starts = lists.starts + np.arange(size + 1)
    places = np.arange(1, len(weights) + 1) + lists.rows
    indices, values = np.empty(len(weights) + size, dtype=np.int64), np.ones(len(weights) + size)
    indices[starts[:-1]], indices[places] = np.arange(size), lists.indices
    values[places] = -weights
    return CompressedRows(starts, indices, values, size)
