"""Intrinsic dimension: how many directions points spread in, estimated from how distances to neighbors grow.

Near a point of a d-dimensional sheet the number of neighbors within r grows as rᵈ, so that log(s / r), for two
distances r < s to neighbors, is exponential with rate d. Only ratios count: no unit and no rotation matters.

`nearest` (n x k) holds each point's distances to its nearest other points, ascending. A distance of zero belongs to a
duplicate and is passed over; where a point's duplicates fill most of its row, take them out before the search.
"""

import numpy as np

from mlcli.base.types import Array


def two_nn(nearest: Array) -> float:
    """The dimension from the ratios of second to first distances; NaN of fewer than two points that have both.

    The unbiased form (N - 1) / Σ log(r₂ / r₁) of the maximum likelihood over all ratios, none discarded; infinite
    where all ratios are one. Source: Facco, d'Errico, Rodriguez and Laio, 2017.
    """
    logs = _log_ratios(nearest)
    return _over(len(logs) - 1, float(logs.sum())) if len(logs) > 1 else float("nan")


def two_nn_error(nearest: Array) -> float:
    """The standard error of `two_nn`, d / √(N - 2): that of independent ratios; NaN of fewer than three."""
    count = len(_log_ratios(nearest))
    return two_nn(nearest) / float(np.sqrt(count - 2)) if count > 2 else float("nan")


def maximum_likelihood(nearest: Array) -> float:
    """The dimension from all k distances of each point; NaN where no point has two.

    1 / d is the mean of log(r_k / r_j) over all points and j < k. Source: Levina and Bickel, 2005, with the inverses
    of the points' estimates averaged as MacKay and Ghahramani, 2005, put it right.
    """
    if nearest.shape[1] < 2:
        return float("nan")
    near = nearest > 0
    terms = int(np.maximum(near.sum(axis=1) - 1, 0).sum())
    rows = near[:, -1]
    positive = np.where(near[rows], nearest[rows], nearest[rows, -1:])
    logs = _log_quotients(nearest[rows, -1:], positive)
    return _over(terms, float(logs.sum())) if terms else float("nan")


def _log_ratios(nearest: Array) -> Array:
    """log(r₂ / r₁) of the first two distances above zero, for every point that has them."""
    first = (nearest == 0).sum(axis=1)
    rows = np.flatnonzero(first + 2 <= nearest.shape[1])
    return _log_quotients(nearest[rows, first[rows] + 1], nearest[rows, first[rows]])


def _log_quotients(far: Array, near: Array) -> Array:
    """log(s / r), also where s / r is larger than any double."""
    with np.errstate(over="ignore"):
        quotients = far / near
    return np.where(np.isfinite(quotients), np.log(quotients), np.log(far) - np.log(near))


def _over(count: int, total: float) -> float:
    return count / total if total > 0 else float("inf")
