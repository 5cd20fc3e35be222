"""The bound of the Bayesian model: every latent point is a Gaussian cloud, and the kernel's expectations are exact.

For k = v exp(-Σ (x - y)² / 2 l²) and x ~ N(μ, S), with z̄ the middle of z and z',

    Ψ₁ = v Π (1 + S/l²)^-½ exp(-(μ - z)² / 2 (l² + S)),
    Ψ₂ = Σ v² Π (1 + 2 S/l²)^-½ exp(-(z - z')² / 4 l² - (μ - z̄)² / (l² + 2 S)).

Source: Titsias and Lawrence, "Bayesian Gaussian process latent variable model", 2010.
"""

from typing import cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array
from mlcli.core.distances import BLOCK
from mlcli.methods.processes.covariances import CovarianceFunction, Rbf
from mlcli.methods.processes.evidence import Observations, Slope
from mlcli.methods.processes.inducing import Statistics, bound, farthest_points, jitter_of, posterior_of
from mlcli.methods.processes.posterior import GaussianProcess


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
        found = bound(self.data, covariance, inducing.copy(), known)
        if found is None:
            return Slope.undefined(covariance, points, places)
        pulls = expected_gradient(kernel, cloud, places, found.crossed)
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
        return posterior_of(self.data, covariance, places, self.statistics(covariance, points, places))

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
