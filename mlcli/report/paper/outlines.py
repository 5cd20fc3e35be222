"""What surrounds the points of a group: the ellipse of a normal distribution, or the convex hull."""

import numpy as np

from mlcli.base.types import Array
from mlcli.config.drawing import Ellipses, Hulls, NoOutlines

CORNERS = 120  # of an ellipse
FEWEST = 3  # points that span an area


def outline(points: Array, kind: NoOutlines | Ellipses | Hulls) -> Array | None:
    """A closed curve around points of the plane (m x 2); None where they lie on a line, or none is asked for."""
    if isinstance(kind, NoOutlines) or len(points) < FEWEST or np.linalg.matrix_rank(points - points.mean(axis=0)) < 2:
        return None
    return ellipse(points, kind.level) if isinstance(kind, Ellipses) else hull(points)


def ellipse(points: Array, level: float) -> Array:
    """The contour at Mahalanobis distance √(2 F) with F the quantile of F(2, n - 1) at the level (Fox, 2016)."""
    from scipy.stats import f

    radius = np.sqrt(2 * f.ppf(level, 2, len(points) - 1))
    turns = np.linspace(0, 2 * np.pi, CORNERS + 1)
    factor = np.linalg.cholesky(np.cov(points.T))
    return np.asarray(points.mean(axis=0) + radius * np.column_stack([np.cos(turns), np.sin(turns)]) @ factor.T)


def hull(points: Array) -> Array:
    """The corners of the convex hull, the first one again at the end."""
    from scipy.spatial import ConvexHull

    corners = ConvexHull(points).vertices
    return points[np.append(corners, corners[0])]
