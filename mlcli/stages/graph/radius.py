"""All points within a radius, under any metric, exactly: ties broken by (distance, index)."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, one_by_one, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.engine.executor import results, sent
from mlcli.stages.algebra.distances import BLOCK, HELD, pair_distances, squared_distances
from mlcli.stages.algebra.metrics.base import Comparison
from mlcli.stages.algebra.metrics.blocks import in_tiles
from mlcli.stages.algebra.metrics.costs import pairs_cost
from mlcli.stages.graph.nearest import Lists, sort_lists
from mlcli.stages.graph.searching import RowSearch

Near = tuple[Indices, Indices, Array]  # rows, points, and lengths, or squared lengths of a plain metric


@frozen
class Surroundings(RowSearch):
    """The points within a radius of represented rows."""

    metric: Comparison
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


def within(metric: Comparison, new: Array, points: Array, radius: float, without_self: bool) -> Lists:
    """Return all of (n, d) points at most `radius` from each of (m, d) new ones; `without_self` omits the point itself.
    """
    search = Surroundings(metric.represent(new), metric, metric.represent(points), radius, without_self)
    found = _joined(list(results(search))) if sent(search.seconds) else search.near(slice(0, len(new)))
    lists = sort_lists(len(new), *found)
    return Lists(lists.starts, lists.indices, np.sqrt(lists.lengths)) if metric.plain else lists


def _joined(parts: list[Near]) -> Near:
    rows, columns, far = (np.concatenate(some) for some in zip(*parts, strict=True))
    return rows, columns, far
