"""Distances of a metric in blocks: of all pairs of points, or rows of them on demand."""

from collections.abc import Callable

import numpy as np

from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array
from mlcli.stages.algebra.distances import BLOCK, squared_distances
from mlcli.stages.algebra.metrics.base import Comparison

SIDE = 256  # points on a side of a tile: its numbers stay in a core's cache


def between(metric: Comparison, left: Array, right: Array) -> Array:
    """Distances (m x n) of points, on one thread: zero for equal points, and the same bits either way round."""
    return in_tiles(metric, metric.represented(left), metric.represented(right))


def against(metric: Comparison, points: Array) -> Callable[[Array], Array]:
    """Distances from blocks of rows to all points (m x n), with the points represented once; on one thread each."""
    right = metric.represented(points)
    return lambda left: in_tiles(metric, metric.represented(left), right)


def in_tiles(metric: Comparison, left: Array, right: Array) -> Array:
    """Distances (m x n) of represented rows, tile by tile."""
    distances = np.empty((len(left), len(right)))
    for down in row_blocks(len(left), SIDE):
        for across in row_blocks(len(right), SIDE):
            distances[down, across] = metric.compared(left[down], right[across])
    return distances


def pairwise(metric: Comparison, points: Array) -> Array:
    """Distances of all pairs (n x n), each computed once: symmetric to the last bit, for any number of threads."""
    rows = metric.represented(points)
    distances = np.empty((len(rows), len(rows)))
    sides = row_blocks(len(rows), SIDE)

    def fill(pair: tuple[slice, slice]) -> None:
        down, across = pair
        tile = metric.compared(rows[down], rows[across])
        distances[down, across] = tile
        if down != across:
            distances[across, down] = tile.T

    each(fill, [(down, across) for place, down in enumerate(sides) for across in sides[place:]], progress=True)
    return distances


def distances(metric: Comparison, left: Array, right: Array) -> Array:
    """Distances (m x n) of points, on all threads; of one array with itself each pair once."""
    if left is right:
        return pairwise(metric, left)
    found, rows_of = np.empty((len(left), len(right))), against(metric, right)

    def fill(rows: slice) -> None:
        found[rows] = rows_of(left[rows])

    each(fill, row_blocks(len(left), BLOCK, max(len(right), left.shape[1])), progress=True)
    return found


def squared(metric: Comparison, left: Array, right: Array) -> Array:
    """Squared distances (m x n) of points, on all threads."""
    if metric.plain:
        return squared_distances(left, right)
    found = distances(metric, left, right)
    return np.square(found, out=found)
