"""The nearest neighbors of points, exactly: candidates by a k-d tree or by quick products, refined by exact distances;
ties broken by (distance, index), self excluded by index.

A tree and products both give ‖y‖² - 2 x·y, the squared distance of points less ‖x‖², which is constant for the
neighbors of x.
"""

from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Any, Protocol

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.machine.threads import allowed
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.stages.steps import Passes
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.scaling import Unit
from mlcli.core.distances import BLOCK, pair_distances, rounding_of_products
from mlcli.engine.executor import WORTH, results, sent

QUICK_BLOCK = 2**18  # numbers that are looked at together: they stay in the second cache
LARGEST = 255  # of a byte
WIDEST = 2**15  # columns whose products of bytes stay within 32 bits
WHOLE = 16 * float(np.finfo(np.float32).eps)  # rounding of whole numbers, which are only compared in single precision


class QuickPoints(Protocol):
    """Points (n x d) whose products with each other are quick."""

    norms: AnyArray  # ‖x‖² (n), in single precision

    def products(self, rows: slice, others: slice) -> AnyArray:
        """Return x·y (a x b, single precision) of some points with others."""

    def beyond(self, last: AnyArray, norms: AnyArray) -> Array:
        """Return lower bounds (m) of squared distances to points that are not candidates.

        `last` (m) are the largest ‖y‖² - 2 x·y of the candidates of points x with the squared norms `norms` (m).
        """


class Singles:
    """Points in single precision, centered and scaled to unit size first, so that squares neither overflow nor
    underflow.
    """

    def __init__(self, points: Array) -> None:
        self._center = points.mean(axis=0)
        self._unit = Unit.of(points.max(axis=0) - self._center, points.min(axis=0) - self._center)
        self.points = np.empty(points.shape, dtype=np.float32)

        def center(rows: slice) -> None:
            self.points[rows] = self.moved(points[rows])

        each(center, row_blocks(len(points), QUICK_BLOCK, points.shape[1]))
        self.norms: AnyArray = np.einsum("ij,ij->i", self.points, self.points)
        self._rounding = rounding_of_products(points.shape[1], np.float32)

    def products(self, rows: slice, others: slice) -> AnyArray:
        """Return x·y (a x b) of some centered points with others."""
        return native.products_of_rows(self.points[rows], self.points[others])

    def beyond(self, last: AnyArray, norms: AnyArray) -> Array:
        """Return lower bounds (m) of squared distances to points that are not candidates."""
        return (self._unit**2).plain(bounds(last, norms, float(self.norms.max()), self._rounding))

    def moved(self, points: Array) -> AnyArray:
        """Return (m, d) points centered and scaled in the same way; infinite beyond the range of single precision."""
        return self._unit.measured(points - self._center).astype(np.float32)


class Bytes:
    """Points whose coordinates are a constant plus whole multiples of a power of two, from 0 to 255 of them.

    So are images, counts and answers. Products of bytes are exact, and many times quicker.
    """

    def __init__(self, values: AnyArray, norms: Array, unit: Unit) -> None:
        """Take the multiples (n x d, bytes), the sums of their squares (n), and the power of two."""
        self._rows, self._unit = native.ByteRows(values), unit
        self.norms: AnyArray = norms.astype(np.float32)

    @classmethod
    def of(cls, points: Array) -> "Bytes | None":
        """Return points (n x d) as bytes; None where they are none, or the machine has no products of bytes."""
        if not native.has_byte_products() or not 0 < points.shape[1] <= WIDEST:
            return None
        parts = row_blocks(len(points), QUICK_BLOCK, points.shape[1])
        ranges = list(in_order(lambda rows: (points[rows].min(), points[rows].max()), parts, ahead=len(parts)))
        low, high = min(least for least, _ in ranges), max(most for _, most in ranges)
        part, exponent = np.frexp((high - low) / LARGEST)
        unit = Unit(int(exponent) - (part == 0.5))  # the least in which no multiple is above a byte
        values, norms = np.empty(points.shape, dtype=np.uint8), np.empty(len(points))

        def convert(rows: slice) -> bool:
            multiples = unit.measured(points[rows] - low)
            values[rows] = multiples
            norms[rows] = np.einsum("ij,ij->i", multiples, multiples)
            return bool((values[rows] == multiples).all())

        whole = all(convert(rows) for rows in parts[:1]) and all(in_order(convert, parts[1:], ahead=len(parts)))
        return cls(values, norms, unit) if whole else None

    def products(self, rows: slice, others: slice) -> AnyArray:
        """Return x·y (a x b) of the multiples of some points with those of others."""
        return self._rows.products(rows, others)

    def beyond(self, last: AnyArray, norms: AnyArray) -> Array:
        """Return lower bounds (m) of squared distances to points that are not candidates."""
        return (self._unit**2).plain(bounds(last, norms, float(self.norms.max()), WHOLE))


