"""Structure of columns of numbers that statistics state before any method is tried: none at all, groups, or factors.

All are seen from a seeded sample of the rows, and compared with a reference that has no such structure: columns that
are permuted each by itself (Buja and Eyuboglu, 1992), or one normal cloud of the same covariance.
"""

from collections.abc import Iterator

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Input
from mlcli.explore.report.verdict import FAR, Factors, Groups, Structure
from mlcli.findings.dimension.parallel import permuted
from mlcli.findings.dimension.verdict import leading
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.latent.factor_analysis import Bounds, Whole, equal_noise, maximum_likelihood

MOST_ROWS = 20_000  # of which a factor model is fitted
ROWS, FEWEST = 500, 20  # rows that are looked at for all else, and fewer than which say nothing
WORK = 5e7  # products of numbers that all distances between these rows take, at most
REPLICATES = 20  # copies without structure
NEAR = 5  # the neighbor whose distance says how dense points lie
MOST_GROUPS, STARTS = 8, 5
AXES = 10  # principal axes in which groups are looked for
SMALLEST = 0.05  # share of the points that a group has at least
APART = 0.5  # silhouette from which on groups count as apart (Kaufman and Rousseeuw, 1990)
VALLEY = 0.25  # density between two groups, as a share of that at their centers, up to which they are apart
FACTOR_COLUMNS = 60
ROWS_TO_COLUMN = 5  # rows for each column that a factor model is compared with others at
SURE = 10.0  # difference of BIC that is very strong evidence (Raftery, 1995)
LOWER = 0.005  # smallest share of a column's variance that is its own


def structure_of(data: Input, seed: np.random.Generator) -> Structure | None:
    """The statistics of columns that are compared by Euclidean distances; None where there is too little to see."""
    if rows_of(data.values) is not None:
        return None
    values = some(data.values, MOST_ROWS, seed)
    values = values[:, values.std(axis=0) > 0]
    rows, columns = values.shape
    count = min(rows, ROWS, int(np.sqrt(WORK / max(columns, 1))))
    if count < FEWEST or columns < 2:
        return None
    part = some(values, count, seed)
    part = (part - part.mean(axis=0)) / part.std()
    axes, nearer = axes_above(part, seed), nearer_than_permuted(part, seed)
    groups = groups_of(part, seed)
    factors = None if groups else factors_of(values)
    return Structure(len(part), axes, nearer, groups, factors)


def some(values: Array, most: int, seed: np.random.Generator) -> Array:
    """All rows, or a sample of so many."""
    if len(values) <= most:
        return values
    return values[np.sort(seed.choice(len(values), most, replace=False))]


def axes_above(part: Array, seed: np.random.Generator) -> int:
    """How many leading eigenvalues lie above those of the same columns permuted (parallel analysis)."""
    replicate = permuted(part)
    null = np.array([replicate(seed) for _ in range(REPLICATES)])
    own = np.linalg.svd(part, compute_uv=False) ** 2
    return leading(own > null.mean(axis=0) + FAR * null.std(axis=0))


def nearer_than_permuted(part: Array, seed: np.random.Generator) -> float:
    """How much nearer neighbors are than in copies with permuted columns, in standard deviations of these.

    The mean logarithm of these distances is an estimate of the entropy (Kozachenko and Leonenko, 1987), and entropy is
    largest where columns are independent.
    """
    null = np.array([spread_of(seed.permuted(part, axis=0)) for _ in range(REPLICATES)])
    return float((null.mean() - spread_of(part)) / max(null.std(), np.finfo(float).tiny))


def spread_of(points: Array) -> float:
    """The mean logarithm of the distance to a near neighbor."""
    near = np.partition(cdist(points, points), min(NEAR, len(points) - 1), axis=1)[:, min(NEAR, len(points) - 1)]
    return float(np.log(near[near > 0]).mean()) if (near > 0).any() else -np.inf


def groups_of(part: Array, seed: np.random.Generator) -> Groups | None:
    """The groups of the largest silhouette, where they lie apart; with the fewest axes that keep them apart."""
    turned, deviations, _ = np.linalg.svd(part, full_matrices=False)
    points = (turned * deviations)[:, :AXES]
    found = [(silhouette(points, codes), codes) for count in range(2, MOST_GROUPS + 1)
             if (codes := clustered(points, count, seed)) is not None]
    if not found:
        return None
    best, codes = max(found, key=lambda one: one[0])
    count = int(codes.max()) + 1
    if best < APART or not apart(points, codes):
        return None
    references = [silhouette(drawn, other) for drawn in clouds(points, seed)
                  if (other := clustered(drawn, count, seed)) is not None]
    if references and best <= max(references):
        return None
    centers = np.array([part[codes == code].mean(axis=0) for code in range(count)])
    enough = next(axes for axes in range(1, points.shape[1] + 1)
                  if axes == points.shape[1] or apart_with(points[:, :axes], codes, best))
    return Groups(count, best, max(references, default=0.0), enough, axes_above(part - centers[codes], seed))


