"""Intrinsic dimension of the input as a number of axes: TwoNN and maximum likelihood."""

import math

import numpy as np

from mlcli.base.types import Array
from mlcli.findings.dimension.neighbor_growth import maximum_likelihood, two_nn, two_nn_error
from mlcli.findings.dimension.verdict import Evidence, NotApplicable, Verdict

EXACT = 2000  # largest number of points; of more, a random sample
WORK = 4e8  # largest number of multiplications for their distances
FEWEST = 100  # number of points however many columns they have
NEIGHBORS = 10
TRUSTED = 10  # largest dimension for which samples of usual sizes are dense enough
MOST = 1e9  # dimensions: distances to neighbors then differ by rounding only


def estimates(evidence: Evidence) -> dict[str, Verdict | NotApplicable]:
    """Return both estimates from one search for neighbors, among all points or a sample."""
    rows = evidence.sample(max(min(EXACT, int(math.sqrt(WORK / max(evidence.width, 1)))), FEWEST))
    if evidence.nearest is None or len(rows) < 4:
        reason = NotApplicable("it needs four points or more with distances between them")
        return {"two_nn": reason, "maximum_likelihood": reason}
    nearest = evidence.nearest(rows, min(NEIGHBORS, len(rows) - 1))
    nearest = nearest[np.isfinite(nearest).all(axis=1)]  # not those of small pieces of a graph
    if len(nearest) < 4:
        reason = NotApplicable("it needs four points or more with neighbors that paths lead to")
        return {"two_nn": reason, "maximum_likelihood": reason}
    seen = {"points": len(nearest), "sampled": len(rows) < evidence.size}
    return {"two_nn": two_nn_verdict(nearest, seen), "maximum_likelihood": likelihood_verdict(nearest, seen)}


def two_nn_verdict(nearest: Array, seen: dict[str, int | bool]) -> Verdict | NotApplicable:
    """Return the estimate from the first two neighbors; `nearest` is an (m, k) array of distances."""
    value, error = two_nn(nearest), two_nn_error(nearest)
    return axes_verdict(value, "The intrinsic dimension by the ratio of second to first neighbor distances (TwoNN).",
                        f"{value:.2f}, standard error {error:.2f}", {"estimate": value, "estimate_se": error, **seen})


def likelihood_verdict(nearest: Array, seen: dict[str, int | bool]) -> Verdict | NotApplicable:
    """Return the estimate from all neighbors; `nearest` is an (m, k) array of distances."""
    value, neighbors = maximum_likelihood(nearest), nearest.shape[1]
    return axes_verdict(value, "The intrinsic dimension by maximum likelihood (Levina and Bickel).",
                        f"{value:.2f} from {neighbors} neighbors", {"estimate": value, "neighbors": neighbors, **seen})


def axes_verdict(value: float, rule: str, detail: str,
                 figures: dict[str, float | int | bool]) -> Verdict | NotApplicable:
    """Return an estimate as a whole number of axes, at least one."""
    if not value < MOST:
        return NotApplicable("too many distances to neighbors are equal")
    doubt = f"above {TRUSTED} it is only a lower bound: no sample is dense enough" if value > TRUSTED else ""
    return Verdict(max(round(value), 1), rule, detail, figures, doubt)
