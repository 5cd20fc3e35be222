"""Variables on the axes of an ordination: numbers as vectors, factors as centroids, and scores of species."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.core.permutations import Permutations

FLAT = 1e-12  # singular value of the axes, relative to the largest, up to which they have no such direction
AT_ONCE = 2**22  # numbers of the permuted variables that are held together


@frozen
class Vector:
    """A variable of numbers fitted to axes."""

    direction: Array  # p, of length one: the direction in which it increases most
    r2: float  # squared correlation of the variable with its fitted values
    p_value: float

    @property
    def arrow(self) -> Array:
        """The arrow (p): the direction times the correlation, as it is drawn."""
        return self.direction * np.sqrt(self.r2)


@frozen
class Centroids:
    """A factor fitted to axes: the means of its levels."""

    means: Array  # levels x p
    r2: float  # share of the sum of squares of the axes that lies between levels
    p_value: float


def fit_vector(axes: Array, values: Array, permutations: Permutations, strata: Indices | None = None,
               weights: Array | None = None) -> Vector:
    """Regress a variable (n) on axes (n x p), as vegan's `vectorfit`; rows may have weights (n).

    The variable is permuted. r² is NaN, and so is the p-value, where the variable is constant.
    """
    given, weights = weights, np.ones(len(axes)) if weights is None else weights
    left, sizes, right = np.linalg.svd(_weighted(axes, weights), full_matrices=False)
    kept = sizes > FLAT * sizes.max(initial=0.0)
    basis, back = left[:, kept], right[kept].T / sizes[kept]
    centered = _weighted(values[:, None], weights)
    slopes = back @ (basis.T @ centered[:, 0])
    (r2,), length = _shares(basis, centered), float(np.linalg.norm(slopes))
    if np.ptp(values) == 0:
        return Vector(np.zeros(axes.shape[1]), float("nan"), float("nan"))
    size = float(centered[:, 0] @ centered[:, 0])

    def statistics(orders: Indices) -> Array:
        """Return r² (b x 1) for orders (b x n) of the variable; without weights its mean and size stay."""
        if given is None:
            return np.asarray(((centered[orders, 0] @ basis) ** 2).sum(axis=1, keepdims=True) / size)
        return _shares(basis, _weighted(values[orders].T, weights))[:, None]

    (p_value,) = permutations.p_values(np.array([r2]), statistics, len(axes), strata=strata,
                                       most=max(1, AT_ONCE // len(axes)))
    return Vector(slopes / (length or 1.0), float(r2), float(p_value))


def _weighted(columns: Array, weights: Array) -> Array:
    """Return columns (n x q) less their weighted means, times the roots of the weights (n)."""
    means = weights @ columns / weights.sum()
    return np.asarray(np.sqrt(weights)[:, None] * (columns - means))


def _shares(basis: Array, columns: Array) -> Array:
    """Return the squared correlations (q) of columns (n x q) with their projections on a basis (n x p)."""
    fitted = basis @ (basis.T @ columns)
    fitted, columns = fitted - fitted.mean(axis=0), columns - columns.mean(axis=0)
    sizes = (fitted**2).sum(axis=0) * (columns**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((fitted * columns).sum(axis=0) ** 2 / sizes)


def fit_centroids(axes: Array, codes: Indices, levels: int, permutations: Permutations,
                  strata: Indices | None = None, weights: Array | None = None) -> Centroids:
    """Average axes (n x p) over the levels of a factor, codes (n) from 0, as vegan's `factorfit`, weighted or not.

    The factor is permuted. r² is NaN where there is one level alone, or all rows are in one place.
    """
    weights = np.ones(len(axes)) if weights is None else weights
    centered = axes - weights @ axes / weights.sum()
    moments, total = weights[:, None] * centered, float((weights[:, None] * centered**2).sum())

    def sums(orders: Indices, amounts: Array) -> Array:
        """Return the sums of amounts (n) over the levels (b x levels) for orders (b x n) of the factor."""
        places = (codes[orders] + levels * np.arange(len(orders))[:, None]).ravel()
        added = np.bincount(places, np.tile(amounts, len(orders)), minlength=levels * len(orders))
        return np.asarray(added.reshape(len(orders), levels))

    def between(orders: Indices) -> Array:
        """Return the share of squares between levels (b) for orders (b x n) of the factor."""
        sizes, squares = sums(orders, weights), sum(sums(orders, moment) ** 2 for moment in moments.T)
        return np.asarray((squares / sizes).sum(axis=1) / total)

    own = np.arange(len(axes))[None, :]
    means = np.stack([sums(own, weights * axis)[0] for axis in axes.T], axis=1) / sums(own, weights).T
    if levels < 2 or not total > 0:
        return Centroids(means, float("nan"), float("nan"))
    observed = between(own)
    (p_value,) = permutations.p_values(observed, lambda orders: between(orders)[:, None], len(axes), strata=strata,
                                       most=max(1, AT_ONCE // len(axes)))
    return Centroids(means, float(observed[0]), float(p_value))


def weighted_averages(axes: Array, amounts: Array, *, expand: bool = False) -> Array:
    """Return the means of axes (n x p) weighted by each species' amounts (n x s), an (s, p) array: vegan's wascores.

    With `expand` they are spread so that on each axis their weighted variance is that of the sites, as weights the
    totals of species and sites. A species without any amount has NaN.
    """
    totals = amounts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.asarray(amounts.T @ axes / totals[:, None])
    if not expand:
        return scores
    there, sites = totals > 0, amounts[:, totals > 0].sum(axis=1)
    spread, own = _variances(axes, sites)[1], _variances(scores[there], totals[there])
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(own[1] > 0, np.sqrt(spread / own[1]), 1.0)
    scores[there] = own[0] + (scores[there] - own[0]) * factors
    return scores


def _variances(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return weighted means and variances (p each) of columns (m x p) by weights (m), as `cov.wt` with method ML."""
    weights = weights / weights.sum()
    means = weights @ values
    return means, weights @ (values - means) ** 2


def correlations(axes: Array, amounts: Array) -> Array:
    """Return Pearson's correlations (s x p) of the amounts of species (n x s) with axes (n x p); NaN for a constant."""
    left, right = amounts - amounts.mean(axis=0), axes - axes.mean(axis=0)
    sizes = np.linalg.norm(left, axis=0)[:, None] * np.linalg.norm(right, axis=0)
    constant = (np.ptp(amounts, axis=0) == 0)[:, None] | (np.ptp(axes, axis=0) == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(constant, np.nan, left.T @ right / sizes)