def clouds(points: Array, seed: np.random.Generator) -> Iterator[Array]:
    """Normal clouds of as many points with the same variances along the principal axes."""
    for _ in range(REPLICATES // 2):
        yield seed.standard_normal(points.shape) * points.std(axis=0)


def clustered(points: Array, count: int, seed: np.random.Generator) -> Indices | None:
    """The codes of k-means with the smallest sum of squares of a few starts; None where a group is very small."""
    found = [kmeans2(points, count, minit="++", seed=seed) for _ in range(STARTS)]
    codes: Indices = min(found, key=lambda one: float(((points - one[0][one[1]]) ** 2).sum()))[1]
    small = np.bincount(codes, minlength=count).min() < max(SMALLEST * len(points), 2)
    return None if small else codes


def silhouette(points: Array, codes: Indices) -> float:
    """Rousseeuw's mean of (b - a) / max(a, b) over all points."""
    apart_by, counts = cdist(points, points), np.bincount(codes)
    totals = np.stack([apart_by[:, codes == code].sum(axis=1) for code in range(len(counts))], axis=1)
    own = np.arange(len(points))
    inside = totals[own, codes] / np.maximum(counts[codes] - 1, 1)
    means = totals / counts
    means[own, codes] = np.inf
    nearest = means.min(axis=1)
    return float(((nearest - inside) / np.maximum(np.maximum(nearest, inside), np.finfo(float).tiny)).mean())


def apart_with(points: Array, codes: Indices, whole: float) -> bool:
    """Whether groups are as far apart on fewer axes."""
    return silhouette(points, codes) >= whole and apart(points, codes)


def apart(points: Array, codes: Indices) -> bool:
    """Whether hardly a point lies between any group and the nearest one, nor between two that share neighbors.

    So the parts into which k-means cuts one curve or one sheet are no groups.
    """
    near = cKDTree(points).query(points, min(NEAR + 1, len(points)))[1][:, 1:]
    pairs = {(min(pair), max(pair)) for pair in zip(np.repeat(codes, near.shape[1]).tolist(),
                                                    codes[near].ravel().tolist(), strict=True)}
    for code in range(int(codes.max()) + 1):
        own, others = points[codes == code], np.flatnonzero(codes != code)
        other = int(codes[others[cKDTree(own).query(points[others])[0].argmin()]])
        pairs.add((min(code, other), max(code, other)))
    return all(valley(points, codes, *pair) <= VALLEY for pair in pairs if pair[0] != pair[1])


def valley(points: Array, codes: Indices, one: int, other: int) -> float:
    """The density halfway between the centers of two groups, as a share of the mean of those at the centers."""
    centers = [points[codes == code].mean(axis=0) for code in (one, other)]
    across = centers[1] - centers[0]
    both = points[(codes == one) | (codes == other)]
    places = 2 * (both - centers[0]) @ across / (across @ across) - 1  # -1 and 1 at the centers
    at_centers = np.count_nonzero(np.abs(np.abs(places) - 1) < 1 / 3) / 2
    return float(np.count_nonzero(np.abs(places) < 1 / 3) / max(at_centers, 1))


def factors_of(values: Array) -> Factors | None:
    """The number of factors with the smallest BIC, where each column's own noise explains the covariance best.

    That is better than with one noise for all columns (probabilistic PCA) with any number of axes, than independent
    columns, and than any covariance.
    """
    rows, columns = values.shape
    if columns > FACTOR_COLUMNS or rows < ROWS_TO_COLUMN * columns:
        return None
    covariance = np.cov(values.T, bias=True)
    covariance /= np.trace(covariance) / columns
    variances = np.diag(covariance)
    if variances.min() < np.finfo(float).eps * columns:
        return None
    standard = Whole(covariance / np.sqrt(np.outer(variances, variances)))
    if standard.log_determinant is None:
        return None
    shift = float(np.log(variances).sum())

    def bic(f: float, parameters: int) -> float:
        return float(rows * f + parameters * np.log(rows))

    def loadings(count: int) -> int:
        return columns * count - count * (count - 1) // 2

    own = {0: bic(shift + columns, columns)}
    bounds = Bounds.of(standard, LOWER)
    for count in range(1, columns):
        if (columns - count) ** 2 <= columns + count:  # no degrees of freedom are left
            break
        with no_listeners():
            found = maximum_likelihood(standard, count, bounds, Iterate()).state
        own[count] = bic(found.f + shift, columns + loadings(count))
        if count > 1 and own[count] > own[count - 1] > own[count - 2]:
            break
    best = min(own, key=lambda count: own[count])
    equal = min(bic(equal_noise(Whole(covariance), count).f, 1 + loadings(count)) for count in range(1, columns))
    free = bic(standard.log_determinant + shift + columns, columns * (columns + 1) // 2)
    others = min(equal, free, own[0])
    if not best or own[best] >= others - SURE:
        return None
    return Factors(count=best, bic=own[best], equal=equal, free=free)
