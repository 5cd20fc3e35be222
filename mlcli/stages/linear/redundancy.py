"""Redundancy analysis: principal axes of what constraints explain of the columns, and of the residuals."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import running
from mlcli.base.types import AnyArray, Array
from mlcli.stages.algebra.linalg import singular
from mlcli.stages.linear.constraints import Constraints
from mlcli.stages.linear.whitening import Extent, centered_columns, negligible


@frozen
class Redundancy:
    """Constrained axes, then unconstrained ones."""

    means: Array  # d
    squares: Array  # r + s: sums of squares along the axes, those of the constrained ones first, each part descending
    constrained: AnyArray  # r + s, whether an axis is
    directions: Array  # d x (r + s), of length one
    combinations: Array  # n x (r + s): linear combinations of the constraints; of unconstrained axes the residuals
    sums: Array  # n x (r + s): weighted sums of the columns
    units: Array  # n x r: the combinations with length one
    rest: Array  # n x d: the columns without the condition
    total: float  # sum of squares of the centered columns


def redundancy(points: Array, found: Constraints) -> Redundancy:
    """Return the redundancy analysis of points (n x d) by constraints (van den Wollenberg; Legendre and Legendre).

    With an orthonormal basis Q of the constraints the fitted values are Q Qᵀ X, whose axes follow from Qᵀ X (q x d).
    """
    with running("eigensolve"):
        means, centered = centered_columns(points)
        rest = found.conditioned(centered)
        explained = found.basis.T @ rest
        left, sizes, right = singular(explained)
        scores, spread, turn = singular(rest - found.basis @ explained)
        floor = negligible(Extent.of(points), np.ones(points.shape[1]),
                           float(max(sizes.max(initial=0.0), spread.max(initial=0.0))))
        first, second = int(np.sum(sizes > floor)), int(np.sum(spread > floor))
        units = found.basis @ left[:, :first]
        directions = np.hstack([right[:first].T, turn[:second].T])
        outside = scores[:, :second] * spread[:second]
        return Redundancy(
            means=means, squares=np.concatenate([sizes[:first], spread[:second]]) ** 2,
            constrained=np.arange(first + second) < first, directions=directions,
            combinations=np.hstack([units * sizes[:first], outside]),
            sums=np.hstack([rest @ right[:first].T, outside]), units=units, rest=rest,
            total=float(np.sum(centered**2)))
