"""Distances by the metric of an input: of all pairs, in blocks, or among neighbors; and their predicted seconds."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mlcli import native
from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Joined, Spatial
from mlcli.base.values.metric import RowMetric
from mlcli.core.euclidean_distances import BLOCK, pair_distances, squared_distances, squared_distances_in_order
from mlcli.core.metrics import EUCLIDEAN, Metric
from mlcli.core.metrics.base import squared_at
from mlcli.core.metrics.domain import require_domain


def kernel_cost(points: int, columns: int, threads: int) -> float:
    """Seconds of one pass over a kernel function of all pairs: a product and an exponential for each."""
    return points**2 * (2.0 * columns / product_rate(threads) + rates().bent / threads)


def distances_cost(metric: RowMetric, points: int, columns: int, threads: int) -> float:
    """Seconds of the distances of all pairs, each computed once."""
    if metric.plain:
        return kernel_cost(points, columns, threads)
    return differences_cost(metric, points, columns, threads)


def differences_cost(metric: RowMetric, points: int, columns: int, threads: int) -> float:
    """Seconds of the distances of all pairs by differences, each computed once."""
    return points**2 / 2 * (columns * metric.column_seconds + 2e-9) / threads


SAMPLED = 1000  # rows whose share of zeros is that of all, for predictions


def bulk_cost(metric: RowMetric, points: Array, threads: int) -> float:
    """Seconds of `in_bulk` for all pairs of points (n x d), each computed once."""
    count, columns = points.shape
    if metric.embeds:
        return kernel_cost(count, columns, threads) / 2
    if metric.shared_seconds is None or not native.available():
        return differences_cost(metric, count, columns, threads)
    filled = float(np.count_nonzero(points[:SAMPLED])) / max(len(points[:SAMPLED]), 1)
    return count**2 / 2 * (filled * metric.shared_seconds + 1.2e-8) / threads


def pairs_cost(metric: RowMetric, points: int, columns: int, threads: int) -> float:
    """Seconds of the distances of all pairs, rows of them at a time, each compared with others."""
    if metric.plain:
        return points**2 * (2.0 * columns / product_rate(threads) + 1e-8)
    return 2 * distances_cost(metric, points, columns, threads) + points**2 * 1e-8 / threads


SIDE = 256  # points on a side of a tile: its numbers stay in a core's cache


def between(metric: RowMetric, left: Array, right: Array) -> Array:
    """Return distances (m x n) of points (m x d, n x d), on one thread: zero for equal points, exactly symmetric."""
    return in_tiles(metric, metric.represent(left), metric.represent(right))


def distances_to(metric: RowMetric, points: Array) -> Callable[[Array], Array]:
    """Return a function that maps a block of rows (m x d) to their distances (m x n) from points (n x d).

    The points are represented once; the function runs on one thread.
    """
    right = metric.represent(points)
    return lambda left: in_tiles(metric, metric.represent(left), right)


def in_tiles(metric: RowMetric, left: Array, right: Array) -> Array:
    """Return distances (m x n) of represented rows (m x r, n x r), tile by tile."""
    distances = np.empty((len(left), len(right)))
    for down in row_blocks(len(left), SIDE):
        for across in row_blocks(len(right), SIDE):
            distances[down, across] = metric.compare(left[down], right[across])
    return distances


def pairwise(metric: RowMetric, points: Array) -> Array:
    """Return distances (n x n) of all pairs of points (n x d), each computed once, so exactly symmetric."""
    rows = metric.represent(points)
    distances = np.empty((len(rows), len(rows)))
    sides = row_blocks(len(rows), SIDE)

    def fill(pair: tuple[slice, slice]) -> None:
        down, across = pair
        tile = metric.compare(rows[down], rows[across])
        distances[down, across] = tile
        if down != across:
            distances[across, down] = tile.T

    each(fill, [(down, across) for place, down in enumerate(sides) for across in sides[place:]], progress=True)
    return distances


def distances(metric: RowMetric, left: Array, right: Array) -> Array:
    """Return distances (m x n) of points (m x d, n x d), on all threads; of one array with itself each pair once."""
    if left is right:
        return pairwise(metric, left)
    found, rows_of = np.empty((len(left), len(right))), distances_to(metric, right)

    def fill(rows: slice) -> None:
        found[rows] = rows_of(left[rows])

    each(fill, row_blocks(len(left), BLOCK, max(len(right), left.shape[1])), progress=True)
    return found


def distances_in_order(metric: RowMetric, left: Array, right: Array) -> Array:
    """Return distances (m x n) of points (m x d, n x d); Euclidean ones by products, with the same bits everywhere."""
    return np.sqrt(squared_distances_in_order(left, right)) if metric.plain else distances(metric, left, right)


def squared(metric: RowMetric, left: Array, right: Array) -> Array:
    """Return squared distances (m x n) of points (m x d, n x d), on all threads."""
    if metric.plain:
        return squared_distances(left, right)
    found = distances(metric, left, right)
    return np.square(found, out=found)


def with_metric(metric: Metric, data: Input) -> Input:
    """Return features with the metric, after a check of its domain; other data as it is. Raises DataError outside."""
    if metric.plain or not isinstance(data, Features):
        return data
    require_domain(metric, data)
    return replace(data, metric=metric.fitted(data.values, data.categories))


def with_metric_of(data: Input, other: Input) -> Input:
    """Return some of `other`'s rows, given as plain features, with its metric and the parameters from all rows."""
    if is_euclidean(other) or not (isinstance(data, Features) and isinstance(other, Features)):
        return data
    return Features(data.values, data.ids, data.columns, metric=other.metric)


