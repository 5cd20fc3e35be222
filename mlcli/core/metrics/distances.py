"""Distances of a metric in blocks: of all pairs of points, or of some rows on demand; and their predicted seconds."""

from collections.abc import Callable

import numpy as np

from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array
from mlcli.base.values.metric import FittedMetric
from mlcli.core.distances import BLOCK, squared_distances


def kernel_cost(points: int, columns: int, threads: int) -> float:
    """Seconds of one pass over a kernel function of all pairs: a product and an exponential for each."""
    return points**2 * (2.0 * columns / product_rate(threads) + rates().bent / threads)


def distances_cost(metric: FittedMetric, points: int, columns: int, threads: int) -> float:
    """Seconds of the distances of all pairs, each computed once."""
    if metric.plain:
        return kernel_cost(points, columns, threads)
    return points**2 / 2 * (columns * metric.column_seconds + 2e-9) / threads


def pairs_cost(metric: FittedMetric, points: int, columns: int, threads: int) -> float:
    """Seconds of the distances of all pairs, rows of them at a time, each compared with others."""
    if metric.plain:
        return points**2 * (2.0 * columns / product_rate(threads) + 1e-8)
    return 2 * distances_cost(metric, points, columns, threads) + points**2 * 1e-8 / threads


SIDE = 256  # points on a side of a tile: its numbers stay in a core's cache


def between(metric: FittedMetric, left: Array, right: Array) -> Array:
    """Return distances (m x n) of points (m x d, n x d), on one thread: zero for equal points, exactly symmetric."""
    return in_tiles(metric, metric.represent(left), metric.represent(right))


def distances_to(metric: FittedMetric, points: Array) -> Callable[[Array], Array]:
    """Return a function that maps a block of rows (m x d) to their distances (m x n) from points (n x d).

    The points are represented once; the function runs on one thread.
    """
    right = metric.represent(points)
    return lambda left: in_tiles(metric, metric.represent(left), right)


def in_tiles(metric: FittedMetric, left: Array, right: Array) -> Array:
    """Return distances (m x n) of represented rows (m x r, n x r), tile by tile."""
    distances = np.empty((len(left), len(right)))
    for down in row_blocks(len(left), SIDE):
        for across in row_blocks(len(right), SIDE):
            distances[down, across] = metric.compare(left[down], right[across])
    return distances


def pairwise(metric: FittedMetric, points: Array) -> Array:
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


def distances(metric: FittedMetric, left: Array, right: Array) -> Array:
    """Return distances (m x n) of points (m x d, n x d), on all threads; of one array with itself each pair once."""
    if left is right:
        return pairwise(metric, left)
    found, rows_of = np.empty((len(left), len(right))), distances_to(metric, right)

    def fill(rows: slice) -> None:
        found[rows] = rows_of(left[rows])

    each(fill, row_blocks(len(left), BLOCK, max(len(right), left.shape[1])), progress=True)
    return found


def squared(metric: FittedMetric, left: Array, right: Array) -> Array:
    """Return squared distances (m x n) of points (m x d, n x d), on all threads."""
    if metric.plain:
        return squared_distances(left, right)
    found = distances(metric, left, right)
    return np.square(found, out=found)
