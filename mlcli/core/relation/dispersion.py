"""Dispersion of groups: distances of rows to the spatial median or centroid of their group, and the tests of them."""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.core.linalg import symmetric_eigen
from mlcli.core.permutations import Permutations
from mlcli.errors import DataError

WARM, ROUNDS = 60, 200
SUM_ROUNDING = 2.0**-50  # of the sum of distances
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
        size, now = 1.0, float(lengths.sum()) * (1 + SUM_ROUNDING)
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


Center = Literal["median", "centroid"]
FLAT = 2.0**-26  # eigenvalues over the first, up to which they are rounding (vegan's TOL)
ROUNDING = 2.0**-96  # squared deviations within a group over the largest square, up to which they are rounding


@frozen
class Dispersion:
    """Distances to the centers of groups, with the analysis of variance of them."""

    distances: Array  # n
    means: Array  # the mean distance of each group
    freedom: tuple[int, int]  # between groups, and within
    squares: tuple[float, float]
    ratio: float  # F; infinite where distances vary between the groups only, NaN where nowhere
    p_value: float  # NaN where there are no residuals to permute
    pairs: "Sequence[GroupPair]"


@frozen
class GroupPair:
    """Two groups compared: Student's t of their distances, and its p-value by the same permutations.

    Both are NaN where a group has one row, whose variance is not defined, or nothing varies; t is infinite where
    distances vary between the groups only.
    """

    first: int
    second: int
    t: float
    p_value: float


def dispersion(products: Array, codes: Indices, levels: int, center: Center, permutations: Permutations,
               strata: Indices | None = None) -> Dispersion:
    """Return distances of rows to their groups' centers in principal coordinates, as vegan's `betadisper`.

    `products` are centered inner products G (n x n), `codes` the groups (n) from 0. On axes of negative eigenvalues
    squared distances are subtracted. Residuals of the distances are permuted (Anderson, 2006). Raises DataError for
    fewer than two groups, or as many groups as rows.
    """
    if levels < 2 or len(codes) <= levels:
        raise DataError("GROUPS", f"{levels} group{'s' * (levels != 1)} of {len(codes):,} rows: dispersions cannot be "
                        "compared", where="--dispersion", hint="name a factor with at least two levels and more rows")
    distances = distances_to_centers(products, codes, levels, center)
    member = np.asarray(codes[:, None] == np.arange(levels), dtype=np.float64)
    sizes = member.sum(axis=0)
    means = member.T @ distances / sizes
    residuals = distances - means[codes]
    freedom, scale = (levels - 1, len(codes) - levels), float(distances.max(initial=0.0))

    def parts(values: Array) -> tuple[Array, Array]:
        """Return the squares of columns (n x b) between groups, and within."""
        centers = member.T @ values / sizes[:, None]
        grand = values.mean(axis=0)
        within = ((values - centers[codes]) ** 2).sum(axis=0)
        within[within <= ROUNDING * scale**2 * len(codes)] = 0.0
        return (sizes[:, None] * (centers - grand) ** 2).sum(axis=0), within

    def ratios(values: Array) -> Array:
        between, within = parts(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((between / freedom[0]) / (within / freedom[1]))

    (between,), (within,) = parts(distances[:, None])
    observed = ratios(distances[:, None])
    (p_value,) = permutations.p_values(
        observed if within else np.array([np.nan]), lambda orders: ratios(residuals[orders].T)[:, None], len(codes),
        strata=strata)
    pairs = list(combinations(range(levels), 2))

    def students(values: Array) -> Array:
        """Return |t| of every two groups (b x pairs) for columns (n x b)."""
        return np.abs(students_of(values, member, pairs))

    signed = students_of(distances[:, None], member, pairs)[0]
    values = permutations.p_values(np.abs(signed), lambda orders: students(distances[orders].T), len(codes),
                                   strata=strata, slack=0.0)
    return Dispersion(distances, means, freedom, (float(between), float(within)), float(observed[0]), float(p_value),
                      [GroupPair(i, j, float(t), float(p)) for (i, j), t, p in zip(pairs, signed, values, strict=True)])


def students_of(values: Array, member: Array, pairs: Sequence[tuple[int, int]]) -> Array:
    """Return Student's t with a pooled variance (b x pairs) of every two groups, for columns (n x b).

    `member` has a column of ones and zeros for each group. NaN for a group of one row, as in vegan's `permutest`.
    """
    sizes = member.sum(axis=0)
    means = (member.T @ values).T / sizes
    spreads = np.stack([((values - means[:, group]) ** 2 * member[:, group, None]).sum(axis=0)
                        for group in range(member.shape[1])], axis=1)
    spreads[spreads <= ROUNDING * (values**2).max(axis=0)[:, None]] = 0.0
    i, j = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = np.sqrt((spreads[:, i] + spreads[:, j]) / (sizes[i] + sizes[j] - 2))
        found = (means[:, i] - means[:, j]) / (pooled * np.sqrt(1 / sizes[i] + 1 / sizes[j]))
    return np.where((sizes[i] > 1) & (sizes[j] > 1), found, np.nan)


def distances_to_centers(products: Array, codes: Indices, levels: int, center: Center) -> Array:
    """Return the distance (n) of each row to the spatial median or the mean of its group, in principal coordinates."""
    values, vectors = symmetric_eigen(products)
    squared = np.zeros(len(products))
    for sign in (1.0, -1.0):
        kept = sign * values > FLAT * values[0]
        points = vectors[:, kept] * np.sqrt(np.abs(values[kept]))
        for group in range(levels) if kept.any() else ():
            own = points[codes == group]
            middle = own.mean(axis=0) if center == "centroid" else spatial_median(own)
            squared[codes == group] += sign * ((own - middle) ** 2).sum(axis=1)
    if (lost := int(np.sum(squared < 0))):
        note("W-NEGATIVE-SQUARES", f"{lost:,} squared distance{'s' * (lost > 1)} to the centers of groups below zero, "
             "taken as zero: the dissimilarities are not Euclidean", rows=lost)
    return np.sqrt(np.maximum(squared, 0.0))