def bounds(last: AnyArray, norms: AnyArray, largest: float, rounding: float) -> Array:
    """Return lower bounds (m) of ‖x - y‖², from ‖y‖² - 2 x·y and ‖x‖² (m) and the largest ‖y‖², less their rounding."""
    reached: Array = last.astype(np.float64) + norms - rounding * (norms + largest)
    return reached


def quick_points(points: Array) -> QuickPoints:
    """Return points (n x d) in bytes where they are such, else in single precision."""
    return Bytes.of(points) or Singles(points)


TREE_COLUMNS = 15  # up to here a k-d tree beats blocked matrix products
SPARE = 8  # candidates beyond k, so that rounding of the approximate distances loses no neighbor
TILE = 1536  # points on a side of a tile of products, at most: 9 MiB
SHARES = 8  # tiles for each thread, at least
SEARCH_BLOCK = 2**22  # numbers in a block of approximate distances: 16 MiB for each thread
FEW = 8  # rows for which computing all exact distances is faster than building a finder
FINER = 2**20  # numbers in a block of approximate distances in double precision
LEAST = 8  # blocks, where there are as many rows
# Candidates (m x c) for a block of rows, and lower bounds (m) of the squared distances to all other points.
Finder = Callable[[slice], tuple[Indices, Array]]


