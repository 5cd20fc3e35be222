"""The several weights of modified LLE, computed again without reflections: by projections and their sums."""

from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Spatial
from mlcli.certify.neighborhoods.local_roots import Part, Root, stack
from mlcli.certify.neighborhoods.tangents import Spread, spreads_of
from mlcli.core.graph.search import Lists

SAME = 1e-10  # relative difference up to which the share of an axis is the median
NEAR = 1e-8  # relative difference up to which rounding decides between them


def several_weights_root(data: Spatial, lists: Lists, kernel: Any, axes: int) -> Root:
    """Return rows of each point: its value less the mean of its weighted means, and projections off that mean.

    With Q the projection onto the last s axes and q = Q1, the weight vectors are, turned so that the first one is their
    sum over √s: (q / α + (1 - α) s w') / √s with α = ‖q‖ / √s, and an orthonormal basis of the range of Q - qqᵀ/‖q‖²,
    for which this projection itself stands.
    """
    found = list(spreads_of(data, lists, own=True))
    values = [np.where(some.lengths > some.zero[:, None], some.lengths, 0.0) ** 2 for some in found]
    dimension = kernel.dimension or axes
    within = [some[:, :dimension].sum(axis=1) for some in values]
    most = float(np.median(np.concatenate([
        some[:, dimension:].sum(axis=1) / np.where(part > 0, part, 1.0)
        for some, part in zip(values, within, strict=True)])))
    return stack([_rows(some, sizes, most, kernel.ridge) for some, sizes in zip(found, values, strict=True)],
                 len(data.values))


def _rows(spread: Spread, values: Array, most: float, ridge: float) -> Part:
    """Return rows (m x (k + 1) x (k + 1)) over each point and its neighbors."""
    size, count = spread.names.shape
    sizes = np.pad(values, ((0, 0), (0, count - values.shape[1])))
    total = sizes.sum(axis=1, keepdims=True)
    shares = np.array([[part[-last:].sum() / (part[:-last].sum() or 1.0) for last in range(1, count)]
                       for part in sizes]).reshape(size, count - 1)
    vectors = np.where(sizes[:, 0] > 0, np.maximum((shares <= most * (1 - SAME)).sum(axis=1), 1), count)
    kept = np.arange(spread.coordinates.shape[2]) < (count - vectors)[:, None]
    first = np.where(kept[:, None, :], spread.coordinates, 0.0)
    last = np.eye(count) - first @ first.transpose(0, 2, 1)
    sums = last.sum(axis=2)
    lengths = np.linalg.norm(sums, axis=1)
    alpha, safe = lengths / np.sqrt(vectors), np.where(lengths > 0, lengths, 1.0)
    turned = spread.coordinates.transpose(0, 2, 1) @ np.ones(count)
    damping = ridge * np.where(total > 0, total, 1.0)
    less = turned * (values / damping / (values + damping))
    regular = 1 / damping - np.einsum("mkq,mq->mk", spread.coordinates, less)  # (G + r)⁻¹ 1
    regular /= regular.sum(axis=1, keepdims=True)
    mean = sums / safe[:, None] + ((1 - alpha) * np.sqrt(vectors))[:, None] * regular
    rows = np.zeros((size, count + 1, count + 1))
    rows[:, 0, 0], rows[:, 0, 1:] = np.sqrt(vectors), -mean
    rows[:, 1:, 1:] = last - sums[:, :, None] * (sums / safe[:, None] ** 2)[:, None, :]
    errors = _errors(spread, sizes, shares, vectors, most) / np.maximum(alpha, EPS) + EPS * count / ridge
    cost = 2 * np.square(rows).sum(axis=(1, 2))  # of two computations, where all is in doubt
    return rows, np.column_stack([spread.rows, spread.names]), np.minimum(errors, 1.0) * cost


def _errors(spread: Spread, sizes: Array, shares: Array, vectors: Array, most: float) -> Array:
    """Return the errors of projections (m); one where rounding decides how many axes are the last."""
    size, count = spread.names.shape
    places, roots = np.arange(size), np.sqrt(sizes)
    before = np.where(vectors < count, roots[places, np.maximum(count - vectors, 1) - 1], 0.0)
    after = roots[places, np.minimum(count - vectors, count - 1)]
    gaps = spread.gaps(before, after)
    errors = np.divide(spread.errors, gaps, out=np.ones(size), where=gaps > 0)
    errors = np.where(vectors == count, 0.0, errors) + EPS * count
    close = (np.abs(shares - most) <= NEAR * most) & (np.abs(shares / (most or 1.0) - 1) > SAME / 100)
    rounding = (np.abs(spread.lengths - spread.zero[:, None]) <= (spread.zero / 2 + spread.errors)[:, None]) & (
        spread.lengths > 0)
    return np.where(close.any(axis=1) | rounding.any(axis=1), 1.0, errors)
