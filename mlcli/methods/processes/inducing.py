"""The variational lower bound on the likelihood by inducing points, of latent points or of Gaussian clouds.

With β one over the noise, Ψ₁ = E k(X, Z), Ψ₂ = E k(Z, X) k(X, Z) and ψ₀ = E tr k(X, X), the bound of d columns Y is

    d/2 (n log β/2π + log |K| - log |K + β Ψ₂| - β ψ₀ + β tr K⁻¹ Ψ₂) - β/2 tr Y Yᵀ + β²/2 tr Yᵀ Ψ₁ (K + β Ψ₂)⁻¹ Ψ₁ᵀ Y.

Source: Titsias, "Variational learning of inducing variables in sparse Gaussian processes", 2009; Titsias and Lawrence,
"Bayesian Gaussian process latent variable model", 2010.
"""

from math import log, pi

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.core.linalg import cholesky, lower_solve
from mlcli.methods.processes.covariances import CovarianceFunction
from mlcli.methods.processes.evidence import Observations, Slope, inverse_of, require_inverse, singular
from mlcli.methods.processes.posterior import GaussianProcess

NUGGET = 1e-8  # share of the mean diagonal, added to the diagonal of the inducing points' covariance
ROUNDING = 1e-6  # error allowed in shares of a whole, and in variances in units of the noise


@frozen
class Statistics:
    """The expectations ψ₀, Ψ₁ (n x m) and Ψ₂ (m x m) over the latent points, for a bound."""

    total: float
    crossed: Array
    squared: Array
    root: Array | None = None  # n x m: a root of Ψ₂, if known


@frozen
class InducingBound:
    """The bound and its derivatives by the statistics, by the inducing points' covariance (m x m) and by the noise."""

    value: float
    total: float
    crossed: Array
    squared: Array
    inducing: Array
    noise: float


@frozen
class InducingFactors:
    """The factors of K + β Ψ₂ = L (1 + β W) Lᵀ, with K = L Lᵀ and W = L⁻¹ Ψ₂ L⁻ᵀ.

    They give the difference of the inverses of K and K + β Ψ₂ without subtraction.
    """

    into: Array  # L⁻¹
    white: Array  # β W
    inverse: Array  # (1 + β W)⁻¹
    logarithm: float  # log |1 + β W|

    @classmethod
    def of(cls, covariance: CovarianceFunction, matrix: Array, known: Statistics) -> "InducingFactors | None":
        """Return the factors from K (m x m), which is overwritten; None where it is singular."""
        add_nugget(matrix)
        triangle = None if inverse_of(matrix) is None else cholesky(matrix)
        if triangle is None:
            return None
        white = (lower_solve(triangle, lower_solve(triangle, known.squared).T) if known.root is None else
                 squared(lower_solve(triangle, known.root.T)))
        white = (white + white.T) / (2 * covariance.whole_noise)
        found = inverse_of(white + np.eye(len(white)))
        if found is None:
            return None
        return cls(lower_solve(triangle, np.eye(len(matrix))), white=white, inverse=found[0], logarithm=found[1])

    @property
    def gap(self) -> Array:
        """1 - (1 + β W)⁻¹."""
        gap = self.inverse @ self.white
        return (gap + gap.T) / 2

    @property
    def reduction(self) -> Array:
        """K⁻¹ - (K + β Ψ₂)⁻¹."""
        return self.into.T @ self.gap @ self.into

    def solve(self, rights: Array) -> Array:
        """Return (K + β Ψ₂)⁻¹ B for an (m, b) array B."""
        return self.into.T @ (self.inverse @ (self.into @ rights))


def squared(factor: Array) -> Array:
    """Return F Fᵀ, an (m, m) array, for an (m, n) factor F."""
    return factor @ factor.T


def bound(data: Observations, covariance: CovarianceFunction, matrix: Array, known: Statistics) -> InducingBound | None:
    """Return the bound for the varying columns; `matrix`, the inducing points' covariance (m x m), is overwritten.

    None where it is singular, to rounding.
    """
    beta, count, columns = 1 / covariance.whole_noise, len(data.factor), data.columns
    solved = InducingFactors.of(covariance, matrix, known)
    if solved is None:
        return None
    products = known.crossed.T @ data.factor
    weights = solved.solve(products)
    energy, explained = float(np.sum(data.factor**2)), beta * float(np.sum(products * weights))
    share = float(np.trace(solved.white)) / beta
    if beta * (share - known.total) > ROUNDING * count or explained > energy * (1 + ROUNDING):  # impossible
        return None
    value = 0.5 * columns * (count * log(beta / (2 * pi)) - solved.logarithm - beta * (known.total - share))
    value += 0.5 * beta * (explained - energy)
    outer, gap = beta**2 * (weights @ weights.T), solved.gap
    by_beta = 0.5 * columns * (count / beta - float(np.trace(gap)) / beta - known.total + share)
    by_beta += explained - 0.5 * energy - 0.5 * float(np.sum(outer * known.squared))
    inducing = -0.5 * (columns * (solved.into.T @ (gap @ solved.white) @ solved.into) + outer)
    inducing = (inducing + inducing.T) / 2
    inducing[np.diag_indices_from(inducing)] += NUGGET * np.trace(inducing) / len(inducing)
    return InducingBound(value=value, total=-0.5 * columns * beta, crossed=beta**2 * (data.factor @ weights.T),
                         squared=0.5 * beta * (columns * solved.reduction - outer), inducing=inducing,
                         noise=-(beta**2) * by_beta)


