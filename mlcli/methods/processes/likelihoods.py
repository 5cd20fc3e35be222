"""Likelihoods of features under a Gaussian process, with gradients: exact, by inducing points, and of Gaussian clouds.

Columns are independent draws of one process: log p(Y | X) = -d/2 log |K| - tr(K⁻¹ Y Yᵀ)/2 - n d/2 log 2π. Source:
Lawrence, "Probabilistic non-linear principal component analysis with Gaussian process latent variable models", 2005.

With β one over the noise, Ψ₁ = E k(X, Z), Ψ₂ = E k(Z, X) k(X, Z) and ψ₀ = E tr k(X, X), the bound of d columns Y is

    d/2 (n log β/2π + log |K| - log |K + β Ψ₂| - β ψ₀ + β tr K⁻¹ Ψ₂) - β/2 tr Y Yᵀ + β²/2 tr Yᵀ Ψ₁ (K + β Ψ₂)⁻¹ Ψ₁ᵀ Y.

Source: Titsias, "Variational learning of inducing variables in sparse Gaussian processes", 2009; Titsias and Lawrence,
"Bayesian Gaussian process latent variable model", 2010.

For k = v exp(-Σ (x - y)² / 2 l²) and x ~ N(μ, S), with z̄ the middle of z and z',

    Ψ₁ = v Π (1 + S/l²)^-½ exp(-(μ - z)² / 2 (l² + S)),
    Ψ₂ = Σ v² Π (1 + 2 S/l²)^-½ exp(-(z - z')² / 4 l² - (μ - z̄)² / (l² + 2 S)).

Source: Titsias and Lawrence, "Bayesian Gaussian process latent variable model", 2010.
"""

from math import log, pi
from typing import Protocol, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array
from mlcli.core.euclidean_distances import BLOCK
from mlcli.core.linalg import cholesky, lower_solve, orthonormal, positive_inverse
from mlcli.errors import NumericalError
from mlcli.methods.processes.process import CovarianceFunction, GaussianProcess, Rbf

JITTERS = (0.0, *(10.0**power for power in range(-10, -3)))  # shares of the mean diagonal


@frozen
class Slope:
    """A log-likelihood, or a lower bound of it, and its derivatives."""

    value: float
    points: Array  # by the latent points, n x p
    logs: Array  # by the logarithms of the covariance's parameters
    places: Array  # by the inducing points, m x p; none where there are none
    values: Array | None = None  # by the features, n x at most n, of an exact likelihood

    @classmethod
    def undefined(cls, covariance: CovarianceFunction, points: Array, places: Array) -> "Slope":
        """Return minus infinity with zero slopes (n x p, m x p), for a singular covariance matrix."""
        return cls(-np.inf, points=0 * points, logs=0 * covariance.logs, places=0 * places)


class Likelihood(Protocol):
    """The likelihood of features given latent points: exact, or a lower bound."""

    @property
    def data(self) -> "Observations":
        """The features."""

    def places(self, points: Array) -> Array:
        """Return the initial inducing points (m x p) for (n, p) points; with m = 0 where there are none."""

    def __call__(self, covariance: CovarianceFunction, points: Array, places: Array) -> Slope:
        """Return the log-likelihood of the varying columns, with its gradient, at (n, p) points and (m, p) inducing
        points.
        """

    def posterior(self, covariance: CovarianceFunction, points: Array, places: Array) -> GaussianProcess:
        """Return the posterior of the functions, for (n, p) points and (m, p) inducing points; raises NumericalError.
        """

    def jitter(self, covariance: CovarianceFunction, points: Array, places: Array) -> float:
        """Return the share of the mean diagonal that must be added to a covariance matrix to invert it.

        `points` is an (n, p) array and `places` an (m, p) array. Raises NumericalError.
        """


