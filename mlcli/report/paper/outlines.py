"""Outlines of groups: the ellipse of a normal distribution, or the convex hull."""

import numpy as np

from mlcli.base.types import Array
from mlcli.config.drawing import Ellipses, Hulls, NoOutlines

CORNERS = 120  # corners of an ellipse
FEWEST = 3  # fewest points that span an area


def outline(points: Array, kind: NoOutlines | Ellipses | Hulls) -> Array | None:
    """Return a closed curve around points, an (m, 2) array; None where they lie on a line, or there is no outline."""
    if isinstance(kind, NoOutlines) or len(points) < FEWEST or np.linalg.matrix_rank(points - points.mean(axis=0)) < 2:
        return None
    return ellipse(points, kind.level) if isinstance(kind, Ellipses) else hull(points)


def ellipse(points: Array, level: float) -> Array:
    """Return the contour at Mahalanobis distance √(2 F), F the quantile of F(2, n - 1) at the level (Fox, 2016).

    `points` is an (n, 2) array; returns a (c, 2) array.
    """
    from scipy.stats import f

    radius = np.sqrt(2 * f.ppf(level, 2, len(points) - 1))
    turns = np.linspace(0, 2 * np.pi, CORNERS + 1)
    factor = np.linalg.cholesky(np.cov(points.T))
    return np.asarray(points.mean(axis=0) + radius * np.column_stack([np.cos(turns), np.sin(turns)]) @ factor.T)


def hull(points: Array) -> Array:
    """Return the corners of the convex hull of an (m, 2) array, the first one again at the end."""
    from scipy.spatial import ConvexHull

    corners = ConvexHull(points).vertices
    return points[np.append(corners, corners[0])]
