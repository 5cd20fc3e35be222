"""Reconstruction weights, solved again: of all points, as LLE has them, and of single points."""

from typing import Any

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.core.check.metrics import bounded_distances
from mlcli.core.graph.search import Lists
from mlcli.core.metrics.points import is_euclidean, metric_of

ROOM = 2**18  # numbers of the local systems solved in one block


def residual_matrix(data: Spatial, lists: Lists, ridge: float) -> tuple[Any, float]:
    """Return I - W, a sparse (n, n) array with weights solved again, and the largest share of rounding.

    Points with equally many neighbors are solved in blocks. The share is that of a metric's rounding in a local system.
    """
    from scipy import sparse

    weights, size, points, rough = np.empty(len(lists.indices)), len(data.values), data.values, 0.0
    for width in np.unique(lists.counts).tolist():
        rows = np.flatnonzero(lists.counts == width)
        step = max(1, ROOM // max(width * (width + (points.shape[1] if is_euclidean(data) else 0)), 1))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            entries = lists.starts[part][:, None] + np.arange(width)
            weights[entries], share = weights_of(data, part, lists.indices[entries], ridge)
            rough = max(rough, share)
    return sparse.eye_array(size, format="csr") - sparse.csr_array(
        (weights, lists.indices, lists.starts), shape=(size, size)), rough


def weights_of(data: Spatial, rows: Indices, names: Indices, ridge: float) -> tuple[Array, float]:
    """Return the weights of points (m) over their neighbors (m x k), and the largest share of a metric's rounding."""
    if is_euclidean(data):
        return solve_weights(data.values[rows], data.values[names], ridge), 0.0
    return solve_weights_by_distances(data, np.column_stack([rows, names]), ridge)


def solve_weights_by_distances(data: Spatial, names: Indices, ridge: float) -> tuple[Array, float]:
    """Return weights (V (Λ₊ + r)⁻¹ Vᵀ) 1, an (m, k) array, and the largest share of rounding in a local system.

    `names` is an (m, 1 + k) array: points, then their neighbors. The share is the norm of a system's errors over its
    trace.
    """
    weights, rough = np.empty((len(names), names.shape[1] - 1)), 0.0
    for place, some in enumerate(names):
        if isinstance(data, Dissimilarities):
            squares = data.values[np.ix_(some, some)] ** 2
        else:
            found = bounded_distances(metric_of(data), data.values[some], data.values[some])
            squares, errors = found.distances**2, (2 * found.distances + found.errors) * found.errors
            if trace := float(squares[0].sum()):  # equal points have equal weights
                rough = max(rough, float(np.linalg.norm(errors)) / trace)
        values, vectors = np.linalg.eigh((squares[:1, 1:] + squares[1:, :1] - squares[1:, 1:]) / 2)
        kept = np.maximum(values, 0.0)
        row = vectors @ (vectors.sum(axis=0) / (kept + ridge * (kept.sum() or 1.0)))
        weights[place] = row / row.sum()
    return weights, rough


def solve_weights(points: Array, neighbors: Array, ridge: float) -> Array:
    """Return the weights of points over their neighbors, an (m, k) array, by solving the local systems.

    `points` is an (m, d) array, `neighbors` an (m, k, d) array. Source: Saul and Roweis, 2003.
    """
    gaps = neighbors - points[:, None, :]
    grams = gaps @ gaps.transpose(0, 2, 1)
    traces = np.trace(grams, axis1=1, axis2=2)
    grams += np.eye(grams.shape[1]) * (ridge * np.where(traces > 0, traces, 1.0))[:, None, None]
    weights = np.linalg.solve(grams, np.ones((*grams.shape[:2], 1)))[..., 0]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def reconstruction_error(data: Spatial, matrix: Any) -> tuple[float, float]:
    """Return Σ ‖xᵢ - Σ w xⱼ‖² by I - W, a sparse (n, n) array, and the size of the sums that it is a difference of.

    By distances it is Σ λ (v · w)² over the positive eigenvalues λ of each point's Gram matrix.
    """
    if is_euclidean(data):
        centered = data.values - data.values.mean(axis=0)
        return float(np.square(matrix @ centered).sum()), float(np.square(abs(matrix) @ abs(centered)).sum())
    total = size = 0.0
    for place in range(matrix.shape[0]):
        row = slice(matrix.indptr[place], matrix.indptr[place + 1])
        others = matrix.indices[row] != place
        names, weights = matrix.indices[row][others], -matrix.data[row][others]
        some = np.append(place, names)
        squares = data.values[np.ix_(some, some)] ** 2 if isinstance(data, Dissimilarities) else bounded_distances(
            metric_of(data), data.values[some], data.values[some]).distances ** 2
        values, vectors = np.linalg.eigh((squares[:1, 1:] + squares[1:, :1] - squares[1:, 1:]) / 2)
        total += float(np.maximum(values, 0.0) @ (vectors.T @ weights) ** 2)
        size += float(np.abs(values).max(initial=0.0) * np.square(weights).sum())
    return total, size