@frozen
class Observations:
    """Centered features, and what their likelihood needs."""

    values: Array  # n x d
    mean: Array  # d
    columns: int  # number of columns that vary
    factor: Array  # n x at most n, with the products of rows that the values have

    @classmethod
    def of(cls, points: Array) -> "Observations":
        """Return the observations in points (n x d)."""
        varying = np.ptp(points, axis=0) > 0
        mean = np.where(varying, points.mean(axis=0), points[0])
        values = points - mean
        factor = values if values.shape[1] <= len(values) else values @ orthonormal(values.T)
        return cls(values, mean, int(varying.sum()), factor)

    @property
    def cells(self) -> int:
        """Number of values that the likelihood covers."""
        return len(self.values) * self.columns

    @property
    def variance(self) -> float:
        """Mean variance of the columns that vary."""
        return float(np.sum(self.factor**2)) / max(self.cells, 1)


@frozen
class Exact:
    """The exact likelihood, by one Cholesky factorization."""

    data: Observations

    def places(self, points: Array) -> Array:
        """Return no inducing points, a (0, p) array."""
        return points[:0]

    def __call__(self, covariance: CovarianceFunction, points: Array, places: Array) -> Slope:
        """Return the log-likelihood with its gradient, at (n, p) points."""
        parts = covariance.parts(points, points)
        found = inverse_of(add_noise(np.sum(parts, axis=0), covariance))
        if found is None:
            return Slope.undefined(covariance, points, places)
        inverse, logarithm, _ = found
        solved = inverse @ self.data.factor
        value = -0.5 * (self.data.columns * logarithm + float(np.sum(solved * self.data.factor))
                        + self.data.cells * log(2 * pi))
        inverse *= -0.5 * self.data.columns
        inverse += 0.5 * (solved @ solved.T)
        logs, left = covariance.pull_back(inverse, parts, left=points, right=points)
        logs = np.append(logs, covariance.noise * np.trace(inverse))
        return Slope(value, points=2 * left, logs=logs, places=places, values=-solved)

    def posterior(self, covariance: CovarianceFunction, points: Array, places: Array) -> GaussianProcess:
        """Return the posterior with weights K⁻¹ Y and variance reduction K⁻¹, for (n, p) points; raises NumericalError.
        """
        inverse, _, _ = require_inverse(add_noise(covariance(points, points), covariance))
        return GaussianProcess(covariance, places=points, weights=inverse @ self.data.values, known=inverse,
                               mean=self.data.mean)

    def jitter(self, covariance: CovarianceFunction, points: Array, places: Array) -> float:
        """Return the jitter of K at (n, p) points; raises NumericalError."""
        return require_inverse(add_noise(covariance(points, points), covariance))[2]


def add_noise(matrix: Array, covariance: CovarianceFunction) -> Array:
    """Add the noise to the diagonal of an (n, n) covariance matrix, in place."""
    matrix[np.diag_indices_from(matrix)] += covariance.whole_noise
    return matrix


def inverse_of(matrix: Array) -> tuple[Array, float, float] | None:
    """Return A⁻¹, log |A|, and the jitter added to A in place, as a share of its mean diagonal; None if none suffices.

    A is an (n, n) array.
    """
    diagonal = np.diag_indices_from(matrix)
    own = matrix[diagonal]
    for jitter in JITTERS if np.isfinite(matrix).all() else ():
        matrix[diagonal] = own + jitter * own.mean()
        if (found := positive_inverse(matrix)) is not None:
            return (*found, jitter)
    return None


def require_inverse(matrix: Array) -> tuple[Array, float, float]:
    """Return A⁻¹, log |A| and the jitter of an (n, n) array, as `inverse_of`; raises NumericalError."""
    found = inverse_of(matrix)
    if found is None:
        raise singular()
    return found


