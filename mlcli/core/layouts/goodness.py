"""How well a layout fits its dissimilarities: the stress of each point, and pairs for a Shepard diagram."""

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.core.arithmetic import dot
from mlcli.core.euclidean_distances import by_differences
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.layouts.ranks import PairOrder, Ranks
from mlcli.core.model import Goodness

BLOCK = 2**20  # numbers of a block of pairs
SHOWN = 2_000  # most pairs of the diagram
STRIDE = 0.6180339887498949  # of the pairs that are shown, modulo all: evenly spread over points


def metric_goodness(pairs: Pairs, points: Array) -> Goodness:
    """Return the fit of coordinates (u x p) of distinct points, whose disparities are the dissimilarities."""
    def work(rows: slice) -> tuple[Array, Array]:
        distances = np.sqrt(by_differences(points[rows], points))
        lengths, weights = pairs.lengths[rows], pairs.weights(rows)
        plain = pairs.counts[rows, None] * pairs.counts
        np.fill_diagonal(plain[:, rows.start:], 0.0)
        return ((weights * (distances - lengths) ** 2).sum(axis=1) / pairs.counts[rows],
                moments(distances.ravel(), lengths.ravel(), plain.ravel()))

    parts = list(in_order(work, row_blocks(len(points), BLOCK, len(points))))
    contributions = np.concatenate([part for part, _ in parts]) / (2 * pairs.size if pairs.size else 1.0)
    left, right = some_pairs(len(points))
    lengths = pairs.lengths[left, right]
    distances = np.sqrt(np.sum((points[left] - points[right]) ** 2, axis=1))
    order = np.argsort(lengths, kind="stable")
    return Goodness(np.sqrt(contributions)[pairs.places], np.column_stack([lengths, distances, lengths])[order],
                    correlation(np.sum([part for _, part in parts], axis=0)))


def rank_goodness(pairs: Pairs, order: PairOrder, points: Array) -> Goodness:
    """Return the fit of coordinates (u x p) of distinct points, with disparities of ranks."""
    ranks = Ranks(order, pairs.counts)
    fit = ranks.fit(points)
    left, right = ranks.sides
    weights = pairs.counts[left] * pairs.counts[right]
    squares = weights * (fit.distances - fit.disparities) ** 2
    sums = np.bincount(left, squares, len(points)) + np.bincount(right, squares, len(points))
    contributions = sums / pairs.counts / (2 * fit.spread if fit.spread > 0 else 1.0)
    shown = np.unique(np.linspace(0, len(left) - 1, min(SHOWN, len(left))).astype(np.int64))
    table = np.column_stack([order.lengths, fit.distances, fit.disparities])[shown]
    return Goodness(np.sqrt(contributions)[pairs.places], table,
                    correlation(moments(fit.distances, fit.disparities, weights)))


def some_pairs(size: int) -> tuple[Indices, Indices]:
    """Return the two points of all pairs (s each), or of SHOWN of them, spread over rows and columns."""
    count = size * (size - 1) // 2
    if count <= SHOWN:
        left, right = np.triu_indices(size, 1)
        return left, right
    rows = (np.arange(SHOWN) * size) // SHOWN
    steps = 1 + (np.arange(SHOWN) * STRIDE % 1 * (size - 1)).astype(np.int64)
    return rows, (rows + steps) % size


def moments(first: Array, second: Array, weights: Array) -> Array:
    """Return Σ w, Σ w x, Σ w y, Σ w x², Σ w y² and Σ w x y of numbers (m each)."""
    left, right = weights * first, weights * second
    return np.array([weights.sum(), left.sum(), right.sum(), dot(left, first), dot(right, second), dot(left, second)])


def correlation(sums: Array) -> float:
    """Return the squared correlation of numbers with these moments; NaN where one of them is constant."""
    total, first, second, *products = sums
    if not total > 0:
        return np.nan
    spreads = products[0] - first * first / total, products[1] - second * second / total
    if min(spreads) <= 1e-12 * max(products[0], products[1]):
        return np.nan
    shared = products[2] - first * second / total
    return float(shared * shared / (spreads[0] * spreads[1]))
