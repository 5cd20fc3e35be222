"""Points: distances and sums of pairs, nearest neighbors by candidates that are refined, and coordinates as text."""

from typing import Any

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels


def select_neighbors(quick: AnyArray, count: int, excluded: Indices | None = None) -> tuple[Indices, AnyArray]:
    """Return the columns and values of the `count` smallest of each row of an (m, n) array, by (value, index).

    `quick` is of float32 or float64. `excluded` names a column of each row to leave out. In a row with too
    few finite numbers the column is -1 and the value infinite.
    """
    indices, values = np.empty((len(quick), count), dtype=np.int64), np.empty((len(quick), count), dtype=quick.dtype)
    kernels().select_neighbors(np.ascontiguousarray(quick), _each(excluded, len(quick)), indices, values)
    return indices, values


class Smallest:
    """The `count` smallest numbers of each of n rows, by (value, index): -1 and infinite at first.

    The numbers are ‖y‖² - 2 x·y for pairs of points, squared distances less ‖x‖². Several threads may offer
    numbers at the same time if their rows differ.
    """

    def __init__(self, rows: int, count: int) -> None:
        self.indices = np.full((rows, count), -1, dtype=np.int64)
        self.values = np.full((rows, count), np.inf, dtype=np.float32)

    def offer(self, rows: slice, products: AnyArray, norms: AnyArray, others: slice, *, turned: bool = False,
              first: int | None = None) -> None:
        """Offer the numbers of points `rows` with points `others`, from an (m, n) array of products (float32).

        `norms` are the squared norms of the others; with `turned` the products are others x rows. If both
        are the same points, or the rows belong to the points from `first` on, each is left out of its own numbers.
        """
        place = (rows.start if rows == others else -1) if first is None else first
        kernels().select_pairs(products, norms, others.start, place, self.indices[rows], self.values[rows], turned)


def block_order(points: AnyArray, block: int) -> Indices:
    """Return an order of points (n x d, float32) in which those of each block, of a multiple of GROUP, are near."""
    return np.asarray(kernels().block_order(np.ascontiguousarray(points), block), dtype=np.int64)


class BlockedPoints:
    """Points (n x d, float32) in an order, in blocks of a multiple of GROUP points."""

    def __init__(self, points: AnyArray, order: Indices, block: int) -> None:
        self._native = kernels().BlockedPoints(np.ascontiguousarray(points), order, block)

    def search(self, block: int, others: Indices, **arrays: Any) -> None:
        """Offer the points of a block and those of others to each other, each pair once.

        Points keep the smallest half squared distances, `values` (n x count) in their order, with the numbers of the
        others, `indices`. `halves` are half their squared norms, `kept` the largest value that each keeps and `reach`
        what it is in a group, with the rounding of products; these are of whole groups. Products of a tile stop at
        `ends` (s) where the norms of the other columns, `rests` (s x n), leave none near enough; `passed` (s) counts
        the pairs that are left. `portable` values have the same bits at every level. Several threads may search.
        """
        self._native.search(block, others, **arrays)


def refine(rows: Array, points: Array, candidates: Indices, count: int,
           excluded: Indices | None = None) -> tuple[Indices, Array]:
    """Return the `count` nearest of each row's candidates, an (m, c) array, by exact (squared distance, index).

    Candidates of a row differ; -1 is none. Distances are sums of squared differences in float64, with the
    same bits if the two points are swapped. `excluded` names a point to leave out for each row. Too few
    candidates: -1 and infinite.
    """
    rows, points = np.ascontiguousarray(rows, dtype=np.float64), np.ascontiguousarray(points, dtype=np.float64)
    indices, squared = np.empty((len(rows), count), dtype=np.int64), np.empty((len(rows), count))
    kernels().refine(rows, points, np.ascontiguousarray(candidates, dtype=np.int64), _each(excluded, len(rows)),
                     indices, squared)
    return indices, squared


class KdTree:
    """A k-d tree of an (n, d) array of finite points. Queries may run at the same time in several threads."""

    def __init__(self, points: Array) -> None:
        self._native = kernels().KdTree(np.ascontiguousarray(points, dtype=np.float64))

    def query(self, rows: Array, count: int) -> tuple[Indices, Array]:
        """Return the `count` nearest points of each row of an (m, d) array, in no order.

        The second array holds the largest of their squared distances for each row.
        """
        indices, last = np.empty((len(rows), count), dtype=np.int64), np.empty(len(rows))
        self._native.query(np.ascontiguousarray(rows, dtype=np.float64), indices, last)
        return indices, last


GROUP = 16  # points whose coordinates the kernels interleave: those of native/src/near.hpp


def _each(excluded: Indices | None, size: int) -> Indices:
    return np.full(size, -1, dtype=np.int64) if excluded is None else np.ascontiguousarray(excluded, dtype=np.int64)


