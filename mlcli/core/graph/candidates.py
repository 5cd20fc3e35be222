"""Candidates for the nearest neighbors of points, by a k-d tree or by quick products, and their refinement by exact
distances; ties broken by (distance, index), self excluded by index.

A tree and products both give ‖y‖² - 2 x·y, the squared distance of points less ‖x‖², which is constant for the
neighbors of x.
"""

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Protocol

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import allowed
from mlcli.base.rows.blocks import complete, each, in_order, row_blocks
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stages.stage import no_listeners, note
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.scaling import Unit
from mlcli.core.arithmetic import LINE, sum_in_lines
from mlcli.core.euclidean_distances import rounding_of_products
from mlcli.core.graph.point_blocks import PointBlocks, turn_to_axes

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
    underflow; turned to their principal axes where `turned`, which changes no distance.
    """

    def __init__(self, points: Array, *, turned: bool = False) -> None:
        self._center = points.mean(axis=0)
        self._axes = turn_to_axes(points, self._center) if turned else None
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
        moved = (points - self._center if self._axes is None
                 else native.project(points, self._center, self._axes)[0])
        return self._unit.measured(moved).astype(np.float32)

    def shifted(self, shifts: Array) -> tuple[AnyArray, Array]:
        """Return ‖y‖² - 2 y·s (s x n, single precision) of points y and shifts s (s x d), and ‖y + s‖² (s x n).

        Less 2 x·y, the first are the squared distances of x + s from y less ‖x + s‖². The second are raised by 4 ‖s‖²,
        so that bounds by them hold for what is computed from ‖x‖.
        """
        lengths = self._unit.measured(shifts)
        along = lengths @ self.points.astype(np.float64).T
        squares = np.einsum("ij,ij->i", lengths, lengths)[:, None]
        return (self.norms - 2 * along).astype(np.float32), self.norms + 2 * along + 5 * squares


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
    """Return lower bounds (m) of ‖x - y‖², from ‖y‖² - 2 x·y and ‖x‖² (m) and the largest ‖y‖², less their rounding.

    Rounding is relative to ‖x‖² + ‖y‖², and the y that are near have no larger norms than ‖x‖ and their distance add up
    to: a few points far out do not make the others unsure.
    """
    reached: Array = last.astype(np.float64) + norms
    near = (np.sqrt(norms, dtype=np.float64) + np.sqrt(np.maximum(reached, 0.0))) ** 2 * (1 + rounding)
    return reached - rounding * (norms + np.minimum(largest, near))


TREE_COLUMNS = 15  # up to here a k-d tree beats blocked matrix products
SPARE = 8  # candidates beyond k, so that rounding of the approximate distances loses no neighbor
TILE = 1536  # points on a side of a tile of products, at most: 9 MiB
SHARES = 8  # tiles for each thread, at least
MANY = 8192  # points from which on blocks of near points are worth their order
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
    exact = np.empty(candidates.shape)
    for some in row_blocks(len(new), QUICK_BLOCK, candidates.shape[1] * points.shape[1]):
        gaps = points[candidates[some]] - new[some, None]
        with np.errstate(over="ignore"):  # infinitely far, as in the kernel
            exact[some] = _squares(gaps.reshape(-1, points.shape[1]).T).reshape(exact[some].shape)
    if excluded is not None:
        exact[candidates == excluded[:, None]] = np.inf
    order = np.lexsort((candidates, exact))[:, :count]
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(exact, order, axis=1)


def _squares(gaps: Array) -> Array:
    """Return Σ x² (m) of columns (d x m), with even and odd lines of numbers summed apart as by the kernel."""
    squares, lines, pairs = gaps * gaps, len(gaps) // (2 * LINE), gaps.shape[1]
    both = squares[: lines * 2 * LINE].reshape(lines, 2, LINE, pairs)
    total = sum_in_lines(both[:, 0].reshape(-1, pairs)) + sum_in_lines(both[:, 1].reshape(-1, pairs))
    for row in squares[lines * 2 * LINE :]:
        total += row
    return total


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
        absent = candidates == len(points)  # as distances leave the range of doubles; then any point may be nearer
        beyond = np.where(absent.any(axis=1), 0.0, distances[:, -1] ** 2 * (1 - 1e-12))
        return np.where(absent, 0, candidates).astype(np.int64), beyond

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
    """Return a finder by products of all pairs of points: each pair once, for both of its points."""
    whole = Bytes.of(points)
    if whole is None and len(points) >= MANY:
        return _by_blocks(points, count)
    return _by_tiles(whole or Singles(points), points, count)


def taken_products(points: Array, count: int) -> float:
    """Return the share of the products of all pairs of points (n x d) that a search by blocks does not skip."""
    with no_listeners():
        return 1 - _searched(points, count)[1].share


def _searched(points: Array, count: int) -> tuple[Singles, PointBlocks]:
    """Return points in single precision, and the search for their `count` nearest by blocks."""
    quick = Singles(points, turned=True)
    search = PointBlocks(quick.points, count, rounding_of_products(points.shape[1], np.float32))
    search.search()
    return quick, search


def _by_blocks(points: Array, count: int) -> Finder:
    """Return a finder by products of blocks of near points in single precision."""
    quick, search = _searched(points, count)
    places = np.empty(len(points), dtype=np.int64)
    places[search.order] = np.arange(len(points))
    last = 2 * search.values[places, -1] - quick.norms
    beyond = quick.beyond(last, quick.norms)
    note("F-PRODUCTS", f"neighbors: {search.share:.1%} of the products of all pairs of points were skipped, as bounds "
         "prove to be too far apart", skipped=search.share)
    return _kept(search.indices, beyond, places)


@result("point-tiles")
@frozen
class TilesCheckpoint:
    """What points have kept of some tiles, in any order of these."""

    indices: Indices  # n x count
    values: AnyArray  # n x count, float32
    done: AnyArray  # t: whether each tile is done


def _by_tiles(quick: QuickPoints, points: Array, count: int) -> Finder:
    """Return a finder by products of all pairs, tile by tile."""
    smallest = native.Smallest(len(points), count)
    step = max(1, min(TILE, int(len(points) / np.sqrt(2 * SHARES * allowed()))))
    sides = row_blocks(len(points), step)
    pairs = [(rows, columns) for i, rows in enumerate(sides) for columns in sides[i:]]
    locks = {side.start: Lock() for side in sides}
    done = np.zeros(len(pairs), dtype=bool)

    def work(pair: int) -> None:
        rows, columns = pairs[pair]
        products = quick.products(rows, columns)
        with locks[rows.start]:
            smallest.offer(rows, products, quick.norms[columns], columns)
        if rows != columns:
            with locks[columns.start]:
                smallest.offer(columns, products, quick.norms[rows], rows, turned=True)

    with loop(TilesCheckpoint) as place:
        if place.left is not None:
            smallest.indices[:], smallest.values[:], done[:] = place.left.indices, place.left.values, place.left.done
        complete(work, done, place, partial(TilesCheckpoint, smallest.indices, smallest.values, done), progress=True)
    return _kept(smallest.indices, quick.beyond(smallest.values[:, -1], quick.norms))


def _kept(indices: Indices, beyond: Array, places: Indices | None = None) -> Finder:
    """Return a finder of candidates (n x c) of all points, at `places` (n) among these, in half of their memory."""
    few = indices.astype(np.int32)
    if places is None:
        return lambda block: (few[block].astype(np.int64), beyond[block])
    return lambda block: (few[places[block]].astype(np.int64), beyond[block])


def shifted_finder(points: Array, shifts: Array, rows: slice, count: int) -> Finder:
    """Return a finder for some of (n, d) points by all shifts (s x d), s new rows to each, without the point itself.

    Products with all points are computed once for all shifts of a point. Blocks are of whole points.
    """
    quick, shares = Singles(points), len(shifts)
    numbers, norms = quick.shifted(shifts)

    def find(block: slice) -> tuple[Indices, Array]:
        some = slice(rows.start + block.start // shares, rows.start + block.stop // shares)
        size = some.stop - some.start
        kept = native.Smallest(shares * size, count)
        for tile in row_blocks(len(points), TILE):
            products = quick.products(some, tile)
            for shift in range(shares):
                kept.offer(slice(shift * size, (shift + 1) * size), products, numbers[shift, tile], tile,
                           first=some.start)
        last = kept.values[:, -1].reshape(shares, size)
        return (kept.indices.reshape(shares, size, count).transpose(1, 0, 2).reshape(-1, count),
                quick.beyond(last, norms[:, some]).T.ravel())

    return find


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
