"""The variational lower bound on the likelihood by inducing points, of latent points or of clouds of them.

With β one over the noise, Ψ₁ = E k(X, Z), Ψ₂ = E k(Z, X) k(X, Z) and ψ₀ = E tr k(X, X), the bound of d columns Y is

    d/2 (n log β/2π + log |K| - log |K + β Ψ₂| - β ψ₀ + β tr K⁻¹ Ψ₂) - β/2 tr Y Yᵀ + β²/2 tr Yᵀ Ψ₁ (K + β Ψ₂)⁻¹ Ψ₁ᵀ Y.

Source: Titsias, "Variational learning of inducing variables in sparse Gaussian processes", 2009; Titsias and Lawrence,
"Bayesian Gaussian process latent variable model", 2010.
"""

from math import log, pi

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.stages.algebra.linalg import cholesky, lower_solve
from mlcli.stages.gaussian.covariances import Covariance
from mlcli.stages.gaussian.evidence import Observations, Slope, inverse_of, regular, singular
from mlcli.stages.gaussian.posterior import Posterior

NUGGET = 1e-8  # of the mean diagonal, on the diagonal of the inducing points' covariance
ROUNDING = 1e-6  # that shares of a whole, and variances in units of the noise, may be off by


@frozen
class Statistics:
    """What a bound needs of the latent points: the expectations ψ₀, Ψ₁ (n x m) and Ψ₂ (m x m)."""

    total: float
    crossed: Array
    squared: Array
    root: Array | None = None  # n x m: Ψ₂ is its square, where it is one


@frozen
class Bound:
    """The bound and its derivatives by the statistics, by the inducing points' covariance (m x m) and by the noise."""

    value: float
    total: float
    crossed: Array
    squared: Array
    inducing: Array
    noise: float


@frozen
class Solved:
    """What K + β Ψ₂ = L (1 + β W) Lᵀ needs, with K = L Lᵀ and W = L⁻¹ Ψ₂ L⁻ᵀ; no difference of inverses is formed."""

    into: Array  # L⁻¹
    white: Array  # β W
    inverse: Array  # (1 + β W)⁻¹
    logarithm: float  # log |1 + β W|

    @classmethod
    def of(cls, covariance: Covariance, matrix: Array, known: Statistics) -> "Solved | None":
        """From K, which is overwritten; None where it is singular."""
        steadied(matrix)
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

    def updated(self, rights: Array) -> Array:
        """(K + β Ψ₂)⁻¹ B."""
        return self.into.T @ (self.inverse @ (self.into @ rights))


def squared(factor: Array) -> Array:
    """F Fᵀ."""
    return factor @ factor.T


def bound(data: Observations, covariance: Covariance, matrix: Array, known: Statistics) -> Bound | None:
    """The bound for the varying columns; `matrix` is the covariance of the inducing points, and is overwritten.

    None where it is singular, to rounding.
    """
    beta, count, columns = 1 / covariance.whole_noise, len(data.factor), data.columns
    solved = Solved.of(covariance, matrix, known)
    if solved is None:
        return None
    products = known.crossed.T @ data.factor
    weights = solved.updated(products)
    energy, explained = float(np.sum(data.factor**2)), beta * float(np.sum(products * weights))
    share = float(np.trace(solved.white)) / beta
    if beta * (share - known.total) > ROUNDING * count or explained > energy * (1 + ROUNDING):  # which cannot be
        return None
    value = 0.5 * columns * (count * log(beta / (2 * pi)) - solved.logarithm - beta * (known.total - share))
    value += 0.5 * beta * (explained - energy)
    outer, gap = beta**2 * (weights @ weights.T), solved.gap
    by_beta = 0.5 * columns * (count / beta - float(np.trace(gap)) / beta - known.total + share)
    by_beta += explained - 0.5 * energy - 0.5 * float(np.sum(outer * known.squared))
    inducing = -0.5 * (columns * (solved.into.T @ (gap @ solved.white) @ solved.into) + outer)
    inducing = (inducing + inducing.T) / 2
    inducing[np.diag_indices_from(inducing)] += NUGGET * np.trace(inducing) / len(inducing)
    return Bound(value=value, total=-0.5 * columns * beta, crossed=beta**2 * (data.factor @ weights.T),
                 squared=0.5 * beta * (columns * solved.reduction - outer), inducing=inducing,
                 noise=-(beta**2) * by_beta)


