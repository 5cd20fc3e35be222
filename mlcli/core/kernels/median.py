"""The exact median of squared distances over all pairs of points, under any metric."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.euclidean_distances import pair_distances, rounding_of_products, squared_distances
from mlcli.core.metrics import RowMetric
from mlcli.core.metrics.distances import distances_cost, kernel_cost

FEW = 1000  # points up to which all distances are computed at once
TILE = 384  # points on a side of a block of work: half a MiB, what a core's cache holds
DRAWN, MOST = 2**17, 2**23  # pairs drawn at random for a first estimate of the median
NEAR = 2**23  # pairs near the median at most; more pairs are drawn so that there are no more
SURE = 5.0  # standard errors of the share of pairs drawn; a median further off costs a second pass
ROUGH = 1e-4  # error of single precision allowed, as a share of the median
TIES = TILE**2 // 16  # near pairs of a tile above which equal ones are counted rather than listed


@stage("rate")
def median_squared_distance(points: Array) -> float:
    """Return the median of ‖xᵢ - xⱼ‖² over all pairs of different rows of an (n, d) array; 0 where none differ.

    It depends neither on a seed nor on the number of threads.
    """
    if len(points) <= FEW:
        squared = squared_distances(points, points)[np.triu_indices(len(points), 1)]
        return float(np.median(squared[squared > 0])) if np.any(squared > 0) else 0.0
    pairs, equal = len(points) * (len(points) - 1) // 2, pairs_of_equals(points)
    if pairs == equal:
        return 0.0
    return _of_ranks(points, np.array([(pairs - equal - 1) // 2, (pairs - equal) // 2]) + equal)


def euclidean_median_step(rows: int, columns: int, threads: int) -> Step:
    """Return the cost of the median: a pass in single precision, and the memory of the pairs that it lists."""
    pairs = rows * (rows - 1) // 2
    if rows <= FEW:
        return Step("rate", "the median distance of all pairs", kernel_cost(rows, columns, threads) + 6 * pass_cost(
            rows**2), 8.0 * 2.7 * rows**2)
    drawn = _drawn(pairs)
    near = min(pairs, SURE * pairs / np.sqrt(drawn))
    return Step("rate", "the median distance of all pairs, in one pass", kernel_cost(rows, columns, threads) / 2,
                8.0 * (4 * drawn + 3 * near + 4 * rows * (columns + 2)))


def pairs_of_equals(points: Array) -> int:
    """Return the number of pairs of equal rows in an (n, d) array."""
    rows = np.ascontiguousarray(points + 0.0).view(f"V{8 * points.shape[1]}").ravel()  # + 0.0: zeros have one sign
    counts = np.unique(rows, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _of_ranks(points: Array, ranks: Indices) -> float:
    """Return the mean of the squared distances of two successive ranks, counted from 0."""
    low, high = _about(points, ranks[0])
    # single precision where its error is small enough: not where one point lies very far outside
    kind = np.float32 if _rounding(points, np.float32) <= ROUGH * low else np.float64
    while True:
        rounding = _rounding(points, kind)
        near = _near(points, kind, low - 4 * rounding, high + 4 * rounding)
        middle = near.of_ranks(points, ranks, rounding)
        if middle is not None:
            return middle
        wide = max(high - low, high / 8, rounding)
        low, high = low - 3 * wide, high + 3 * wide


def _about(points: Array, rank: int) -> tuple[float, float]:
    """Return squared distances between which a rank lies almost surely, from pairs drawn with a fixed seed."""
    size = len(points)
    pairs = size * (size - 1) // 2
    count = _drawn(pairs)
    first, apart = np.random.default_rng(0).integers([[0], [1]], [[size], [size]], (2, count))
    squared = pair_distances(points, points, first, (first + apart) % size)
    share = (rank + 0.5) / pairs
    error = SURE * np.sqrt(share * (1 - share) / count) + 1 / count
    low, high = np.quantile(squared, np.clip([share - error, share + error], 0, 1))
    return float(low), float(high)


def _drawn(pairs: int) -> int:
    """Return how many pairs to draw, so that few lie within the estimate's error of the median."""
    return int(np.clip((SURE * pairs / NEAR) ** 2, DRAWN, MOST))


def _rounding(points: Array, kind: type[np.floating]) -> float:
    """Return the error of squared distances through products."""
    largest = float(np.einsum("ij,ij->i", points, points).max())
    return rounding_of_products(points.shape[1], kind) * (largest + largest)


@frozen
class NearPairs:
    """The pairs whose approximate squared distances lie between two numbers."""

    low: float
    high: float
    below: int  # number of pairs below
    values: AnyArray  # m
    pairs: Indices  # m, as i n + j
    counts: AnyArray  # m: the number of pairs with the value that each represents

    def of_ranks(self, points: Array, ranks: Indices, rounding: float) -> float | None:
        """Return the mean exact squared distance of the two successive ranks in the (2,) array `ranks`.

        `points` is an (n, d) array. None where pairs that may have these ranks are missing here.
        """
        if ranks[0] < self.below or ranks[1] >= self.below + self.counts.sum(dtype=np.int64):
            return None
        rough = _ranked(self.values, self.counts, ranks - self.below).astype(np.float64)
        first, last = rough[0] - 2 * rounding, rough[1] + 2 * rounding
        if first < self.low or last > self.high:
            return None
        doubtful = (self.values >= first) & (self.values <= last)
        before = self.below + int(self.counts[self.values < first].sum(dtype=np.int64))
        exact = pair_distances(points, points, *np.divmod(self.pairs[doubtful], len(points)))
        return float(_ranked(exact, self.counts[doubtful], ranks - before).mean())


