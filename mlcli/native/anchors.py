"""Distances from anchors to all points: sums over pairs in two spaces, and counts of nearer points."""

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels

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
