"""The intrinsic dimension by distances to neighbors: TwoNN and maximum likelihood.

Near a point of a d-dimensional sheet the number of neighbors within r grows as rᵈ, so that log(s / r), for two
distances r < s to neighbors, is exponential with rate d. Only ratios count: no unit and no rotation matters.

`nearest`, an (n, k) array, holds each point's distances to its nearest other points, ascending. A distance of zero
belongs to a duplicate and is ignored; where a point's duplicates fill most of its row, remove them before the search.
"""

import math

import numpy as np

from mlcli.base.types import Array
from mlcli.findings.dimension.evidence import Evidence, NotApplicable, RuleVerdict


def two_nn(nearest: Array) -> float:
    """Return the dimension from the ratios of second to first distances of `nearest`, an (n, k) array.

    The unbiased form (N - 1) / Σ log(r₂ / r₁) of the maximum likelihood over all ratios, none discarded; infinite where
    all ratios are one, NaN for fewer than two points with both. Source: Facco, d'Errico, Rodriguez and Laio, 2017.
    """
    logs = _log_ratios(nearest)
    return _ratio(len(logs) - 1, float(logs.sum())) if len(logs) > 1 else float("nan")


def two_nn_error(nearest: Array) -> float:
    """Return the standard error of `two_nn`, d / √(N - 2), for `nearest`, an (n, k) array; NaN for fewer than three.

    It is the error of independent ratios.
    """
    count = len(_log_ratios(nearest))
    return two_nn(nearest) / float(np.sqrt(count - 2)) if count > 2 else float("nan")


def maximum_likelihood(nearest: Array) -> float:
    """Return the dimension from all k distances of each point of `nearest`, an (n, k) array; NaN if none has two.

    1 / d is the mean of log(r_k / r_j) over all points and j < k. Source: Levina and Bickel, 2005, with the inverses of
    the points' estimates averaged as MacKay and Ghahramani, 2005, corrected it.
    """
    if nearest.shape[1] < 2:
        return float("nan")
    near = nearest > 0
    terms = int(np.maximum(near.sum(axis=1) - 1, 0).sum())
    rows = near[:, -1]
    positive = np.where(near[rows], nearest[rows], nearest[rows, -1:])
    logs = _log_quotients(nearest[rows, -1:], positive)
    return _ratio(terms, float(logs.sum())) if terms else float("nan")


def _log_ratios(nearest: Array) -> Array:
    """Return log(r₂ / r₁) of the first two positive distances, for every point that has them."""
    first = (nearest == 0).sum(axis=1)
    rows = np.flatnonzero(first + 2 <= nearest.shape[1])
    return _log_quotients(nearest[rows, first[rows] + 1], nearest[rows, first[rows]])


def _log_quotients(far: Array, near: Array) -> Array:
    """Return log(s / r), also where s / r is larger than any double."""
    with np.errstate(over="ignore"):
        quotients = far / near
    return np.where(np.isfinite(quotients), np.log(quotients), np.log(far) - np.log(near))


def _ratio(count: int, total: float) -> float:
    return count / total if total > 0 else float("inf")


SEARCHED = 2000  # largest number of points; of more, a random sample
WORK = 4e8  # largest number of multiplications for their distances
FEWEST = 100  # number of points however many columns they have
NEIGHBORS = 10
TRUSTED = 10  # largest dimension for which samples of usual sizes are dense enough
ENDLESS = 1e9  # dimensions: distances to neighbors then differ by rounding only


def estimates(evidence: Evidence) -> dict[str, RuleVerdict | NotApplicable]:
    """Return both estimates from one search for neighbors, among all points or a sample."""
    rows = evidence.sample(max(min(SEARCHED, int(math.sqrt(WORK / max(evidence.width, 1)))), FEWEST))
    if evidence.nearest is None or len(rows) < 4:
        reason = NotApplicable("it needs four points or more with distances between them")
        return {"two_nn": reason, "maximum_likelihood": reason}
    nearest = evidence.nearest(rows, min(NEIGHBORS, len(rows) - 1))
    nearest = nearest[np.isfinite(nearest).all(axis=1)]  # not those of small pieces of a graph
    if len(nearest) < 4:
        reason = NotApplicable("it needs four points or more with neighbors that paths lead to")
        return {"two_nn": reason, "maximum_likelihood": reason}
    seen = {"points": len(nearest), "sampled": len(rows) < evidence.size}
    first, error = two_nn(nearest), two_nn_error(nearest)
    value, neighbors = maximum_likelihood(nearest), nearest.shape[1]
    return {"two_nn": axes_verdict(
                first, "The intrinsic dimension by the ratio of second to first neighbor distances (TwoNN).",
                f"{first:.2f}, standard error {error:.2f}", {"estimate": first, "estimate_se": error, **seen}),
            "maximum_likelihood": axes_verdict(
                value, "The intrinsic dimension by maximum likelihood (Levina and Bickel).",
                f"{value:.2f} from {neighbors} neighbors", {"estimate": value, "neighbors": neighbors, **seen})}


def axes_verdict(value: float, rule: str, detail: str,
                 figures: dict[str, float | int | bool]) -> RuleVerdict | NotApplicable:
    """Return an estimate as a whole number of axes, at least one."""
    if not value < ENDLESS:
        return NotApplicable("too many distances to neighbors are equal")
    doubt = f"above {TRUSTED} it is only a lower bound: no sample is dense enough" if value > TRUSTED else ""
    return RuleVerdict(max(round(value), 1), rule, detail, figures, doubt)