def blocks(rows: int, width: int) -> list[slice]:
    """Return blocks of about BLOCK numbers each, and enough of them to share."""
    return row_blocks(rows, min(SEARCH_BLOCK, -(-rows // LEAST) * width), width)


def numbers_in_blocks(rows: int, threads: int) -> int:
    """Return how many distances of all pairs of points are held at a time: a block for each thread, if there are so
    many.
    """
    return min(threads * min(SEARCH_BLOCK, -(-rows // LEAST) * rows), rows**2)


def refine(new: Array, points: Array, candidates: Indices, count: int,
           excluded: Indices | None) -> tuple[Indices, Array]:
    """Return the `count` nearest of each row's candidates (m x c) by exact (squared distance, index), (m, count)
    arrays.
    """
    if native.available():
        return native.refine(new, points, candidates, count, excluded)
    rows = np.repeat(np.arange(len(new)), candidates.shape[1])
    exact = pair_distances(new, points, rows, candidates.ravel()).reshape(candidates.shape)
    if excluded is not None:
        exact[candidates == excluded[:, None]] = np.inf
    order = np.lexsort((candidates, exact))[:, :count]
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(exact, order, axis=1)


def finder(new: Array, points: Array, count: int, excluded: Indices | None, *,
           pairs: bool = True) -> tuple[Finder, int]:
    """Return a finder of candidates for (m, d) rows among (n, d) points, and how many numbers a row of it needs.

    With `pairs` it may compute the candidates of all rows at once.
    """
    if count >= len(points) or len(new) <= FEW:
        return _everyone(points), len(points) * points.shape[1]
    if points.shape[1] <= TREE_COLUMNS:
        return _tree(new, points, count), 64 * count
    if pairs and new is points and excluded is not None and native.available():
        return _pairs(points, count), 64 * count
    return _products(new, points, count, excluded), len(points)


def _everyone(points: Array) -> Finder:
    """Return all points as candidates."""
    everyone = np.arange(len(points))

    def find(block: slice) -> tuple[Indices, Array]:
        rows = block.stop - block.start
        return np.tile(everyone, (rows, 1)), np.full(rows, np.inf)

    return find


def _tree(new: Array, points: Array, count: int) -> Finder:
    if native.available():
        own_tree = native.KdTree(points)

        def find_native(block: slice) -> tuple[Indices, Array]:
            candidates, last = own_tree.query(new[block], count)
            return candidates, last * (1 - 1e-12)

        return find_native
    from scipy.spatial import KDTree

    tree = KDTree(points)

    def find(block: slice) -> tuple[Indices, Array]:
        distances, candidates = tree.query(new[block], k=count)
        return candidates.astype(np.int64), distances[:, -1] ** 2 * (1 - 1e-12)

    return find


def _products(new: Array, points: Array, count: int, excluded: Indices | None) -> Finder:
    """Return a finder by products of rows with all points."""
    quick = Singles(points)

    def find(block: slice) -> tuple[Indices, Array]:
        with np.errstate(over="ignore", invalid="ignore"):  # new points may lie far outside
            left = quick.moved(new[block])
            numbers = left @ quick.points.T
            numbers *= -2
            numbers += quick.norms
            candidates, last = _smallest(numbers, count, None if excluded is None else excluded[block])
            return candidates, quick.beyond(last, np.einsum("ij,ij->i", left, left))

    return find


def _pairs(points: Array, count: int) -> Finder:
    """Return a finder by products of all pairs of points, tile by tile: each pair once, for both of its points."""
    quick, smallest = quick_points(points), native.Smallest(len(points), count)
    step = max(1, min(TILE, int(len(points) / np.sqrt(2 * SHARES * allowed()))))
    sides = row_blocks(len(points), step)
    pairs = [(rows, columns) for i, rows in enumerate(sides) for columns in sides[i:]]
    locks = {side.start: Lock() for side in sides}

    def work(pair: tuple[slice, slice]) -> None:
        rows, columns = pair
        products = quick.products(rows, columns)
        with locks[rows.start]:
            smallest.offer(rows, products, quick.norms[columns], columns)
        if rows != columns:
            with locks[columns.start]:
                smallest.offer(columns, products, quick.norms[rows], rows, turned=True)

    each(work, pairs, progress=True)
    beyond = quick.beyond(smallest.values[:, -1], quick.norms)
    return lambda block: (smallest.indices[block], beyond[block])


def finer_candidates(new: Array, points: Array, count: int, excluded: Indices | None) -> tuple[Indices, Array]:
    """Return candidates as a finder does, for (m, d) rows whose distances rounding of single precision cannot tell.

    Products are of double precision. Rows should be few enough for an (m, n) array.
    """
    center = new.mean(axis=0)
    left, most = new - center, 0.0
    numbers, norms = np.empty((len(new), len(points))), np.einsum("ij,ij->i", left, left)
    with np.errstate(over="ignore", invalid="ignore"):
        for part in row_blocks(len(points), FINER, points.shape[1]):
            right = points[part] - center
            squares = np.einsum("ij,ij->i", right, right)
            numbers[:, part] = squares - 2 * (left @ right.T)
            most = max(most, float(squares.max()))
        candidates, last = _smallest(numbers, count, excluded)
        return candidates, bounds(last, norms, most, rounding_of_products(points.shape[1], np.float64))


def _smallest(quick: AnyArray, count: int, excluded: Indices | None) -> tuple[Indices, AnyArray]:
    """Return the columns of the `count` smallest numbers of each row, and the largest of those numbers."""
    if native.available():
        candidates, values = native.select_neighbors(quick, count, excluded)
        return candidates, values[:, -1]
    candidates = np.argpartition(quick, count - 1, axis=1)[:, :count]
    return candidates, np.take_along_axis(quick, candidates, axis=1).max(axis=1)


PAIR = 16.0  # bytes of a neighbor: its number and its distance
PARTS = 256  # blocks that a search is divided into, at most


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


def neighbors_cost(points: int, columns: int, count: int, tree: bool, threads: int, native: bool) -> float:
    """Seconds of an exact search for neighbors, through a k-d tree or products in single precision.

    The native kernels take each pair of points once, SciPy's way twice. Neighbors that are kept are refined.
    """
    if tree:
        return points * (5 + count) * max(columns / 3, 1.0) * np.log2(points + 2) * rates().branch / threads
    pairs = (1.0 if native else 2.0) * points**2 * columns * rates().paired
    return (pairs + points**2 * 1.5e-9 + points * count * rates().neighbor) / threads
