"""Numbers fitted to an ordination as vectors, and factors as centroids, with the share that the axes explain."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.stages.relation.permutations import Permutations

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
    weights = np.ones(len(axes)) if weights is None else weights
    left, sizes, right = np.linalg.svd(_weighted(axes, weights), full_matrices=False)
    kept = sizes > FLAT * sizes.max(initial=0.0)
    basis, back = left[:, kept], right[kept].T / sizes[kept]
    centered = _weighted(values[:, None], weights)
    slopes = back @ (basis.T @ centered[:, 0])
    (r2,), length = _shares(basis, centered), float(np.linalg.norm(slopes))
    if np.ptp(values) == 0:
        return Vector(np.zeros(axes.shape[1]), float("nan"), float("nan"))
    (p_value,) = permutations.p_values(
        np.array([r2]), lambda orders: _shares(basis, _weighted(values[orders].T, weights))[:, None], len(axes),
        strata=strata, most=max(1, AT_ONCE // len(axes)))
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
    member = np.zeros((len(axes), levels))
    member[np.arange(len(axes)), codes] = 1.0

    def between(orders: Indices) -> Array:
        """Return the share of squares between levels (b) for orders (b x n) of the factor."""
        permuted = member[orders]  # b x n x levels
        sums = np.einsum("bnl,np->blp", permuted, moments, optimize=True)
        sizes = weights @ permuted
        return np.asarray(((sums**2).sum(axis=2) / sizes).sum(axis=1) / total)

    means = (member.T @ (weights[:, None] * axes)) / (weights @ member)[:, None]
    if levels < 2 or not total > 0:
        return Centroids(means, float("nan"), float("nan"))
    observed = between(np.arange(len(axes))[None, :])
    (p_value,) = permutations.p_values(observed, lambda orders: between(orders)[:, None], len(axes), strata=strata,
                                       most=max(1, AT_ONCE // (len(axes) * levels)))
    return Centroids(means, float(observed[0]), float(p_value))