def singular() -> NumericalError:
    """Return the error for a covariance matrix without an inverse."""
    return NumericalError("JITTER", f"a covariance matrix is singular, even with {JITTERS[-1]:g} of its mean diagonal "
                          "added",
                          hint="leave repeated rows out, or ask for fewer axes")


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
class Explained:
    """What a bound needs of d columns of n rows Y: Ψ₁ᵀ Y, and tr Y Yᵀ; or their expectations."""

    products: Array  # m x at most n
    energy: float
    count: int  # n
    columns: int  # d

    @classmethod
    def of(cls, data: Observations, crossed: Array) -> "Explained":
        """Return what is needed of the varying columns, given Ψ₁ (n x m)."""
        return cls(crossed.T @ data.factor, float(np.sum(data.factor**2)), len(data.factor), data.columns)


@frozen
class InducingBound:
    """The bound and its derivatives by the statistics, by the inducing points' covariance (m x m) and by the noise.

    The derivative by Ψ₁ᵀ Y is β² (K + β Ψ₂)⁻¹ Ψ₁ᵀ Y, of which `weights` has all but the factor `by_products`.
    """

    value: float
    total: float
    weights: Array  # m x at most n
    by_products: float  # β²
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


def bound(seen: Explained, covariance: CovarianceFunction, matrix: Array, known: Statistics) -> InducingBound | None:
    """Return the bound for some columns; `matrix`, the inducing points' covariance (m x m), is overwritten.

    None where it is singular, to rounding.
    """
    beta, count, columns, energy = 1 / covariance.whole_noise, seen.count, seen.columns, seen.energy
    solved = InducingFactors.of(covariance, matrix, known)
    if solved is None:
        return None
    weights = solved.solve(seen.products)
    explained = beta * float(np.sum(seen.products * weights))
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
    return InducingBound(value=value, total=-0.5 * columns * beta, weights=weights, by_products=beta**2,
                         squared=0.5 * beta * (columns * solved.reduction - outer), inducing=inducing,
                         noise=-(beta**2) * by_beta)


def posterior_of(products: Array, mean: Array, covariance: CovarianceFunction, places: Array,
                 known: Statistics) -> GaussianProcess:
    """Return the posterior with means β k(x, Z) (K + β Ψ₂)⁻¹ Ψ₁ᵀ Y and variance reduction K⁻¹ - (K + β Ψ₂)⁻¹.

    `products` is the (m, d) array Ψ₁ᵀ Y, `mean` that of the columns (d), and `places` the (m, p) array Z. Raises
    NumericalError where K is singular.
    """
    solved = InducingFactors.of(covariance, covariance(places, places), known)
    if solved is None:
        raise singular()
    weights = solved.solve(products) / covariance.whole_noise
    return GaussianProcess(covariance, places=places, weights=weights, known=solved.reduction, mean=mean)


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
        found = bound(Explained.of(self.data, known.crossed), covariance, np.sum(inducing, axis=0), known)
        if found is None:
            return Slope.undefined(covariance, points, places)
        weights = found.by_products * (self.data.factor @ found.weights.T) + 2 * known.crossed @ found.squared
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
        return posterior_of(known.crossed.T @ self.data.values, self.data.mean, covariance, places, known)

    def jitter(self, covariance: CovarianceFunction, points: Array, places: Array) -> float:
        """Return the jitter of the (m, p) inducing points' covariance; raises NumericalError."""
        return jitter_of(covariance, places)


