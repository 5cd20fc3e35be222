"""The spatial median: the point with the least sum of distances to given points."""

import numpy as np

from mlcli.base.types import Array

WARM, ROUNDS = 60, 200
ROUNDING = 2.0**-50  # of the sum of distances
SMALL = 1e-14  # step over the spread of the points at which it has converged


def spatial_median(points: Array) -> Array:
    """Return the spatial median (d) of points (m x d) by Newton's method, to rounding.

    The objective is convex. Where many points have the least sum, as between two points, it is the one that is reached
    from the medians of the columns (Weber's problem; Vardi and Zhang, 2000).
    """
    middle = np.median(points, axis=0)
    if len(points) < 3:
        return np.asarray(points.mean(axis=0))
    origin = points.mean(axis=0)
    _, _, frame = np.linalg.svd(points - origin, full_matrices=False)  # all directions of the points
    own, here = (points - origin) @ frame.T, (middle - origin) @ frame.T
    spread = float(np.abs(own).max())
    if not spread:
        return np.asarray(origin)
    at = _best_point(own)
    if at is not None:
        return np.asarray(origin + at @ frame)
    for _ in range(WARM):  # to where Newton's method converges; the median is none of the points, but may be near one
        here = _weiszfeld_step(own, here, spread)
    for _ in range(ROUNDS):
        offsets = here - own
        lengths = np.linalg.norm(offsets, axis=1)
        if lengths.min() <= SMALL * spread:
            here = _weiszfeld_step(own, here, spread)
            continue
        units = offsets / lengths[:, None]
        slope = units.sum(axis=0)
        curvature = np.eye(len(slope)) * (1 / lengths).sum() - units.T @ (units / lengths[:, None])
        step = np.linalg.lstsq(curvature, -slope, rcond=1e-13)[0]
        size, now = 1.0, float(lengths.sum()) * (1 + ROUNDING)
        while size > SMALL and np.linalg.norm(here + size * step - own, axis=1).sum() > now:
            size /= 2
        here = here + size * step
        if np.linalg.norm(size * step) <= SMALL * spread:
            break
    return np.asarray(origin + here @ frame)


def _best_point(points: Array) -> Array | None:
    """Return the given point (d) that is the median, if one is: the pull of the others is no larger than its own."""
    from scipy.spatial.distance import cdist

    apart = cdist(points, points)
    best = int(np.argmin(apart.sum(axis=1)))
    far = apart[best] > 0
    pull = ((points[far] - points[best]) / apart[best][far][:, None]).sum(axis=0)
    return points[best] if np.linalg.norm(pull) <= np.sum(~far) else None


def _weiszfeld_step(points: Array, here: Array, spread: float) -> Array:
    """Return a place (d) of a smaller sum of distances than `here` (d), which may be a given point."""
    lengths = np.linalg.norm(points - here, axis=1)
    far = lengths > SMALL * spread
    weights = 1 / lengths[far]
    target = (weights[:, None] * points[far]).sum(axis=0) / weights.sum()
    pull = float(np.linalg.norm(((points[far] - here) * weights[:, None]).sum(axis=0)))
    share = min(1.0, np.sum(~far) / pull) if pull else 1.0
    return np.asarray((1 - share) * target + share * here)
