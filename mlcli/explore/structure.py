"""Structure of columns of numbers, by statistics before any method is tried: none at all, groups, or factors.

All statistics are computed from a seeded sample of the rows, and compared with a reference without structure: columns
that are permuted each by itself (Buja and Eyuboglu, 1992), or one normal cloud of the same covariance.
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
from mlcli.core.iterate import Iterate
from mlcli.explore.verdict import FAR, FactorEvidence, SeparateGroups, Structure
from mlcli.findings.dimension.evidence import count_leading
from mlcli.findings.dimension.spectral import permuted_replicate
from mlcli.methods.factors.factor_analysis import Bounds, ColumnCovariance, equal_noise, maximum_likelihood

MOST_ROWS = 20_000  # largest number of rows for a factor model
ROWS, FEWEST = 500, 20  # largest and smallest number of rows for all other statistics
WORK = 5e7  # largest number of products for all distances between these rows
REPLICATES = 20  # copies without structure
NEAR = 5  # the neighbor whose distance measures density
MOST_GROUPS, STARTS = 8, 5
AXES = 10  # number of principal axes in the search for groups
SMALLEST = 0.05  # smallest share of the points in a group
APART = 0.5  # smallest silhouette of separate groups (Kaufman and Rousseeuw, 1990)
VALLEY = 0.25  # largest density between separate groups, relative to that at their centers
FACTOR_COLUMNS = 60
ROWS_TO_COLUMN = 5  # fewest rows for each column in a comparison of factor models
SURE = 10.0  # difference of BIC that is very strong evidence (Raftery, 1995)
LOWER = 0.005  # smallest share of a column's own noise in its variance


def structure_of(data: Input, seed: np.random.Generator) -> Structure | None:
    """Return statistics of columns in a Euclidean space; None for too few rows or columns, or rows in blocks."""
    if rows_of(data.values) is not None:
        return None
    values = sample_rows(data.values, MOST_ROWS, seed)
    values = values[:, values.std(axis=0) > 0]
    rows, columns = values.shape
    count = min(rows, ROWS, int(np.sqrt(WORK / max(columns, 1))))
    if count < FEWEST or columns < 2:
        return None
    part = sample_rows(values, count, seed)
    part = (part - part.mean(axis=0)) / part.std()
    axes, nearer = axes_above(part, seed), nearer_than_permuted(part, seed)
    groups = groups_of(part, seed)
    factors = None if groups else factors_of(values)
    return Structure(len(part), axes, nearer, groups, factors)


def sample_rows(values: Array, most: int, seed: np.random.Generator) -> Array:
    """Return all rows of an (n, d) array, or a sample of `most`, an (m, d) array."""
    if len(values) <= most:
        return values
    return values[np.sort(seed.choice(len(values), most, replace=False))]


def axes_above(part: Array, seed: np.random.Generator) -> int:
    """Return the number of leading eigenvalues above those of the same columns permuted (parallel analysis).

    `part` is an (n, d) array with centered columns.
    """
    replicate = permuted_replicate(part)
    null = np.array([replicate(seed) for _ in range(REPLICATES)])
    own = np.linalg.svd(part, compute_uv=False) ** 2
    return count_leading(own > null.mean(axis=0) + FAR * null.std(axis=0))


def nearer_than_permuted(part: Array, seed: np.random.Generator) -> float:
    """Return by how much neighbors are nearer than in copies with permuted columns, in their standard deviations.

    `part` is an (n, d) array. The mean logarithm of these distances is an estimate of the entropy (Kozachenko and
    Leonenko, 1987), and entropy is largest where columns are independent.
    """
    null = np.array([spread_of(seed.permuted(part, axis=0)) for _ in range(REPLICATES)])
    return float((null.mean() - spread_of(part)) / max(null.std(), np.finfo(float).tiny))


def spread_of(points: Array) -> float:
    """Return the mean logarithm of the distance to a near neighbor; `points` is an (n, d) array."""
    near = np.partition(cdist(points, points), min(NEAR, len(points) - 1), axis=1)[:, min(NEAR, len(points) - 1)]
    return float(np.log(near[near > 0]).mean()) if (near > 0).any() else -np.inf


def groups_of(part: Array, seed: np.random.Generator) -> SeparateGroups | None:
    """Return the groups with the largest silhouette, with the fewest axes that separate them; None for no groups.

    `part` is an (n, d) array with centered columns.
    """
    turned, deviations, _ = np.linalg.svd(part, full_matrices=False)
    points = (turned * deviations)[:, :AXES]
    found = [(silhouette(points, codes), codes) for count in range(2, MOST_GROUPS + 1)
             if (codes := cluster(points, count, seed)) is not None]
    if not found:
        return None
    best, codes = max(found, key=lambda one: one[0])
    count = int(codes.max()) + 1
    if best < APART or not are_separate(points, codes):
        return None
    references = [silhouette(drawn, other) for drawn in clouds(points, seed)
                  if (other := cluster(drawn, count, seed)) is not None]
    if references and best <= max(references):
        return None
    centers = np.array([part[codes == code].mean(axis=0) for code in range(count)])
    enough = next(axes for axes in range(1, points.shape[1] + 1)
                  if axes == points.shape[1] or (silhouette(points[:, :axes], codes) >= best
                                                 and are_separate(points[:, :axes], codes)))  # as separate as on all
    return SeparateGroups(count, best, max(references, default=0.0), enough, axes_above(part - centers[codes], seed))


def clouds(points: Array, seed: np.random.Generator) -> Iterator[Array]:
    """Yield normal clouds of the shape of `points`, an (n, d) array, with the same variances along each axis."""
    for _ in range(REPLICATES // 2):
        yield seed.standard_normal(points.shape) * points.std(axis=0)


def cluster(points: Array, count: int, seed: np.random.Generator) -> Indices | None:
    """Return the codes of k-means with the least sum of squares of a few starts; None where a group is very small.

    `points` is an (n, d) array; returns an (n,) array.
    """
    found = [kmeans2(points, count, minit="++", seed=seed) for _ in range(STARTS)]
    codes: Indices = min(found, key=lambda one: float(((points - one[0][one[1]]) ** 2).sum()))[1]
    small = np.bincount(codes, minlength=count).min() < max(SMALLEST * len(points), 2)
    return None if small else codes


def silhouette(points: Array, codes: Indices) -> float:
    """Return the mean of (b - a) / max(a, b) over all points (Rousseeuw, 1987).

    `points` is an (n, d) array, `codes` an (n,) array.
    """
    apart_by, counts = cdist(points, points), np.bincount(codes)
    totals = np.stack([apart_by[:, codes == code].sum(axis=1) for code in range(len(counts))], axis=1)
    own = np.arange(len(points))
    inside = totals[own, codes] / np.maximum(counts[codes] - 1, 1)
    means = totals / counts
    means[own, codes] = np.inf
    nearest = means.min(axis=1)
    return float(((nearest - inside) / np.maximum(np.maximum(nearest, inside), np.finfo(float).tiny)).mean())


def are_separate(points: Array, codes: Indices) -> bool:
    """Whether hardly a point lies between any group and the nearest one, nor between two that share neighbors.

    `points` is an (n, d) array, `codes` an (n,) array. So the parts into which k-means cuts one curve or one sheet are
    no groups.
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
    """Return the density halfway between the centers of two groups, relative to the mean of those at the centers.

    `points` is an (n, d) array, `codes` an (n,) array.
    """
    centers = [points[codes == code].mean(axis=0) for code in (one, other)]
    across = centers[1] - centers[0]
    both = points[(codes == one) | (codes == other)]
    places = 2 * (both - centers[0]) @ across / (across @ across) - 1  # -1 and 1 at the centers
    at_centers = np.count_nonzero(np.abs(np.abs(places) - 1) < 1 / 3) / 2
    return float(np.count_nonzero(np.abs(places) < 1 / 3) / max(at_centers, 1))


