"""The nearest neighbors of points under any metric, exactly: ties broken by (distance, index)."""

import numpy as np

from mlcli import native
from mlcli.base.blocks import each, one_by_one, row_blocks
from mlcli.base.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.costs import neighbors_cost, pass_cost
from mlcli.stages.algebra.distances import HELD
from mlcli.stages.algebra.metrics.base import Comparison
from mlcli.stages.algebra.metrics.blocks import in_tiles
from mlcli.stages.algebra.metrics.costs import pairs_cost
from mlcli.stages.algebra.metrics.sums import squared_at
from mlcli.stages.graph import nearest as euclidean
from mlcli.stages.graph.candidates import BLOCK, LEAST, SPARE, TREE_COLUMNS, blocks, finder
from mlcli.stages.graph.nearest import Lists

EPS = float(np.finfo(np.float64).eps)


def nearest(metric: Comparison, points: Array, count: int) -> Lists:
    """The `count` nearest other points of every point."""
    if metric.plain:
        return euclidean.nearest(points, count)
    rows = metric.represented(points)
    return _select(metric, rows, rows, count, np.arange(len(rows)))


def nearest_of_new(metric: Comparison, new: Array, points: Array, count: int) -> Lists:
    """The `count` nearest points of every new point."""
    if metric.plain:
        return euclidean.nearest_of_new(new, points, count)
    return _select(metric, metric.represented(new), metric.represented(points), min(count, len(points)), None)


def within(metric: Comparison, new: Array, points: Array, radius: float, without_self: bool) -> Lists:
    """All points at most `radius` away; `without_self` leaves out the point itself."""
    if metric.plain:
        return euclidean.within(new, points, radius, without_self)
    left, right, lists = metric.represented(new), metric.represented(points), []
    for block in one_by_one(row_blocks(len(left), HELD, len(right))):
        distances = np.empty((block.stop - block.start, len(right)))

        def fill(rows: slice, distances: Array = distances, start: int = block.start) -> None:
            distances[rows] = in_tiles(metric, left[start + rows.start : start + rows.stop], right)

        each(fill, row_blocks(len(distances), BLOCK, len(right)))
        near = distances <= radius
        if without_self:
            near[np.arange(len(near)), np.arange(block.start, block.stop)] = False
        rows, columns = np.nonzero(near)
        lists.append((rows + block.start, columns, distances[rows, columns]))
    rows, columns, lengths = (np.concatenate(parts) for parts in zip(*lists, strict=True))
    order = np.lexsort((columns, lengths, rows))
    return Lists(np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(left)))]), columns[order],
                 lengths[order])


def neighbors_step(metric: Comparison, shape: tuple[int, ...], count: int, threads: int) -> Step:
    """What a search for the nearest few of all points would cost."""
    (rows, columns), whole = shape, native.available()
    candidates = metric.plain or (metric.embeds and count + SPARE < rows - 1)
    if not candidates:
        return Step("neighbors", f"{metric.name} distances of all pairs", pairs_cost(metric, rows, columns, threads),
                    8.0 * (rows * (columns + 4 * count) + BLOCK * threads))
    tree = columns <= TREE_COLUMNS
    seconds = neighbors_cost(points=rows, columns=columns, count=count, tree=tree, threads=threads, native=whole)
    how = "k-d tree" if tree else "products of all pairs, refined"
    if metric.plain:
        if not tree:
            seconds += pass_cost(rows * columns * (count + SPARE))
        return Step("neighbors", how, seconds, rows * (4.0 * columns * (not tree) + 8.0 * 6 * (count + SPARE))
                    + 8.0 * (0 if tree or whole else BLOCK))
    return Step("neighbors", f"{how}, then by {metric.name}", seconds + pass_cost(rows * columns * (count + SPARE)),
                8.0 * (rows * (2 * columns + 8 * count) + BLOCK * threads))


def _select(metric: Comparison, new: Array, points: Array, count: int, own: Indices | None) -> Lists:
    """The `count` nearest of represented points, by all distances, or where Euclidean ones rank alike by candidates."""
    indices, lengths = np.empty((len(new), count), dtype=np.int64), np.empty((len(new), count))
    left = np.arange(len(new))
    if metric.embeds and count + SPARE < len(points) - 1:
        left = _by_candidates(metric, new, points, own, indices, lengths)

    def search(block: slice) -> None:
        some = left[block]
        distances = in_tiles(metric, new[some], points)
        indices[some], lengths[some] = smallest(distances, count, None if own is None else own[some])

    each(search, row_blocks(len(left), min(BLOCK, -(-len(left) // LEAST) * len(points)), len(points)),
         progress=True)
    return Lists(np.arange(len(new) + 1) * count, indices.ravel(), lengths.ravel())


def _by_candidates(metric: Comparison, new: Array, points: Array, own: Indices | None, indices: Indices,
                   lengths: Array) -> Indices:
    """Fills in the rows whose nearest points are certain from Euclidean candidates, and returns the others.

    Squared Euclidean distances, and lengths that follow from them, are right to a few roundings for each column: what
    is no candidate cannot be nearer than the bound of all others less these.
    """
    count = indices.shape[1]
    candidates_of, width = finder(new, points, count + SPARE + 1, own)
    slack = 1 - 8 * (points.shape[1] + 8) * EPS
    unsure = np.zeros(len(new), dtype=bool)

    def work(block: slice) -> None:
        candidates, beyond = candidates_of(block)
        candidates = np.sort(candidates, axis=1)  # so that equal lengths go by index
        squared = squared_at(new[block], points, candidates)
        if own is not None:
            squared[candidates == own[block, None]] = np.inf
        found = metric.lengths(squared)
        order = np.argsort(found, axis=1, kind="stable")[:, :count]
        indices[block] = np.take_along_axis(candidates, order, axis=1)
        lengths[block] = np.take_along_axis(found, order, axis=1)
        unsure[block] = ~(lengths[block][:, -1] < metric.lengths(np.maximum(beyond, 0.0)) * slack)

    each(work, blocks(len(new), width), progress=True)
    return np.flatnonzero(unsure)


def smallest(distances: Array, count: int, own: Indices | None) -> tuple[Indices, Array]:
    """The `count` smallest of each row (m x n) by (distance, index), without the column `own` of each row."""
    if native.available():
        return native.select_neighbors(distances, count, own)
    if own is not None:
        distances[np.arange(len(distances)), own] = np.inf
    last = np.partition(distances, count - 1, axis=1)[:, count - 1 : count]
    order = np.empty((len(distances), count), dtype=np.int64)
    for row, near in enumerate(distances <= last):
        places = np.flatnonzero(near)
        order[row] = places[np.argsort(distances[row, places], kind="stable")[:count]]
    return order, np.take_along_axis(distances, order, axis=1)
