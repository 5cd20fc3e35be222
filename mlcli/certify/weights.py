"""Reconstruction weights of locally linear embedding, solved again: (I - W)ᵀ(I - W) Y = Y / λ."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, later, ratio
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.certify.eigen import count_check
from mlcli.certify.graph import adjacency, neighbor_check
from mlcli.certify.subject import Subject, max_abs, tie_width
from mlcli.stages.algebra.metrics.points import is_euclidean, metric_of
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.pieces import connected_lists
from mlcli.stages.similarities.metric_witness import bounded_distances

LOCAL = 1e-4  # seconds for a row with distances but no features
ROW, PAIR, GRAM = 2e-5, 2e-10, 4e-10  # seconds for a row, a column of a distance, and one of a product
APART = 1e5  # ratio of eigenvalues of M⁺ above which the solver computes them one after the other
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
            names = lists.indices[entries]
            if is_euclidean(data):
                weights[entries] = solve_weights(points[part], points[names], ridge)
                continue
            weights[entries], share = solve_weights_by_distances(data, np.column_stack([part, names]), ridge)
            rough = max(rough, share)
    return sparse.eye_array(size, format="csr") - sparse.csr_array(
        (weights, lists.indices, lists.starts), shape=(size, size)), rough


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


def weight_checks(subject: Subject) -> Iterator[Check]:
    """Yield the checks of reconstruction weights."""
    similarity = subject.similarity
    width, columns = similarity.neighbors.usual, subject.data.values.shape[1]
    row = ROW if is_euclidean(subject.data) else LOCAL
    if not subject.plan.allows(0.5, subject.size * (row + columns * (PAIR * subject.size + GRAM * width**2))):
        yield later("residual")
        return
    policy = subject.chain.graph.neighbors.pieces
    lists, _ = connected_lists(subject.data, similarity.neighbors, policy)  # proven by `neighbor_check`
    root, rough = residual_matrix(subject.data, lists, similarity.ridge)
    unsure = (EPS + rough) / similarity.ridge  # relative rounding of a weight
    sizes = abs(root)
    norm = float(sizes.sum(axis=0).max() * sizes.sum(axis=1).max())  # a bound of that of (I - W)ᵀ(I - W)
    costs = np.divide(1.0, subject.values, out=np.zeros_like(subject.values), where=subject.values > 0)
    yield from _eigenproblem(subject, root, norm, costs, unsure)
    last, rounding = max_abs(costs), 10 * norm * (subject.rounding + unsure)
    if not subject.plan.full:
        yield later("count")
    elif last > 2 * rounding:  # the last cost kept is not below the shift, but the constant vector's zero is
        yield count_check(lambda: -(root.T @ root).toarray(), subject.size, -last, subject.embedding.shape[1],
                          rounding / 10 + 1e-4 * last)
    yield neighbor_check(subject, adjacency(subject, lists.starts, lists.indices), "lists")


def _eigenproblem(subject: Subject, root: Any, norm: float, costs: Array, unsure: float) -> Iterator[Check]:
    """Check (I - W)ᵀ(I - W) v = v / λ, with all weights."""
    coordinates, size = subject.embedding, subject.size
    image = root @ coordinates
    gaps = np.linalg.norm(root.T @ image - coordinates * costs, axis=0) / np.sqrt(size)
    # an iterative solver's residuals are relative to the largest λ, and grow by its ratio to the axis' own
    ratios = np.clip(subject.top * costs, 1.0, APART)
    precision = subject.rounding + unsure + subject.spectrum.tolerance * ratios
    solved = subject.spectrum.solved  # powers of the singular values of I - W, the roots of costs
    ties = tie_width(solved[solved > 0] ** -0.5, subject.rounding, coordinates.shape[1], power=2)
    yield ratio("residual", max_abs(gaps / (norm * precision + ties)), 1.0,
                "(I - W)ᵀ(I - W) v = v / λ, with weights solved again")
    again = np.sum(image * image, axis=0) / size
    noise = norm * unsure**2  # rounding of the sum of squares
    relative = np.abs(again - costs) / (1e-4 * costs + 2 * np.sqrt(costs * noise) + noise)
    yield ratio("costs", max_abs(relative), 1.0, "‖(I - W) v‖² = 1 / λ, to a ten-thousandth")