def metric_of(data: Input) -> RowMetric:
    """Return the metric of the data: Euclidean unless the data carries one."""
    return EUCLIDEAN if not isinstance(data, Features) or data.metric is None else data.metric


def is_euclidean(data: Input) -> bool:
    """Whether distances are Euclidean distances of the data's own coordinates."""
    return isinstance(data, Features) and metric_of(data).plain


def training_points(data: Joined) -> tuple[Array | None, RowMetric]:
    """Return the training points (n x d) and the metric; None instead of points where the data is dissimilarities."""
    return (data.values if isinstance(data, Features) else None), metric_of(data)


def squares(data: Spatial) -> Array:
    """Return squared distances of all points (n x n), from the dissimilarities or by the metric."""
    if isinstance(data, Dissimilarities):
        found = np.empty(data.values.shape)
        each(lambda rows: np.square(data.values[rows], out=found[rows]), row_blocks(len(found), BLOCK, len(found)))
        return found
    return squared(metric_of(data), data.values, data.values)


def lengths_of(data: Spatial) -> Array:
    """Return dissimilarities of all points (n x n): as they are given, or distances, the same on every processor."""
    if isinstance(data, Dissimilarities):
        return np.ascontiguousarray(data.values)
    return pairwise(metric_of(data), data.values)


def seconds_of_lengths(data: Spatial, count: int, threads: int) -> float:
    """Predict the seconds of `lengths_of` for `count` points of the data."""
    given = isinstance(data, Dissimilarities)
    return 0.0 if given else differences_cost(metric_of(data), count, data.values.shape[1], threads)


def seconds_of_squares(data: Spatial, count: int, threads: int) -> float:
    """Predict the seconds of `squares` for `count` points of the data."""
    given = isinstance(data, Dissimilarities)
    return 0.0 if given else distances_cost(metric_of(data), count, data.values.shape[1], threads)


LocalDistances = Callable[[Indices], Array]  # squared distances (m x k x k) among some points each (m x k)


def local_distances(points: Array, metric: RowMetric | None) -> LocalDistances:
    """Return a function of indices (m x k) that gives squared distances (m x k x k) among the k points of each row.

    `points` are n x d under a metric; without one they are an n x n matrix of dissimilarities.
    """
    if metric is None:
        return lambda names: np.asarray(points[names[:, :, None], names[:, None, :]] ** 2)
    rows, chosen = metric.represent(points), metric

    def squares(names: Indices) -> Array:
        size, count = names.shape
        if chosen.embeds:
            ends = np.repeat(names, count, axis=0)
            lengths = chosen.lengths(squared_at(rows[names.ravel()], rows, ends)).reshape(size, count, count)
        else:
            lengths = np.array([chosen.compare(rows[some], rows[some]) for some in names])
        return np.asarray(np.square(lengths).reshape(size, count, count))

    return squares


def squares_of_pairs(data: Spatial, left: Indices, right: Indices) -> Array:
    """Return squared distances (m) of pairs of points, two (m,) arrays; pairs of one left point are adjacent."""
    if isinstance(data, Dissimilarities):
        return np.asarray(data.values[left, right] ** 2)
    if is_euclidean(data):
        return pair_distances(data.values, data.values, left, right)
    metric = metric_of(data)
    rows, found = metric.represent(data.values), np.empty(len(left))
    cuts = [0, *(np.flatnonzero(np.diff(left)) + 1).tolist(), len(left)]
    for start, stop in itertools.pairwise(cuts):
        found[start:stop] = metric.compare(rows[left[start : start + 1]], rows[right[start:stop]])[0]
    return np.square(found, out=found)
