"""Candidates for nearest neighbors, by a k-d tree or by quick products, and exact distances to them."""

from collections.abc import Callable
from threading import Lock

import numpy as np

from mlcli import native
from mlcli.base.machine.threads import allowed
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.stages.algebra.distances import pair_distances, rounding_of_products
from mlcli.stages.graph.quick_points import Singles, bounds, quick_points

TREE_COLUMNS = 15  # up to here a k-d tree beats blocked matrix products
SPARE = 8  # candidates beyond k, so that rounding of the approximate distances loses no neighbor
TILE = 1536  # points on a side of a tile of products, at most: 9 MiB
SHARES = 8  # tiles for each thread, at least
BLOCK = 2**22  # numbers in a block of approximate distances: 16 MiB for each thread
FEW = 8  # rows for which computing all exact distances is faster than building a finder
FINER = 2**20  # numbers in a block of approximate distances in double precision
LEAST = 8  # blocks, where there are as many rows

# Candidates (m x c) for a block of rows, and lower bounds (m) of the squared distances to all other points.
Finder = Callable[[slice], tuple[Indices, Array]]


def blocks(rows: int, width: int) -> list[slice]:
    """Return blocks of about BLOCK numbers each, and enough of them to share."""
    return row_blocks(rows, min(BLOCK, -(-rows // LEAST) * width), width)


def numbers_in_blocks(rows: int, threads: int) -> int:
    """Return how many distances of all pairs of points are held at a time: a block for each thread, if there are so
    many.
    """
    return min(threads * min(BLOCK, -(-rows // LEAST) * rows), rows**2)


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
