"""The nearest neighbors of points approximately, with the same bits on every processor and any threads; their recall.

Each block of near points is compared with those nearest to it alone. Then points look among the neighbors of their
neighbors, round after round, as in nearest neighbor descent (Dong, Moses and Li, "Efficient k-nearest neighbor graph
construction for generic similarity measures", 2011), until the lists of some rows hold most of the exact ones. Rounds
go from one state of all lists to the next, and distances are sums in a fixed order, so that nothing depends on threads.
"""

from dataclasses import replace
from functools import partial
from math import sqrt

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.scaling import Unit
from mlcli.core.euclidean_distances import rounding_of_products
from mlcli.core.graph.candidates import QUICK_BLOCK, SPARE, TREE_COLUMNS, refine
from mlcli.core.graph.point_blocks import BLOCK, PointBlocks
from mlcli.core.graph.search import Lists, nearest, nearest_of_some, some_rows, step_of_search
from mlcli.core.metrics import EUCLIDEAN, RowMetric
from mlcli.core.metrics.base import squared_at

LEAST_POINTS = 2**18  # below, all pairs take no longer
NEAR_BLOCKS = 64  # that each is compared with: 25,000 points
CLOSE = 12  # neighbors of a point that tell it of theirs
ROUNDS = 6
ENOUGH = 0.99  # share of the neighbors of some rows that ends the rounds
USUAL_ROUNDS = 2  # to predict with
CANDIDATE, PLACE = 5e-8, 1e-9  # seconds of a candidate, and of each of its coordinates, from memory
TRIED, CHECKED = 250, 1000  # rows whose exact neighbors end the rounds, and measure the recall
NORMAL = 1.959963984540054  # the 97.5 % point of the normal distribution


def searches_all(shape: tuple[int, ...], count: int) -> bool:
    """Whether an approximate search of points (n x d) is one of all pairs, which then takes no longer."""
    return shape[0] < max(LEAST_POINTS, 64 * count) or shape[1] <= TREE_COLUMNS or not native.available()


def note_searched_all() -> None:
    """Note that a search is exact although an approximate one was asked for."""
    note("N-SEARCHED-ALL", "neighbors: an approximate search was asked for, but this one is exact, which takes no "
         "longer")


def approximate_lists(points: Array, count: int, metric: RowMetric = EUCLIDEAN) -> Lists:
    """Return about the `count` nearest other points of every row of an (n, d) array, and note the recall of a sample.

    The metric embeds as Euclidean. All pairs are searched where that takes no longer.
    """
    rows = metric.represent(points)
    if searches_all(rows.shape, count):
        note_searched_all()
        return nearest(points, count, metric)
    indices, squared = approximate_nearest(rows, count)
    lengths = np.sqrt(squared)
    if not metric.plain:
        indices, lengths = by_metric(metric, rows, indices)
    checked = some_rows(len(rows), CHECKED)
    exact = nearest_of_some(points, checked, count, metric).lengths.reshape(-1, count)[:, -1:]
    Recall.of_rows((lengths[checked] <= exact).mean(axis=1)).note()
    return Lists(np.arange(len(rows) + 1) * count, indices.ravel(), lengths.ravel())


def approximate_step(metric: RowMetric, shape: tuple[int, ...], count: int, threads: int) -> Step:
    """Return the cost of an approximate search for about the `count` nearest of all points (n x d)."""
    exact, (rows, columns) = step_of_search(metric, shape, count, threads, native.available()), shape
    if searches_all(shape, count):
        return exact
    seconds = exact.seconds * min(1.0, 2 * NEAR_BLOCKS * BLOCK / rows)  # the share of all pairs in blocks
    seconds += USUAL_ROUNDS * rows * (count + SPARE + CLOSE**2) * (CANDIDATE + columns * PLACE) / threads
    seconds += min(CHECKED, rows) * rows * columns * 2 * rates().paired / threads
    return Step("neighbors", "approximate: blocks of near points, then neighbors of neighbors; recall by a sample",
                seconds, exact.memory + 8.0 * rows * (3 * (count + SPARE) + (0 if metric.plain else columns)))


def approximate_nearest(points: Array, count: int) -> tuple[Indices, Array]:
    """Return about the `count` nearest others of points (n x d), and their squared distances, by (distance, index)."""
    width = count + SPARE
    start = _refined(points, _among_blocks(points, width), width)
    tried = some_rows(len(points), TRIED)
    last = nearest_of_some(points, tried, count).lengths.reshape(-1, count)[:, -1:]
    with loop(RoundsCheckpoint) as place:
        now = place.left or RoundsCheckpoint(*start, np.ones(len(points), dtype=bool), 0)
        while now.rounds < ROUNDS and (np.sqrt(now.squared[tried, :count]) <= last).mean() < ENOUGH:
            found, squared = _descend(points, now.found, now.squared, now.active)
            changed = (found != now.found).any(axis=1)
            now = RoundsCheckpoint(found, squared, changed | changed[found[:, :CLOSE]].any(axis=1), now.rounds + 1)
            place.offer(partial(replace, now))
    return now.found[:, :count].copy(), now.squared[:, :count].copy()