def _ranked(values: AnyArray, counts: AnyArray, ranks: Indices) -> AnyArray:
    """Return the values of some ranks, each value repeated as often as its count says."""
    if counts.max() == 1:
        return np.partition(values, ranks)[ranks]
    order = np.argsort(values)
    return values[order][np.searchsorted(np.cumsum(counts[order], dtype=np.int64), ranks, side="right")]


def _near(points: Array, kind: type[np.floating], low: float, high: float) -> NearPairs:
    """Return all pairs whose squared distances through products, in a precision, lie in a range."""
    size, norms = len(points), np.einsum("ij,ij->i", points, points)
    ones = np.ones(size)
    left = np.column_stack([-2 * points, norms, ones]).astype(kind)
    right = np.column_stack([points, ones, norms]).astype(kind)
    sides = row_blocks(size, TILE)
    tiles = [(rows, columns) for i, rows in enumerate(sides) for columns in sides[i:]]

    def work(tile: tuple[slice, slice]) -> tuple[int, AnyArray, Indices, AnyArray]:
        rows, columns = tile
        squared = left[rows] @ right[columns].T
        if rows == columns:
            squared[np.tril_indices(len(squared))] = np.inf
        under = squared < low
        inside = (squared < high) ^ under
        places = np.flatnonzero(inside)
        values, counts = squared.ravel()[places], np.ones(len(places), dtype=np.int32)
        if len(places) > TIES:
            values, firsts, times = np.unique(values, return_index=True, return_counts=True)
            places, counts = places[firsts], times.astype(np.int32)
        i, j = np.divmod(places, squared.shape[1])
        return int(np.count_nonzero(under)), values, (i + rows.start) * size + j + columns.start, counts

    below, *lists = zip(*in_order(work, tiles, progress=True), strict=True)
    return NearPairs(low, high, sum(below), *(np.concatenate(some) for some in lists))


METRIC_TILE = 256  # points on a side of a tile
SAMPLE = 1000  # points whose pairs give a first estimate
SPREAD = 0.06  # share of ranks on each side of the sample's median; the median of all pairs is nearly always within


@frozen
class DistanceRange:
    """The squared distances within a range, and counts of those that are zero or below it."""

    zeros: int
    below: int  # but over zero
    values: Array


@stage("rate")
def median_square(metric: RowMetric, points: Array) -> float:
    """Return the median of d² over all pairs of rows of an (n, d) array at a distance over zero; 0 for none."""
    rows, pairs = metric.represent(points), len(points) * (len(points) - 1) // 2
    low, high = 0.0, np.inf
    if len(points) > SAMPLE:
        some = _pass(metric, rows[np.linspace(0, len(rows) - 1, SAMPLE).astype(np.int64)], low, high).values
        if len(some):
            low, high = np.quantile(some, [0.5 - SPREAD, 0.5 + SPREAD]).tolist()
    while True:
        found = _pass(metric, rows, low, high)
        count = pairs - found.zeros
        if not count:
            return 0.0
        ranks = np.array([(count - 1) // 2, count // 2]) - found.below
        if ranks[0] >= 0 and ranks[1] < len(found.values):
            return float(np.partition(found.values, ranks)[ranks].mean())
        low, high = 0.0, np.inf


def metric_median_step(metric: RowMetric, rows: int, columns: int, threads: int) -> Step:
    """Return the cost of the median: a pass over all pairs, and the memory of those near it."""
    share = 1.0 if rows <= SAMPLE else 4 * SPREAD
    return Step("rate", f"the median {metric.name} distance of all pairs, in one pass",
                distances_cost(metric, rows, columns, threads), 8.0 * share * rows**2)


def _pass(metric: RowMetric, rows: Array, low: float, high: float) -> DistanceRange:
    """Collect the squared distances from `low` to `high`, but over zero, of all pairs of represented rows."""
    sides = row_blocks(len(rows), METRIC_TILE)

    def work(tile: tuple[slice, slice]) -> DistanceRange:
        down, across = tile
        squares = np.square(metric.compare(rows[down], rows[across]))
        values = squares[np.triu_indices(len(squares), 1)] if down == across else squares.ravel()
        inside = (values >= low) & (values <= high) & (values > 0)
        return DistanceRange(int(np.sum(values == 0)), int(np.sum((values > 0) & (values < low))), values[inside])

    tiles = [(down, across) for i, down in enumerate(sides) for across in sides[i:]]
    parts = list(in_order(work, tiles, progress=True))
    return DistanceRange(sum(part.zeros for part in parts), sum(part.below for part in parts),
                         np.concatenate([part.values for part in parts]))