@frozen
class Cloud:
    """Gaussian clouds."""

    means: Array  # n x p
    variances: Array  # n x p

    @classmethod
    def of(cls, points: Array) -> "Cloud":
        """Return clouds from columns of means, then of logarithms of variances (n x 2p)."""
        means, logs = np.hsplit(points, 2)
        return cls(means, np.exp(logs))

    def blocks(self, places: Array) -> list[slice]:
        """Return slices of the clouds, small enough for memory with `places`, an (m, p) array of inducing points."""
        return row_blocks(len(self.means), BLOCK, len(places) * (len(places) + 1) // 2)

    def take(self, chosen: slice) -> "Cloud":
        """Return some of the clouds."""
        return Cloud(self.means[chosen], self.variances[chosen])


@frozen
class CloudGradient:
    """Derivatives by means and variances of clouds (n x p each), inducing points (m x p), and log parameters."""

    means: Array
    variances: Array
    places: Array
    logs: Array

    def __add__(self, other: "CloudGradient") -> "CloudGradient":
        return CloudGradient(means=self.means + other.means, variances=self.variances + other.variances,
                             places=self.places + other.places, logs=self.logs + other.logs)


@frozen
class Clouds:
    """The bound for Gaussian latent points: `points` (n x 2p) has columns of means, then of logarithms of variances.

    The Kullback-Leibler divergence of the clouds from a standard normal prior is part of the bound; of several views of
    the same clouds, each has a share of it.
    """

    data: Observations
    count: int  # number of inducing points
    share: float = 1.0  # of the divergence

    def places(self, points: Array) -> Array:
        """Return the initial inducing points, an (m, p) array: means far from each other, of (n, 2p) clouds."""
        return farthest_points(Cloud.of(points).means, self.count)

    def __call__(self, covariance: CovarianceFunction, points: Array, places: Array) -> Slope:
        """Return the bound with its gradient, for (n, 2p) clouds and (m, p) inducing points."""
        kernel, cloud = kernel_of(covariance), Cloud.of(points)
        known, inducing = self.statistics(covariance, points, places), kernel(places, places)
        found = bound(Explained.of(self.data, known.crossed), covariance, inducing.copy(), known)
        if found is None:
            return Slope.undefined(covariance, points, places)
        pulls = expected_gradient(kernel, cloud, places, found.by_products * (self.data.factor @ found.weights.T))
        pulls += expected_products_gradient(kernel, cloud, places, found.squared)
        own_logs, own = covariance.pull_back(found.inducing, [inducing], left=places, right=places)
        logs = np.append(pulls.logs + own_logs, covariance.noise * found.noise)
        logs[0] += found.total * known.total
        means, variances = cloud.means, cloud.variances
        divergence = 0.5 * float(np.sum(means**2 + variances - np.log(variances) - 1))
        slopes = np.hstack([pulls.means - self.share * means,
                            variances * pulls.variances - 0.5 * self.share * (variances - 1)])
        return Slope(found.value - self.share * divergence, points=slopes, logs=logs, places=pulls.places + 2 * own)

    def statistics(self, covariance: CovarianceFunction, points: Array, places: Array) -> Statistics:
        """Return the expectations over (n, 2p) clouds, for (m, p) inducing points."""
        kernel, cloud, squared = kernel_of(covariance), Cloud.of(points), np.zeros((len(places), len(places)))
        pairs = np.triu_indices(len(places))
        for block in cloud.blocks(places):
            squared[pairs] += expected_products(kernel, cloud.take(block), places).sum(axis=0)
        squared = np.triu(squared) + np.triu(squared, 1).T
        return Statistics(len(points) * kernel.variance, expected(kernel, cloud, places), squared)

    def posterior(self, covariance: CovarianceFunction, points: Array, places: Array) -> GaussianProcess:
        """Return the posterior by (m, p) inducing points, for (n, 2p) clouds; raises NumericalError."""
        known = self.statistics(covariance, points, places)
        return posterior_of(known.crossed.T @ self.data.values, self.data.mean, covariance, places, known)

    def jitter(self, covariance: CovarianceFunction, points: Array, places: Array) -> float:
        """Return the jitter of the (m, p) inducing points' covariance; raises NumericalError."""
        return jitter_of(covariance, places)


def kernel_of(covariance: CovarianceFunction) -> Rbf:
    """Return the covariance's only term."""
    (kernel,) = covariance.terms
    return cast(Rbf, kernel)


def expected(kernel: Rbf, cloud: Cloud, places: Array) -> Array:
    """Return Ψ₁ (n x m) for clouds and (m, p) inducing points."""
    means, variances = cloud.means, cloud.variances
    near = 1 / (kernel.lengths**2 + variances)
    exponents = (near * means) @ places.T - 0.5 * (near @ (places**2).T)
    exponents -= 0.5 * (np.log1p(variances / kernel.lengths**2) + near * means**2).sum(axis=1, keepdims=True)
    return np.asarray(kernel.variance * np.exp(exponents))


def expected_gradient(kernel: Rbf, cloud: Cloud, places: Array, weights: Array) -> CloudGradient:
    """Return the derivatives of Σ w Ψ₁ for (n, m) weights and (m, p) inducing points."""
    means, variances = cloud.means, cloud.variances
    near, squares = 1 / (kernel.lengths**2 + variances), kernel.lengths**2
    weighted = weights * expected(kernel, cloud, places)
    rows = weighted.sum(axis=1, keepdims=True)
    first = weighted @ places
    spread = means**2 * rows - 2 * means * first + weighted @ places**2
    lengths = squares * (rows * variances * near / squares + near**2 * spread).sum(axis=0)
    return CloudGradient(means=near * (first - means * rows), variances=0.5 * near * (near * spread - rows),
                         places=weighted.T @ (near * means) - places * (weighted.T @ near),
                         logs=np.append(weighted.sum(), lengths))


def expected_products(kernel: Rbf, cloud: Cloud, places: Array) -> Array:
    """Return every cloud's share of Ψ₂ for the pairs of (m, p) places on and above the diagonal (n x m(m+1)/2)."""
    means, variances = cloud.means, cloud.variances
    one, other = np.triu_indices(len(places))
    middles, gaps = 0.5 * (places[one] + places[other]), (places[one] - places[other]) / kernel.lengths
    near = 1 / (kernel.lengths**2 + 2 * variances)
    exponents = np.hstack([2 * near * means, -near]) @ np.hstack([middles, middles**2]).T
    exponents -= (0.5 * np.log1p(2 * variances / kernel.lengths**2) + near * means**2).sum(axis=1, keepdims=True)
    exponents -= 0.25 * np.sum(gaps**2, axis=1)
    return np.asarray(kernel.variance * kernel.variance * np.exp(exponents))


def expected_products_gradient(kernel: Rbf, cloud: Cloud, places: Array, weights: Array) -> CloudGradient:
    """Return the derivatives of Σ w Ψ₂ for symmetric weights (m x m) and (m, p) inducing points."""
    means, variances = cloud.means, cloud.variances
    one, other = np.triu_indices(len(places))
    middles, gaps = 0.5 * (places[one] + places[other]), places[one] - places[other]
    paired = np.where(one == other, 1.0, 2.0) * weights[one, other]
    near, squares = 1 / (kernel.lengths**2 + 2 * variances), kernel.lengths**2
    rows, first, second = np.empty((len(means), 1)), np.empty_like(means), np.empty_like(means)
    columns, met, pull = np.zeros(len(paired)), np.zeros_like(middles), np.zeros_like(middles)
    for block in cloud.blocks(places):
        weighted = expected_products(kernel, cloud.take(block), places) * paired
        rows[block] = weighted.sum(axis=1, keepdims=True)
        first[block], second[block] = weighted @ middles, weighted @ middles**2
        columns += weighted.sum(axis=0)
        met += weighted.T @ near[block]
        pull += weighted.T @ (near[block] * means[block])
    spread = means**2 * rows - 2 * means * first + second
    by_middle, by_gap = 2 * (pull - middles * met), -columns[:, None] * gaps / (2 * squares)
    by_places = np.zeros_like(places)
    np.add.at(by_places, one, 0.5 * by_middle + by_gap)
    np.add.at(by_places, other, 0.5 * by_middle - by_gap)
    lengths = 2 * squares * ((rows * variances * near / squares + near**2 * spread).sum(axis=0)
                             + columns @ gaps**2 / (4 * squares**2))
    return CloudGradient(means=2 * near * (first - means * rows), variances=near * (2 * near * spread - rows),
                         places=by_places, logs=np.append(2 * columns.sum(), lengths))
