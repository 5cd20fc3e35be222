"""Intrinsic dimension of the input as a count of axes: TwoNN and maximum likelihood."""

import math

from mlcli.base.types import Array
from mlcli.findings.dimension.neighbor_growth import maximum_likelihood, two_nn, two_nn_error
from mlcli.findings.dimension.verdict import Evidence, LeftOut, Verdict

EXACT = 2000  # points that are used; of more, so many at random
WORK = 4e8  # multiplications that their distances may take
FEWEST = 100  # points that are used however many columns they have
NEIGHBORS = 10
TRUSTED = 10  # dimensions up to which samples of usual sizes are dense enough
MOST = 1e9  # dimensions: distances to neighbors then differ by rounding only


def estimates(evidence: Evidence) -> dict[str, Verdict | LeftOut]:
    """Both estimates from one search for neighbors, among the points used."""
    rows = evidence.sample(max(min(EXACT, int(math.sqrt(WORK / max(evidence.width, 1)))), FEWEST))
    if evidence.nearest is None or len(rows) < 4:
        reason = LeftOut("it needs four points or more with distances between them")
        return {"two_nn": reason, "maximum_likelihood": reason}
    nearest = evidence.nearest(rows, min(NEIGHBORS, len(rows) - 1))
    seen = {"points": len(nearest), "sampled": len(rows) < evidence.size}
    return {"two_nn": by_two(nearest, seen), "maximum_likelihood": by_likelihood(nearest, seen)}


def by_two(nearest: Array, seen: dict[str, int | bool]) -> Verdict | LeftOut:
    """The estimate from the first two neighbors."""
    value, error = two_nn(nearest), two_nn_error(nearest)
    return rounded(value, "The intrinsic dimension by the ratio of second to first neighbor distances (TwoNN).",
                   f"{value:.2f}, standard error {error:.2f}", {"estimate": value, "estimate_se": error, **seen})


def by_likelihood(nearest: Array, seen: dict[str, int | bool]) -> Verdict | LeftOut:
    """The estimate from all neighbors."""
    value, neighbors = maximum_likelihood(nearest), nearest.shape[1]
    return rounded(value, "The intrinsic dimension by maximum likelihood (Levina and Bickel).",
                   f"{value:.2f} from {neighbors} neighbors", {"estimate": value, "neighbors": neighbors, **seen})


def rounded(value: float, rule: str, detail: str, figures: dict[str, float | int | bool]) -> Verdict | LeftOut:
    """An estimate as a whole number of axes, one at least."""
    if not value < MOST:
        return LeftOut("the distances to neighbors have no ratios to go by: too many are equal")
    doubt = f"above {TRUSTED} no sample is dense enough, so it only says: at least" if value > TRUSTED else ""
    return Verdict(max(round(value), 1), rule, detail, figures, doubt)