def factors_of(values: Array) -> FactorEvidence | None:
    """Return the number of factors with the smallest BIC, where each column's own noise explains the covariance best.

    That is better than with one noise for all columns (probabilistic PCA) with any number of axes, than independent
    columns, and than any covariance. `values` is an (n, d) array.
    """
    rows, columns = values.shape
    if columns > FACTOR_COLUMNS or rows < ROWS_TO_COLUMN * columns:
        return None
    covariance = np.cov(values.T, bias=True)
    covariance /= np.trace(covariance) / columns
    variances = np.diag(covariance)
    if variances.min() < np.finfo(float).eps * columns:
        return None
    standard = ColumnCovariance(covariance / np.sqrt(np.outer(variances, variances)))
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
        if (columns - count) ** 2 <= columns + count:  # no degrees of freedom remain
            break
        with no_listeners():
            found = maximum_likelihood(standard, count, bounds, Iterate()).state
        own[count] = bic(found.f + shift, columns + loadings(count))
        if count > 1 and own[count] > own[count - 1] > own[count - 2]:
            break
    best = min(own, key=lambda count: own[count])
    equal = min(bic(equal_noise(ColumnCovariance(covariance), count).f, 1 + loadings(count))
                for count in range(1, columns))
    free = bic(standard.log_determinant + shift + columns, columns * (columns + 1) // 2)
    others = min(equal, free, own[0])
    if not best or own[best] >= others - SURE:
        return None
    return FactorEvidence(count=best, bic=own[best], equal=equal, free=free)
