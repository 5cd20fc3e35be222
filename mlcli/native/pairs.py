"""Sums over all pairs of points, of anchors and points, and of sides of triangles."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels

KINDS = ("sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "ruzicka")  # in the kernels' order


def differences(kind: str, left: Array, right: Array) -> Array:
    """Return the (m, n) array of differences of an (m, d) and an (n, d) array, in C order.

    The names are SciPy's; ruzicka is Σ|x - y| over Σ max(x, y). Each number has the same bits whatever the
    other rows, and swapping the two rows of a pair changes no bit.
    """
    out = np.empty((len(left), len(right)))
    kernels().differences(KINDS.index(kind), np.ascontiguousarray(left), np.ascontiguousarray(right), out)
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


NONE = np.zeros((0, 0))


def stress_rows(points: Array, sources: Array, *, lengths: Array, weights: Array | None,
                rows: slice) -> tuple[Array, Array, Array]:
    """Return Σ w δ / d (x - x'), Σ w (x - x') (m x p each), and Σ w (δ - d)², Σ w δ d and Σ w d² (m x 3) of some rows.

    `points` is (n x p), `sources` the same by `turn_sources`, `lengths` δ (n x n). Weights (n x n) may be None: all are
    one then, and there is no second array. δ / d is zero where d is. Raises ValueError for rows out of range.
    """
    count, axes = rows.stop - rows.start, points.shape[1]
    pulled, sums = np.empty((count, axes)), np.empty((count, 3))
    spread = np.empty((0, 0) if weights is None else (count, axes))
    kernels().stress_rows(points, sources, lengths, NONE if weights is None else weights, rows.start, rows.stop, pulled,
                          spread, sums)
    return pulled, spread, sums


def undercuts(lengths: Array, first: int, wanted: AnyArray, slack: float) -> tuple[Indices, Array]:
    """Count, for rows of a symmetric matrix (n x n, infinite where unknown), ways shorter than the wanted pairs.

    `wanted` (b x n, bool) belongs to the rows from `first` on. Returns, for each row, the number of ways
    over a third point that are shorter by more than `slack` than a wanted pair (b), and for each pair the
    length of the shortest way (b x n; infinite where not wanted), at most the pair's own.
    """
    counts, least = np.zeros(len(wanted), dtype=np.int64), np.full(wanted.shape, np.inf)
    kernels().undercuts(lengths, first, np.ascontiguousarray(wanted), slack, counts, least)
    return counts, least