def posterior_of(data: Observations, covariance: Covariance, places: Array, known: Statistics) -> Posterior:
    """Means β k(x, Z) (K + β Ψ₂)⁻¹ Ψ₁ᵀ Y, and K⁻¹ - (K + β Ψ₂)⁻¹; raises NumericalError where K is singular."""
    solved = Solved.of(covariance, covariance(places, places), known)
    if solved is None:
        raise singular()
    weights = solved.updated(known.crossed.T @ data.values) / covariance.whole_noise
    return Posterior(covariance, places=places, weights=weights, known=solved.reduction, mean=data.mean)


def jitter_of(covariance: Covariance, places: Array) -> float:
    """What had to be added to the inducing points' covariance, as a share of its mean diagonal."""
    return regular(steadied(covariance(places, places)))[2]


def steadied(matrix: Array) -> Array:
    """A covariance matrix with the nugget on its diagonal, in place."""
    matrix[np.diag_indices_from(matrix)] += NUGGET * np.trace(matrix) / len(matrix)
    return matrix


def spread_out(points: Array, count: int) -> Array:
    """So many of the points (or all), each the farthest from those before; the first is farthest from the mean."""
    far, chosen = np.sum((points - points.mean(axis=0)) ** 2, axis=1), []
    for _ in range(min(count, len(points))):
        chosen.append(int(far.argmax()))
        squares = np.sum((points - points[chosen[-1]]) ** 2, axis=1)
        far = squares if len(chosen) == 1 else np.minimum(far, squares)
        far[chosen] = -1.0
    return points[chosen]


@frozen
class Sparse:
    """The bound for latent points that are known (Titsias, 2009)."""

    data: Observations
    count: int  # of inducing points

    def places(self, points: Array) -> Array:
        """Some of the points, spread out."""
        return spread_out(points, self.count)

    def __call__(self, covariance: Covariance, points: Array, places: Array) -> Slope:
        """The bound with its gradient."""
        crossed, inducing = covariance.parts(points, places), covariance.parts(places, places)
        known = self.statistics(covariance, points, np.sum(crossed, axis=0))
        found = bound(self.data, covariance, np.sum(inducing, axis=0), known)
        if found is None:
            return Slope.nowhere(covariance, points, places)
        weights = found.crossed + 2 * known.crossed @ found.squared
        logs, left = covariance.pulled(weights, crossed, left=points, right=places)
        right = covariance.pulled(weights.T, [part.T for part in crossed], left=places, right=points)[1]
        own_logs, own = covariance.pulled(found.inducing, inducing, left=places, right=places)
        total_logs, total = covariance.pulled_diagonal(np.full(len(points), found.total), points)
        logs = np.append(logs + own_logs + total_logs, covariance.noise * found.noise)
        return Slope(found.value, points=left + total, logs=logs, places=right + 2 * own)

    def statistics(self, covariance: Covariance, points: Array, crossed: Array) -> Statistics:
        """Those of points that are known: no expectations."""
        return Statistics(float(covariance.diagonal(points).sum()), crossed, squared(crossed.T), crossed)

    def posterior(self, covariance: Covariance, points: Array, places: Array) -> Posterior:
        """By the inducing points."""
        known = self.statistics(covariance, points, covariance(points, places))
        return posterior_of(self.data, covariance, places, known)

    def jitter(self, covariance: Covariance, points: Array, places: Array) -> float:
        """Of the inducing points' covariance."""
        return jitter_of(covariance, places)