KINDS = ("sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "ruzicka")  # in the kernels' order


def differences(kind: str, left: Array, right: Array) -> Array:
    """Return the (m, n) array of differences of an (m, d) and an (n, d) array, in C order.

    The names are SciPy's; ruzicka is Σ|x - y| over Σ max(x, y). Each number has the same bits whatever the
    other rows, and swapping the two rows of a pair changes no bit.
    """
    out = np.empty((len(left), len(right)))
    kernels().differences(KINDS.index(kind), np.ascontiguousarray(left), np.ascontiguousarray(right), out)
    return out


AMOUNTS = ("braycurtis", "ruzicka")  # in the kernels' order


def amount_distances(kind: str, left: Array, right: Array) -> Array:
    """Return the (m, n) array of distances of an (m, d) and an (n, d) array of amounts, by Σ min(x, y) and row sums.

    They are those of `differences` but for a few roundings of one, in less time, the less the more zeros there are on
    the left. They are zero for equal rows; swapping the two rows of a pair changes no bit. Numbers are zero or more.
    """
    out = np.empty((len(left), len(right)))
    kernels().amount_distances(AMOUNTS.index(kind), np.ascontiguousarray(left), np.ascontiguousarray(right), out)
    return out


def squared_at(rows: Array, points: Array, chosen: Indices) -> Array:
    """Return squared distances of each row of an (m, d) array to the points chosen for it, as an (m, c) array.

    `points` is an (n, d) array, `chosen` an (m, c) array of row numbers in it. The bits are those of
    `differences`.
    """
    out = np.empty(chosen.shape)
    kernels().squared_at(np.ascontiguousarray(rows), np.ascontiguousarray(points), np.ascontiguousarray(chosen), out)
    return out


SUMS = ("delta", "d", "delta²", "d²", "delta d", "off²", "d²/delta", "off²/delta")


def pair_sums(kept: Array, embedded: Array, scale: float) -> dict[str, Array]:
    """Return the SUMS of each anchor over its pairs, from squared distances to keep and embedded ones (b x n each).

    delta is the distance to keep, d the embedded one times `scale`, off = delta - d. Quotients leave out pairs with
    delta = 0.
    """
    out = np.empty((len(kept), len(SUMS)))
    kernels().pair_sums(np.ascontiguousarray(kept), np.ascontiguousarray(embedded), scale, out)
    return dict(zip(SUMS, np.ascontiguousarray(out.T), strict=True))


def keys_before(keys: Indices, wanted: Indices, bits: int) -> Indices:
    """Return how many keys (b x n) of each anchor are before those `wanted` (b x m), as a (b, m) array.

    A key is the number of a step and, in its last `bits`, that of a point, which orders keys of one step or of
    successive ones.
    """
    out = np.empty(wanted.shape, dtype=np.int64)
    kernels().keys_before(keys, np.ascontiguousarray(wanted), bits, out)
    return out


def order_points(squared: Array, anchors: Indices, count: int, bits: int) -> tuple[Indices, Indices, Indices]:
    """Return keys of all points (b x n) by squared distances (b x n) from `anchors` (b), and the nearest (b x m).

    Those are the `count` smallest keys, sorted, with all at the distance of the last; all keys below the limits (b,
    returned as well) are among them, and short rows end with the largest number. A key is a distance whose last `bits`
    are replaced by the point's number, that of the anchor the largest; keys of successive steps are moved to the first
    of these.
    Raises ValueError for anchors out of range, and where there are no more than `count` points.
    """
    keys, nearest = np.empty((2, *squared.shape), dtype=np.int64)
    limits = np.empty((len(squared), 1), dtype=np.int64)
    squared, anchors = np.ascontiguousarray(squared), np.ascontiguousarray(anchors)
    most = kernels().order_points(squared, anchors, count, bits, keys, nearest, limits)
    return keys, nearest[:, :most].copy(), limits[:, 0]


def ranks_of_points(keys: Indices, nearest: Indices, limits: Indices, *, points: Indices, exact: int, bits: int,
                    ) -> Indices:
    """Return the ranks (b x m) from 1 of points (b x m) among those of each anchor, from what `order_points` returns.

    Beyond the nearest they are lower bounds, but for the first `exact` points of each row. Raises ValueError for points
    out of range.
    """
    out = np.empty(points.shape, dtype=np.int64)
    kernels().ranks_of_points(keys, nearest, limits[:, None], np.ascontiguousarray(points), exact, bits, out)
    return out


def undercuts(lengths: Array, first: int, wanted: AnyArray, slack: float) -> tuple[Indices, Array]:
    """Count, for rows of a symmetric matrix (n x n, infinite where unknown), ways shorter than the wanted pairs.

    `wanted` (b x n, bool) belongs to the rows from `first` on. Returns, for each row, the number of ways
    over a third point that are shorter by more than `slack` than a wanted pair (b), and for each pair the
    length of the shortest way (b x n; infinite where not wanted), at most the pair's own.
    """
    counts, least = np.zeros(len(wanted), dtype=np.int64), np.full(wanted.shape, np.inf)
    kernels().undercuts(lengths, first, np.ascontiguousarray(wanted), slack, counts, least)
    return counts, least


def numbered_lines(numbers: Indices, values: Array) -> bytes:
    """Return lines of CSV: row numbers and the values of an (n, p) array, in 17 digits that restore every bit."""
    return bytes(kernels().numbered_lines(numbers, values))