@result("neighbor-rounds")
@frozen
class RoundsCheckpoint:
    """Lists of neighbors (n x w) and their squared distances after some rounds, and who looks on in the next (n)."""

    found: Indices
    squared: Array
    active: AnyArray
    rounds: int


def _among_blocks(points: Array, width: int) -> Indices:
    """Return candidates (n x w) from the blocks near each; -1 where they have fewer."""
    low, high = points.min(axis=0), points.max(axis=0)
    center = low / 2 + high / 2
    unit = Unit.of(high - center, low - center)
    single: AnyArray = np.empty(points.shape, dtype=np.float32)

    def move(rows: slice) -> None:
        single[rows] = unit.measured(points[rows] - center)

    each(move, row_blocks(len(points), QUICK_BLOCK, points.shape[1]))
    search = PointBlocks(single, width, rounding_of_products(points.shape[1], np.float32), portable=True)
    search.search(NEAR_BLOCKS)
    found = np.empty_like(search.indices)
    found[search.order] = search.indices
    return found


def _refined(points: Array, candidates: Indices, width: int) -> tuple[Indices, Array]:
    """Return the nearest of each row's candidates (n x c) by exact distances, on all threads."""
    def work(rows: slice) -> tuple[Indices, Array]:
        return refine(points[rows], points, candidates[rows], width, np.arange(rows.start, rows.stop))

    parts = list(in_order(work, row_blocks(len(points), QUICK_BLOCK, candidates.shape[1])))
    indices, squared = zip(*parts, strict=True)
    return np.concatenate(indices), np.concatenate(squared)


def _descend(points: Array, found: Indices, squared: Array, active: AnyArray) -> tuple[Indices, Array]:
    """Return the lists after the active rows (n) have looked among the neighbors of their neighbors."""
    indices, closer, width = found.copy(), squared.copy(), found.shape[1]
    rows = np.flatnonzero(active)

    def work(some: slice) -> None:
        own = rows[some]
        near = found[own, :CLOSE]
        candidates = np.concatenate([found[own], found[near, :CLOSE].reshape(len(own), -1)], axis=1)
        candidates.sort(axis=1)
        candidates[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = -1
        indices[own], closer[own] = refine(points[own], points, candidates, width, own)

    each(work, row_blocks(len(rows), QUICK_BLOCK, width + CLOSE**2), progress=True)
    return indices, closer


def by_metric(metric: RowMetric, points: Array, found: Indices) -> tuple[Indices, Array]:
    """Return lists (n x k) of represented points in the order of (distance, index) of a metric, and the distances."""
    indices, lengths = np.empty_like(found), np.empty(found.shape)

    def work(rows: slice) -> None:
        candidates = np.sort(found[rows], axis=1)  # so that equal lengths go by index
        far = metric.lengths(squared_at(points[rows], points, candidates))
        order = np.argsort(far, axis=1, kind="stable")
        indices[rows] = np.take_along_axis(candidates, order, axis=1)
        lengths[rows] = np.take_along_axis(far, order, axis=1)

    each(work, row_blocks(len(points), QUICK_BLOCK, found.shape[1]))
    return indices, lengths


@frozen
class Recall:
    """The share of the nearest neighbors of some rows that a search has found, with a 95 % interval."""

    share: float
    low: float
    high: float
    rows: int

    @classmethod
    def of_rows(cls, shares: Array) -> "Recall":
        """Return the recall from that of each row (m): Wilson's interval for as many independent draws as give the
        variance of the mean, since those of a row are not; one a row where all are found.
        """
        size, share = len(shares), float(shares.mean())
        variance = float(shares.var(ddof=1)) / size if size > 1 else 0.0
        draws = share * (1 - share) / variance if variance > 0 else float(size)
        middle = (share + NORMAL**2 / (2 * draws)) / (1 + NORMAL**2 / draws)
        half = NORMAL * sqrt(share * (1 - share) / draws + (NORMAL / (2 * draws)) ** 2) / (1 + NORMAL**2 / draws)
        return cls(share, max(0.0, middle - half), min(1.0, middle + half), size)

    def note(self) -> None:
        """Note the recall as a result."""
        note("N-RECALL", f"neighbors are approximate, as asked for: {self.share:.2%} of those of {self.rows:,} random "
             f"rows were found (95 % interval: {self.low:.2%} to {self.high:.2%})", recall=self.share, low=self.low,
             high=self.high, rows=self.rows)
