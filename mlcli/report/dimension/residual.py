"""The residual-variance curve: how much of the method's distances more and more axes leave unexplained.

Tenenbaum, de Silva and Langford, 2000: 1 - r² between the distances that the method keeps and those between points on
its first 1, ..., p axes; the curve's elbow is the dimension.
"""

import numpy as np

from mlcli.base.types import Array
from mlcli.report.dimension.spectral import below_chord
from mlcli.report.dimension.verdict import Evidence, LeftOut, Verdict

EXACT = 700  # points whose distances are all compared; of more, so many at random


def residual_variance(evidence: Evidence) -> Verdict | LeftOut:
    """The point of the curve farthest below the chord from no axis, which leaves all, to the last."""
    if evidence.method == "lle":
        return LeftOut("the coordinates of lle have no scale, so their distances mean nothing")
    if evidence.distances is None:
        return LeftOut("the distances that the method keeps are not at hand")
    rows = evidence.sample(EXACT)
    if len(rows) < 3:
        return LeftOut("it needs three points")
    curve = residual_variances(evidence.distances(rows), evidence.axes[rows])
    if not np.isfinite(curve).all():
        return LeftOut("all distances are equal")
    figures = {"residual_variances": curve.tolist(), "points": len(rows), "sampled": len(rows) < len(evidence.axes)}
    rule = "The elbow of the residual variance 1 - r² of the method's distances over the number of axes."
    if len(curve) < 3:
        return Verdict(None, rule, f"{len(curve)} axes are too few for an elbow", figures)
    count = int(below_chord(np.append(1.0, curve)).argmax())
    return Verdict(count or None, rule, f"{curve[count - 1]:.4g} left" if count else "the curve has no elbow", figures)


def residual_variances(distances: Array, axes: Array) -> Array:
    """1 - r² between distances (m x m) and those on the first 1, ..., q of the axes (m x q), off the diagonal."""
    upper = np.triu_indices(len(distances), 1)
    wanted = distances[upper]
    wanted = wanted - wanted.mean()
    squared, curve = np.zeros(len(wanted)), np.empty(axes.shape[1])
    for axis, column in enumerate(axes.T):
        squared += (column[upper[0]] - column[upper[1]]) ** 2
        found = np.sqrt(squared)
        found -= found.mean()
        size = float((found @ found) * (wanted @ wanted))
        curve[axis] = 1 - float(wanted @ found) ** 2 / size if size > 0 else np.nan
    return curve