def posterior_of(data: Observations, covariance: CovarianceFunction, places: Array,
                 known: Statistics) -> GaussianProcess:
    """Return the posterior with means β k(x, Z) (K + β Ψ₂)⁻¹ Ψ₁ᵀ Y and variance reduction K⁻¹ - (K + β Ψ₂)⁻¹.

    `places` is the (m, p) array Z. Raises NumericalError where K is singular.
    """
    solved = InducingFactors.of(covariance, covariance(places, places), known)
    if solved is None:
        raise singular()
    weights = solved.solve(known.crossed.T @ data.values) / covariance.whole_noise
    return GaussianProcess(covariance, places=places, weights=weights, known=solved.reduction, mean=data.mean)


def jitter_of(covariance: CovarianceFunction, places: Array) -> float:
    """Return the jitter of the (m, p) inducing points' covariance, as a share of its mean diagonal.

    Raises NumericalError where none suffices.
    """
    return require_inverse(add_nugget(covariance(places, places)))[2]


def add_nugget(matrix: Array) -> Array:
    """Add the nugget to the diagonal of an (m, m) covariance matrix, in place."""
    matrix[np.diag_indices_from(matrix)] += NUGGET * np.trace(matrix) / len(matrix)
    return matrix


def farthest_points(points: Array, count: int) -> Array:
    """Return `count` of the (n, p) points, or all, each the farthest from those before it.

    The first is the farthest from the mean.
    """
    far, chosen = np.sum((points - points.mean(axis=0)) ** 2, axis=1), []
    for _ in range(min(count, len(points))):
        chosen.append(int(far.argmax()))
        squares = np.sum((points - points[chosen[-1]]) ** 2, axis=1)
        far = squares if len(chosen) == 1 else np.minimum(far, squares)
        far[chosen] = -1.0
    return points[chosen]


@frozen
class SparseLikelihood:
    """The bound for latent points without uncertainty (Titsias, 2009)."""

    data: Observations
    count: int  # number of inducing points

    def places(self, points: Array) -> Array:
        """Return the initial inducing points, an (m, p) array: points far from each other, of (n, p) points."""
        return farthest_points(points, self.count)

    def __call__(self, covariance: CovarianceFunction, points: Array, places: Array) -> Slope:
        """Return the bound with its gradient, for (n, p) points and (m, p) inducing points."""
        crossed, inducing = covariance.parts(points, places), covariance.parts(places, places)
        known = self.statistics(covariance, points, np.sum(crossed, axis=0))
        found = bound(self.data, covariance, np.sum(inducing, axis=0), known)
        if found is None:
            return Slope.undefined(covariance, points, places)
        weights = found.crossed + 2 * known.crossed @ found.squared
        logs, left = covariance.pull_back(weights, crossed, left=points, right=places)
        right = covariance.pull_back(weights.T, [part.T for part in crossed], left=places, right=points)[1]
        own_logs, own = covariance.pull_back(found.inducing, inducing, left=places, right=places)
        total_logs, total = covariance.pull_back_diagonal(np.full(len(points), found.total), points)
        logs = np.append(logs + own_logs + total_logs, covariance.noise * found.noise)
        return Slope(found.value, points=left + total, logs=logs, places=right + 2 * own)

    def statistics(self, covariance: CovarianceFunction, points: Array, crossed: Array) -> Statistics:
        """Return the statistics of (n, p) points without uncertainty; `crossed` is Ψ₁ (n x m)."""
        return Statistics(float(covariance.diagonal(points).sum()), crossed, squared(crossed.T), crossed)

    def posterior(self, covariance: CovarianceFunction, points: Array, places: Array) -> GaussianProcess:
        """Return the posterior by (m, p) inducing points, for (n, p) points; raises NumericalError."""
        known = self.statistics(covariance, points, covariance(points, places))
        return posterior_of(self.data, covariance, places, known)

    def jitter(self, covariance: CovarianceFunction, points: Array, places: Array) -> float:
        """Return the jitter of the (m, p) inducing points' covariance; raises NumericalError."""
        return jitter_of(covariance, places)
