"""The nearest neighbors under any metric, and all points within a radius, exactly: ties broken by (distance, index)."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost
from mlcli.base.rows.blocks import each, one_by_one, row_blocks
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.metric import RowMetric
from mlcli.core.distances import BLOCK, HELD, pair_distances, squared_distances
from mlcli.core.graph import search as euclidean
from mlcli.core.graph.search import (
    LEAST,
    SEARCH_BLOCK,
    SPARE,
    TREE_COLUMNS,
    Finder,
    Lists,
    RowSearch,
    blocks,
    concatenate,
    finder,
    neighbors_cost,
    numbers_in_blocks,
    search_passes,
    smallest,
    sort_lists,
)
from mlcli.core.metrics.base import squared_at
from mlcli.core.metrics.distances import in_tiles, pairs_cost
from mlcli.engine.executor import results, sent

EPS = float(np.finfo(np.float64).eps)


def nearest(metric: RowMetric, points: Array, count: int) -> Lists:
    """Return the `count` nearest other points of every row of an (n, d) array."""
    if metric.plain:
        return euclidean.nearest(points, count)
    rows = metric.represent(points)
    return _select(metric, rows, rows, count, np.arange(len(rows)))


def nearest_of_some(metric: RowMetric, points: Array, rows: Indices, count: int) -> Lists:
    """Return the `count` nearest other points of the (m,) `rows` of an (n, d) array."""
    if metric.plain:
        return euclidean.nearest_of_some(points, rows, count)
    represented = metric.represent(points)
    return _select(metric, represented[rows], represented, count, rows)


def nearest_of_new(metric: RowMetric, new: Array, points: Array, count: int) -> Lists:
    """Return the `count` nearest of (n, d) points for every new point (m x d)."""
    if metric.plain:
        return euclidean.nearest_of_new(new, points, count)
    return _select(metric, metric.represent(new), metric.represent(points), min(count, len(points)), None)


def neighbors_step(metric: RowMetric, shape: tuple[int, ...], count: int, threads: int) -> Step:
    """Return the cost of a search for the `count` nearest of all points, here and on a cluster."""
    here, alone, there = (_step(metric, shape, count, cores, native.available() and paired)
                          for cores, paired in ((threads, True), (1, True), (1, False)))
    return replace(here, passes=search_passes(shape, count, alone.memory, alone=alone.seconds, there=there.seconds))


def _step(metric: RowMetric, shape: tuple[int, ...], count: int, threads: int, whole: bool) -> Step:
    """Return the step without a cluster; `whole`: products of all pairs serve both of their points."""
    rows, columns = shape
    candidates = metric.plain or (metric.embeds and count + SPARE < rows - 1)
    if not candidates:
        return Step("neighbors", f"{metric.name} distances of all pairs", pairs_cost(metric, rows, columns, threads),
                    8.0 * (rows * (columns + 4 * count) + numbers_in_blocks(rows, threads)))
    tree = columns <= TREE_COLUMNS
    seconds = neighbors_cost(points=rows, columns=columns, count=count, tree=tree, threads=threads, native=whole)
    how = "k-d tree" if tree else "products of all pairs, refined"
    if metric.plain:
        if not tree:
            seconds += pass_cost(rows * columns * (count + SPARE))
        return Step("neighbors", how, seconds, rows * (4.0 * columns * (not tree) + 8.0 * 6 * (count + SPARE))
                    + 8.0 * (0 if tree or whole else numbers_in_blocks(rows, 1)))
    return Step("neighbors", f"{how}, then by {metric.name}", seconds + pass_cost(rows * columns * (count + SPARE)),
                8.0 * (rows * (2 * columns + 8 * count) + numbers_in_blocks(rows, threads)))


@frozen
class Search(RowSearch):
    """The nearest neighbors of represented rows: by all distances or, where Euclidean ones rank alike, by candidates.
    """

    metric: RowMetric
    points: Array
    count: int
    own: Indices | None  # the point that each row is

    @property
    def seconds(self) -> float:
        """Predicted seconds of the search on one core."""
        whole = _step(self.metric, self.points.shape, self.count, 1, native.available()).seconds
        return whole * len(self.new) / len(self.points)

    def work(self, number: int) -> tuple[Indices, Array]:
        """Return the neighbors of a block of rows (m x count), and their distances."""
        return self.among(self.parts[number], self._finder)

    def among(self, rows: slice, finding: tuple[Finder, int] | None) -> tuple[Indices, Array]:
        """Return the neighbors of successive rows (m x count), and their distances, on all threads."""
        size = rows.stop - rows.start
        indices, lengths = np.empty((size, self.count), dtype=np.int64), np.empty((size, self.count))
        left = np.arange(size)
        if finding is not None:
            left = self._by_candidates(rows.start, finding, indices, lengths)

        def search(block: slice) -> None:
            some = left[block]
            distances = in_tiles(self.metric, self.new[rows][some], self.points)
            own = None if self.own is None else self.own[rows][some]
            indices[some], lengths[some] = smallest(distances, self.count, own)

        points = len(self.points)
        each(search, row_blocks(len(left), min(SEARCH_BLOCK, -(-len(left) // LEAST) * points), points), progress=True)
        return indices, lengths

    def _by_candidates(self, start: int, finding: tuple[Finder, int], indices: Indices, lengths: Array) -> Indices:
        """Fill in the rows with nearest points certain from Euclidean candidates, and return the others.

        Squared Euclidean distances, and lengths computed from them, are right to a few roundings per column: a point
        that is no candidate cannot be nearer than the bound of all others less these.
        """
        candidates_of, width = finding
        slack = 1 - 8 * (self.points.shape[1] + 8) * EPS
        unsure = np.zeros(len(indices), dtype=bool)

        def work(block: slice) -> None:
            rows = slice(start + block.start, start + block.stop)
            candidates, beyond = candidates_of(rows)
            candidates = np.sort(candidates, axis=1)  # so that equal lengths go by index
            squared = squared_at(self.new[rows], self.points, candidates)
            if self.own is not None:
                squared[candidates == self.own[rows, None]] = np.inf
            found = self.metric.lengths(squared)
            order = np.argsort(found, axis=1, kind="stable")[:, : self.count]
            indices[block] = np.take_along_axis(candidates, order, axis=1)
            lengths[block] = np.take_along_axis(found, order, axis=1)
            unsure[block] = ~(lengths[block][:, -1] < self.metric.lengths(np.maximum(beyond, 0.0)) * slack)

        each(work, blocks(len(indices), width), progress=True)
        return np.flatnonzero(unsure)

    def finder(self, *, pairs: bool) -> tuple[Finder, int] | None:
        """Return the finder of candidates, with `pairs` perhaps for all rows at once; None if all distances are needed.
        """
        if self.metric.embeds and self.count + SPARE < len(self.points) - 1:
            return finder(self.new, self.points, self.count + SPARE + 1, self.own, pairs=pairs)
        return None

    @cached_property
    def _finder(self) -> tuple[Finder, int] | None:
        return self.finder(pairs=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Search, (self.new, self.metric, self.points, self.count, self.own)


def _select(metric: RowMetric, new: Array, points: Array, count: int, own: Indices | None) -> Lists:
    """Return the neighbors of represented rows, computed here or, if it is worth that, on a cluster."""
    search = Search(new, metric, points, count, own)
    if sent(search.seconds):
        indices, lengths = concatenate(list(results(search)))
    else:
        indices, lengths = search.among(slice(0, len(new)), search.finder(pairs=True))
    return Lists(np.arange(len(new) + 1) * count, indices.ravel(), lengths.ravel())


Near = tuple[Indices, Indices, Array]  # rows, points, and lengths, or squared lengths of a plain metric


@frozen
class Surroundings(RowSearch):
    """The points within a radius of represented rows."""

    metric: RowMetric
    points: Array  # represented
    radius: float
    without_self: bool

    @property
    def seconds(self) -> float:
        """Predicted seconds of the search on one core."""
        size, columns = self.points.shape
        return pairs_cost(self.metric, size, columns, threads=1) * len(self.new) / size

    def work(self, number: int) -> Near:
        """Return the points near a block of rows."""
        return self.near(self.parts[number])

    def near(self, rows: slice) -> Near:
        """Return the points near some rows, on all threads, as many rows at once as fit in memory."""
        blocks = row_blocks(rows.stop - rows.start, HELD, max(self.points.shape))
        of_some = self._by_products if self.metric.plain else self._by_metric
        found = [of_some(slice(rows.start + some.start, rows.start + some.stop)) for some in one_by_one(blocks)]
        return _joined(found)

    def _by_products(self, some: slice) -> Near:
        squared = squared_distances(self.new[some], self.points)
        if self.without_self:
            squared[np.arange(len(squared)), np.arange(some.start, some.stop)] = np.inf
        rows, columns = np.nonzero(squared <= self.radius**2 * (1 + 1e-9))
        exact = pair_distances(self.new[some], self.points, rows, columns)
        keep = exact <= self.radius**2
        return rows[keep] + some.start, columns[keep], exact[keep]

    def _by_metric(self, some: slice) -> Near:
        new, size = self.new[some], len(self.points)
        distances = np.empty((len(new), size))

        def fill(rows: slice) -> None:
            distances[rows] = in_tiles(self.metric, new[rows], self.points)

        each(fill, row_blocks(len(new), BLOCK, size))
        near = distances <= self.radius
        if self.without_self:
            near[np.arange(len(near)), np.arange(some.start, some.stop)] = False
        rows, columns = np.nonzero(near)
        return rows + some.start, columns, distances[rows, columns]


def within(metric: RowMetric, new: Array, points: Array, radius: float, without_self: bool) -> Lists:
    """Return all of (n, d) points at most `radius` from each of (m, d) new ones; `without_self` omits the point itself.
    """
    search = Surroundings(metric.represent(new), metric, metric.represent(points), radius, without_self)
    found = _joined(list(results(search))) if sent(search.seconds) else search.near(slice(0, len(new)))
    lists = sort_lists(len(new), *found)
    return Lists(lists.starts, lists.indices, np.sqrt(lists.lengths)) if metric.plain else lists


def _joined(parts: list[Near]) -> Near:
    rows, columns, far = (np.concatenate(some) for some in zip(*parts, strict=True))
    return rows, columns, far
