"""The nearest neighbors of points, exactly: ties broken by (distance, index), self excluded by index."""

from functools import cached_property
from typing import Any

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.engine.executor import results, sent
from mlcli.stages.algebra.costs import neighbors_cost
from mlcli.stages.algebra.distances import BLOCK
from mlcli.stages.graph.candidates import (
    FINER,
    SPARE,
    TREE_COLUMNS,
    Finder,
    blocks,
    finder,
    finer_candidates,
    refine,
)
from mlcli.stages.graph.searching import RowSearch


@result("lists")
@frozen
class Lists:
    """Each point's neighbors in order of (distance, index), as rows of varying length."""

    starts: Indices  # m + 1
    indices: Indices
    lengths: Array  # distances, not squared

    @property
    def counts(self) -> Indices:
        """Number of neighbors of each point (m)."""
        return np.diff(self.starts)

    @property
    def rows(self) -> Indices:
        """The point of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), self.counts)


def some_lists(lists: Lists, rows: Indices) -> Lists:
    """Return the lists of some points (m)."""
    counts = lists.counts[rows]
    starts = np.concatenate([[0], np.cumsum(counts)])
    entries = np.repeat(lists.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
    return Lists(starts, lists.indices[entries], lists.lengths[entries])


def nearest(points: Array, count: int) -> Lists:
    """Return the `count` nearest other points of every row of an (n, d) array."""
    return _select(points, points, count, excluded=np.arange(len(points)))


def nearest_of_some(points: Array, rows: Indices, count: int) -> Lists:
    """Return the `count` nearest other points of the (m,) `rows` of an (n, d) array."""
    return _select(points[rows], points, count, excluded=rows)


def nearest_of_new(new: Array, points: Array, count: int) -> Lists:
    """Return the `count` nearest of (n, d) points for every new point (m x d)."""
    return _select(new, points, min(count, len(points)), excluded=None)


def nearest_in_matrix(distances: Array, count: int, without_self: bool) -> Lists:
    """Return the `count` nearest columns of every row of (m, n) dissimilarities."""
    def nearest_of(block: slice) -> tuple[Indices, Array]:
        return smallest(distances[block], count, np.arange(block.start, block.stop) if without_self else None)

    indices, lengths = concatenate(list(in_order(nearest_of, row_blocks(len(distances), BLOCK, distances.shape[1]),
                                                 progress=True)))
    return Lists(np.arange(len(distances) + 1) * indices.shape[1], indices.ravel(), lengths.ravel())


def smallest(distances: Array, count: int, own: Indices | None) -> tuple[Indices, Array]:
    """Return the `count` smallest of each row (m x n) by (distance, index), without the column `own` of each row."""
    if native.available():
        return native.select_neighbors(distances, count, own)
    if own is not None:
        distances = distances.copy()
        distances[np.arange(len(distances)), own] = np.inf
    last = np.partition(distances, count - 1, axis=1)[:, count - 1 : count]
    order = np.empty((len(distances), count), dtype=np.int64)
    for row, near in enumerate(distances <= last):
        places = np.flatnonzero(near)
        order[row] = places[np.argsort(distances[row, places], kind="stable")[:count]]
    return order, np.take_along_axis(distances, order, axis=1)


def within_matrix(distances: Array, radius: float, without_self: bool) -> Lists:
    """Return all columns at most `radius` away, for every row of (m, n) dissimilarities."""
    near = distances <= radius
    if without_self:
        np.fill_diagonal(near, False)
    rows, columns = np.nonzero(near)
    return sort_lists(len(distances), rows, columns, distances[rows, columns])


def sort_lists(size: int, rows: Indices, columns: Indices, far: Array) -> Lists:
    """Return lists from (k,) entries in any order, each with a distance or its square."""
    order = np.lexsort((columns, far, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    return Lists(starts, columns[order], far[order])


@frozen
class Search(RowSearch):
    """The nearest neighbors of rows; each process builds its own finder."""

    points: Array
    count: int
    excluded: Indices | None

    @property
    def seconds(self) -> float:
        """Predicted seconds of the search on one core."""
        columns = self.points.shape[1]
        return neighbors_cost(points=len(self.new), columns=columns, count=self.count, tree=columns <= TREE_COLUMNS,
                              threads=1, native=native.available())

    def work(self, number: int) -> tuple[Indices, Array]:
        """Return the neighbors of a block of rows (m x count), and their squared distances."""
        candidates_of, width = self._finder
        part = self.parts[number]
        return concatenate([self.near(slice(part.start + block.start, part.start + block.stop), candidates_of)
                            for block in blocks(part.stop - part.start, width)])

    def near(self, block: slice, candidates_of: Finder) -> tuple[Indices, Array]:
        """Return the neighbors of a block of rows (m x count), and their squared distances.

        Where candidates may not suffice, as rounding is more than the gaps between distances, finer ones are found;
        where these may not, all points are candidates.
        """
        indices, squared, sure = self._refined(block, *candidates_of(block))
        width = min(self.count + SPARE + 1, len(self.points))
        unsure = block.start + np.flatnonzero(~sure)
        for part in row_blocks(len(unsure), FINER, len(self.points)):
            rows, places = unsure[part], unsure[part] - block.start
            finer = finer_candidates(self.new[rows], self.points, width, self._own(rows))
            indices[places], squared[places], sure[places] = self._refined(rows, *finer)
        everyone = np.arange(len(self.points))[None, :]
        for place in np.flatnonzero(~sure):
            row = slice(block.start + place, block.start + place + 1)
            found = self._refined(row, everyone, np.full(1, np.inf))
            indices[place], squared[place] = found[0][0], found[1][0]
        return indices, squared

    def _refined(self, rows: slice | Indices, candidates: Indices, beyond: Array) -> tuple[Indices, Array, Any]:
        """Return the nearest of the rows' candidates (m x c), and whether no other point can be nearer (m)."""
        indices, squared = refine(self.new[rows], self.points, candidates, self.count, self._own(rows))
        return indices, squared, squared[:, -1] < beyond  # false also where that is not a number

    def _own(self, rows: slice | Indices) -> Indices | None:
        return None if self.excluded is None else self.excluded[rows]

    @cached_property
    def _finder(self) -> tuple[Finder, int]:
        return finder(self.new, self.points, self.count + SPARE + 1, self.excluded, pairs=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Search, (self.new, self.points, self.count, self.excluded)


def _select(new: Array, points: Array, count: int, excluded: Indices | None) -> Lists:
    """Return the neighbors of rows, computed here or, if it is worth that, on a cluster."""
    search = Search(new, points, count, excluded)
    if sent(search.seconds):
        indices, squared = concatenate(list(results(search)))
    else:
        candidates_of, width = finder(new, points, count + SPARE + 1, excluded)
        indices, squared = concatenate(list(in_order(lambda block: search.near(block, candidates_of),
                                                     blocks(len(new), width), progress=True)))
    return Lists(np.arange(len(new) + 1) * count, indices.ravel(), np.sqrt(squared).ravel())


def concatenate(parts: list[tuple[Indices, Array]]) -> tuple[Indices, Array]:
    """Concatenate the neighbors of successive blocks of rows, and their distances."""
    indices, squared = zip(*parts, strict=True)
    return np.concatenate(indices), np.concatenate(squared)
