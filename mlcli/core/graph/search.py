"""The nearest neighbors of points under any metric, and all points within a radius, exactly; and what that costs.

Ties are broken by (distance, index), and a point itself is excluded by its index.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.rows.blocks import complete, each, in_order, row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.scratch import take_rows
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stages.stage import advance
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.core.euclidean_distances import BLOCK, HELD, pair_distances, squared_distances
from mlcli.core.graph.candidates import (
    FINER,
    LEAST,
    MANY,
    SEARCH_BLOCK,
    SPARE,
    TREE_COLUMNS,
    Bytes,
    Finder,
    blocks,
    finder,
    finer_candidates,
    numbers_in_blocks,
    refine,
    shifted_finder,
    taken_products,
)
from mlcli.core.metrics import EUCLIDEAN, RowMetric
from mlcli.core.metrics.base import squared_at
from mlcli.core.metrics.distances import in_tiles, pairs_cost
from mlcli.engine.executor import WORTH, results, sent

if TYPE_CHECKING:
    from scipy import sparse

PAIR = 16.0  # bytes of a neighbor: its number and its distance
HELD_PAIRS = 21.0  # bytes of a neighbor while it is refined: the number of a candidate besides
PARTS = 256  # blocks that a search is divided into, at most
PROBED = 5.0  # predicted seconds of a search from which on samples tell what bounds will skip
PROBES = 5_000, 20_000  # points of these samples
LOOKED = 0.1  # of the time of all products, what a search takes that skips most of them


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

    def matrix(self, columns: int) -> "sparse.csr_array":
        """Return a matrix of SciPy (m x columns) with a one for each entry."""
        from scipy import sparse

        return sparse.csr_array((np.ones(len(self.indices)), self.indices, self.starts),
                                shape=(len(self.starts) - 1, columns))


def some_lists(lists: Lists, rows: Indices) -> Lists:
    """Return the lists of some points (m)."""
    counts = lists.counts[rows]
    starts = np.concatenate([[0], np.cumsum(counts)])
    entries = np.repeat(lists.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
    return Lists(starts, lists.indices[entries], lists.lengths[entries])


def nearest(points: Array, count: int, metric: RowMetric = EUCLIDEAN) -> Lists:
    """Return the `count` nearest other points of every row of an (n, d) array."""
    rows = metric.represent(points)
    return _select(rows, rows, count, np.arange(len(rows)), metric)


def nearest_of_some(points: Array, rows: Indices, count: int, metric: RowMetric = EUCLIDEAN) -> Lists:
    """Return the `count` nearest other points of the (m,) `rows` of an (n, d) array."""
    represented = metric.represent(points)
    return _select(represented[rows], represented, count, rows, metric)


def nearest_of_new(new: Array, points: Array, count: int, metric: RowMetric = EUCLIDEAN,
                   without: Indices | None = None) -> Lists:
    """Return the `count` nearest of (n, d) points for every new point (m x d), `without` one of these for each (m)."""
    most = len(points) - (without is not None)
    return _select(metric.represent(new), metric.represent(points), min(count, most), without, metric)


SHIFTED = 128  # points of a block, whose products with a tile of all points stay in the second cache


def shifted(points: Array, rows: slice, shifts: Array) -> tuple[Array, Indices]:
    """Return some of (n, d) points moved by all shifts (s x d), one after the other, and the point of each."""
    own = np.repeat(np.arange(rows.start, rows.stop), len(shifts))
    return (points[rows, None] + shifts).reshape(len(own), points.shape[1]), own


def nearest_of_shifted(points: Array, rows: slice, shifts: Array, count: int,
                       metric: RowMetric = EUCLIDEAN) -> tuple[Lists, Indices]:
    """Return the `count` nearest others of some of (n, d) points moved by shifts (s x d), and the point of each list.

    The lists of a point's shifts follow each other.
    """
    new, own = shifted(points, rows, shifts)
    width = count + SPARE + 1
    if not (metric.plain and native.available()) or points.shape[1] <= TREE_COLUMNS or width >= len(points):
        return nearest_of_new(new, points, count, metric, own), own
    search = EuclideanSearch(new, points, count, own)
    candidates_of = shifted_finder(points, shifts, rows, width)
    found = concatenate(list(in_order(lambda block: search.near(block, candidates_of),
                                      row_blocks(len(new), SHIFTED * len(shifts)))))
    return Lists(np.arange(len(new) + 1) * count, found[0].ravel(), np.sqrt(found[1]).ravel()), own


def _select(new: Array, points: Array, count: int, own: Indices | None, metric: RowMetric) -> Lists:
    """Return the neighbors of represented rows, computed here or, if it is worth that, on a cluster."""
    search = (EuclideanSearch(new, points, count, own) if metric.plain
              else MetricSearch(new, metric, points, count, own))
    indices, lengths = fill_on_workers(search, count) if sent(search.seconds) else search.here()
    return Lists(np.arange(len(new) + 1) * count, indices.ravel(),
                 (np.sqrt(lengths, out=lengths) if metric.plain else lengths).ravel())


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
class RowSearch:
    """Base of searches for neighbors of rows; each process prepares its own, and blocks are slices of rows."""

    new: Array

    @property
    def seconds(self) -> float:
        """Predicted seconds of the search on one core."""
        raise NotImplementedError

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.parts)

    @property
    def parts(self) -> list[slice]:
        """The rows of each block."""
        return parts_of(len(self.new))

    def stop(self) -> None:
        """Do nothing: a block takes little time."""


@frozen
class EuclideanSearch(RowSearch):
    """The nearest neighbors of rows; each process builds its own finder."""

    points: Array
    count: int
    own: Indices | None  # the point that each row is

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

    def here(self) -> tuple[Indices, Array]:
        """Return the neighbors of all rows (m x count), and their squared distances, on all threads."""
        candidates_of, width = finder(self.new, self.points, self.count + SPARE + 1, self.own)
        return fill(lambda block: self.near(block, candidates_of), len(self.new), self.count,
                    blocks(len(self.new), width))

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
            finer = finer_candidates(self.new[rows], self.points, width, self._own_of(rows))
            indices[places], squared[places], sure[places] = self._refined(rows, *finer)
        everyone = np.arange(len(self.points))[None, :]
        for place in np.flatnonzero(~sure):
            row = slice(block.start + place, block.start + place + 1)
            found = self._refined(row, everyone, np.full(1, np.inf))
            indices[place], squared[place] = found[0][0], found[1][0]
        return indices, squared

    def _refined(self, rows: slice | Indices, candidates: Indices, beyond: Array) -> tuple[Indices, Array, Any]:
        """Return the nearest of the rows' candidates (m x c), and whether no other point can be nearer (m)."""
        indices, squared = refine(self.new[rows], self.points, candidates, self.count, self._own_of(rows))
        return indices, squared, squared[:, -1] < beyond  # false also where that is not a number

    def _own_of(self, rows: slice | Indices) -> Indices | None:
        return None if self.own is None else self.own[rows]

    @cached_property
    def _finder(self) -> tuple[Finder, int]:
        return finder(self.new, self.points, self.count + SPARE + 1, self.own, pairs=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return EuclideanSearch, (self.new, self.points, self.count, self.own)


@frozen
class MetricSearch(RowSearch):
    """The nearest neighbors of represented rows: by all distances or, where Euclidean ones rank alike, by candidates.
    """

    metric: RowMetric
    points: Array
    count: int
    own: Indices | None  # the point that each row is

    @property
    def seconds(self) -> float:
        """Predicted seconds of the search on one core."""
        whole = step_of_search(self.metric, self.points.shape, self.count, 1, native.available()).seconds
        return whole * len(self.new) / len(self.points)

    def work(self, number: int) -> tuple[Indices, Array]:
        """Return the neighbors of a block of rows (m x count), and their distances."""
        return self.among(self.parts[number], self._finder)

    def here(self) -> tuple[Indices, Array]:
        """Return the neighbors of all rows (m x count), and their distances, on all threads."""
        return self.among(slice(0, len(self.new)), self.candidates(pairs=True))

    def among(self, rows: slice, finding: tuple[Finder, int] | None) -> tuple[Indices, Array]:
        """Return the neighbors of successive rows (m x count), and their distances, on all threads."""
        size, points = rows.stop - rows.start, len(self.points)
        parts = partial(row_blocks, width=points)
        if finding is None:
            return fill(lambda block: self._of_all(slice(rows.start + block.start, rows.start + block.stop)), size,
                        self.count, parts(size, min(SEARCH_BLOCK, -(-size // LEAST) * points)))
        indices, lengths = np.empty((size, self.count), dtype=np.int64), np.empty((size, self.count))
        left = self._by_candidates(rows.start, finding, indices, lengths)

        def search(block: slice) -> None:
            indices[left[block]], lengths[left[block]] = self._of_all(rows.start + left[block])

        each(search, parts(len(left), min(SEARCH_BLOCK, -(-len(left) // LEAST) * points)), progress=True)
        return indices, lengths

    def _of_all(self, rows: slice | Indices) -> tuple[Indices, Array]:
        """Return the neighbors of some rows (m x count), and their distances, by those to all points."""
        distances = in_tiles(self.metric, self.new[rows], self.points)
        return smallest(distances, self.count, None if self.own is None else self.own[rows])

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

    def candidates(self, *, pairs: bool) -> tuple[Finder, int] | None:
        """Return the finder of candidates, with `pairs` perhaps for all rows at once; None if all distances are needed.
        """
        if self.metric.embeds and self.count + SPARE < len(self.points) - 1:
            return finder(self.new, self.points, self.count + SPARE + 1, self.own, pairs=pairs)
        return None

    @cached_property
    def _finder(self) -> tuple[Finder, int] | None:
        return self.candidates(pairs=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return MetricSearch, (self.new, self.metric, self.points, self.count, self.own)


@result("searched-rows")
@frozen
class RowsCheckpoint:
    """The neighbors of some rows."""

    indices: Indices  # m x count
    lengths: Array  # m x count, or their squares
    done: AnyArray  # m: whether the neighbors of each row are found


class RowsInParts:
    """The neighbors of rows (m x count) and their lengths while they are found part by part.

    A checkpoint says of each row whether it is done, as workers of a cluster have other parts than threads.
    """

    def __init__(self, rows: int, count: int, parts: list[slice], left: RowsCheckpoint | None) -> None:
        self.parts = parts
        if left is None:
            self.indices, self.lengths = np.empty((rows, count), dtype=np.int64), np.empty((rows, count))
            self.done = np.zeros(len(parts), dtype=bool)
        else:
            self.indices, self.lengths = left.indices, left.lengths
            self.done = np.array([left.done[part].all() for part in parts])

    def take(self, number: int, found: tuple[Indices, Array]) -> None:
        """Take the neighbors of a part."""
        self.indices[self.parts[number]], self.lengths[self.parts[number]] = found

    def checkpoint(self) -> RowsCheckpoint:
        """Return what is found until now."""
        sizes = [part.stop - part.start for part in self.parts]
        return RowsCheckpoint(self.indices, self.lengths, np.repeat(self.done, sizes))


def fill(find: Callable[[slice], tuple[Indices, Array]], rows: int, count: int,
         parts: list[slice]) -> tuple[Indices, Array]:
    """Return the neighbors of rows (m x count) and their lengths, as found for each block of rows, on all threads.

    A checkpoint is offered between blocks.
    """
    with loop(RowsCheckpoint) as place:
        found = RowsInParts(rows, count, parts, place.left)
        complete(lambda number: found.take(number, find(parts[number])), found.done, place, found.checkpoint,
                 progress=True)
    return found.indices, found.lengths


def fill_on_workers(search: EuclideanSearch | MetricSearch, count: int) -> tuple[Indices, Array]:
    """Return the neighbors of rows (m x count) and their lengths, of blocks that workers of a cluster compute.

    A checkpoint is offered after each block, in their order.
    """
    with loop(RowsCheckpoint) as place:
        found = RowsInParts(len(search.new), count, search.parts, place.left)
        first = int(np.argmin(np.append(found.done, False)))  # the first part that is not done
        with closing(results(search, first)) as blocks:
            for number, near in enumerate(blocks, first):
                found.take(number, near)
                found.done[number] = True
                place.offer(found.checkpoint)
    return found.indices, found.lengths


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
        of_some = self._by_products if self.metric.plain else self._by_metric
        return _joined([of_some(slice(rows.start + some.start, rows.start + some.stop))
                        for some in self.held(rows.stop - rows.start)])

    def held(self, rows: int) -> list[slice]:
        """Return blocks of so many rows whose distances to all points fit in memory."""
        return row_blocks(rows, HELD, max(self.points.shape))

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


@result("rows-within")
@frozen
class NearCheckpoint:
    """The points near the first rows: rows, points and lengths, or squared lengths, of pairs (k)."""

    rows: Indices
    columns: Indices
    far: Array
    until: int  # the first row that is not done

    @classmethod
    def of(cls, found: list[Near], until: int) -> "NearCheckpoint":
        """Return what is near the rows of successive blocks until one."""
        return cls(*_joined(found), until)


def within(new: Array, points: Array, radius: float, metric: RowMetric = EUCLIDEAN, *, without_self: bool) -> Lists:
    """Return all of (n, d) points at most `radius` from each of (m, d) new ones; `without_self` omits the point itself.

    A checkpoint is offered after each block of rows.
    """
    search = Surroundings(metric.represent(new), metric, metric.represent(points), radius, without_self)
    there = sent(search.seconds)
    parts, found, done = search.parts if there else search.held(len(new)), list[Near](), 0
    with loop(NearCheckpoint) as place:
        if (left := place.left) is not None:
            done = sum(part.stop <= left.until for part in parts)
            kept = left.rows < (parts[done].start if done < len(parts) else len(new))
            found = [(left.rows[kept], left.columns[kept], left.far[kept])]
        with closing(results(search, done) if there else (search.near(part) for part in parts[done:])) as blocks:
            for number, near in enumerate(blocks, done + 1):
                found.append(near)
                if not there:
                    advance(number, len(parts))
                place.offer(partial(NearCheckpoint.of, found, parts[number - 1].stop))
    lists = sort_lists(len(new), *_joined(found))
    return Lists(lists.starts, lists.indices, np.sqrt(lists.lengths)) if metric.plain else lists


def _joined(parts: list[Near]) -> Near:
    rows, columns, far = (np.concatenate(some) for some in zip(*parts, strict=True))
    return rows, columns, far


def concatenate(parts: list[tuple[Indices, Array]]) -> tuple[Indices, Array]:
    """Concatenate the neighbors of successive blocks of rows, and their distances."""
    indices, squared = zip(*parts, strict=True)
    return np.concatenate(indices), np.concatenate(squared)


def neighbors_step(metric: RowMetric, points: Array, count: int, threads: int) -> Step:
    """Return the cost of a search for the `count` nearest of all of (n, d) points, here and on a cluster."""
    here, alone, there = (step_of_search(metric, points.shape, count, cores, native.available() and paired)
                          for cores, paired in ((threads, True), (1, True), (1, False)))
    if here.seconds > PROBED and skips_products(metric, points, count):
        taken = memoize("share of products", (points, metric, count), lambda: share_of_products(metric, points, count))
        here = replace(here, seconds=here.seconds * (LOOKED + (1 - LOOKED) * taken))
    return replace(here, passes=search_passes(points.shape, count, alone.memory, alone=alone.seconds,
                                              there=there.seconds))


def skips_products(metric: RowMetric, points: Array, count: int) -> bool:
    """Whether the search for the `count` nearest of all points, of which there are many, may skip products."""
    return (native.available() and points.shape[1] > TREE_COLUMNS and count + SPARE < PROBES[0]
            and len(points) >= MANY and (metric.plain or metric.embeds))


def share_of_products(metric: RowMetric, points: Array, count: int) -> float:
    """Return the share of the products of all pairs that bounds are predicted not to skip.

    It falls with the number of points, by a power that two samples show.
    """
    shares = list[float]()
    for size in PROBES:
        rows = metric.represent(take_rows(points, some_rows(len(points), size)))
        if not shares and Bytes.of(rows) is not None:
            return 1.0
        shares.append(taken_products(rows, count + SPARE + 1))
    power = np.log(shares[0] / shares[1]) / np.log(PROBES[1] / PROBES[0])
    return float(shares[1] * (len(points) / PROBES[1]) ** -max(power, 0.0))


def some_rows(size: int, count: int) -> Indices:
    """Return so many rows in order, drawn by their number alone: the same in a run and its certificate."""
    return np.sort(np.random.default_rng([size, count]).choice(size, min(count, size), replace=False))


def step_of_search(metric: RowMetric, shape: tuple[int, ...], count: int, threads: int, whole: bool) -> Step:
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
        return Step("neighbors", how, seconds, rows * (4.0 * columns * (not tree) + HELD_PAIRS * (count + SPARE))
                    + 8.0 * (0 if tree or whole else numbers_in_blocks(rows, 1)))
    return Step("neighbors", f"{how}, then by {metric.name}", seconds + pass_cost(rows * columns * (count + SPARE)),
                8.0 * (rows * (2 * columns + 8 * count) + numbers_in_blocks(rows, threads)))


def neighbors_cost(points: int, columns: int, count: int, tree: bool, threads: int, native: bool) -> float:
    """Seconds of an exact search for neighbors, through a k-d tree or products in single precision.

    The native kernels take each pair of points once, SciPy's way twice. Neighbors that are kept are refined. What
    bounds may skip is not counted.
    """
    if tree:
        return points * (5 + count) * max(columns / 3, 1.0) * np.log2(points + 2) * rates().branch / threads
    pairs = (1.0 if native else 2.0) * points**2 * columns * rates().paired
    looked = 3e-10 if native and points >= MANY else 1.5e-9  # at a product, for both of its points
    return (pairs + points**2 * looked + points * count * rates().neighbor) / threads


def parts_of(rows: int) -> list[slice]:
    """Return the rows of each block of a search."""
    return row_blocks(rows, -(-rows // PARTS))


def search_passes(shape: tuple[int, ...], count: int, memory: float, *, alone: float, there: float) -> Passes | None:
    """Return the cost of the search among all points on a cluster; None where one core is fast enough (in seconds).

    `there` is the cost on one core of a worker, whose blocks process each pair of points twice.
    """
    rows, columns = shape
    if alone <= WORTH:
        return None
    return Passes(1, there, len(parts_of(rows)), sent=0.0, returned=PAIR * count * rows, once=8.0 * rows * columns,
                  working=memory)
