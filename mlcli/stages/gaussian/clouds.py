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
from mlcli.stages.algebra.distances import BLOCK
from mlcli.stages.gaussian.covariances import Covariance, Rbf
from mlcli.stages.gaussian.evidence import Observations, Slope
from mlcli.stages.gaussian.inducing import Statistics, bound, jitter_of, posterior_of, spread_out
from mlcli.stages.gaussian.posterior import Posterior


@frozen
class Cloud:
    """Gaussian clouds."""

    means: Array  # n x p
    variances: Array  # n x p

    @classmethod
    def of(cls, points: Array) -> "Cloud":
        """From columns of means, then of logarithms of variances (n x 2p)."""
        means, logs = np.hsplit(points, 2)
        return cls(means, np.exp(logs))

    def blocks(self, places: Array) -> list[slice]:
        """The clouds by groups small enough for memory."""
        return row_blocks(len(self.means), BLOCK, len(places) * (len(places) + 1) // 2)

    def take(self, chosen: slice) -> "Cloud":
        """Some of them."""
        return Cloud(self.means[chosen], self.variances[chosen])


@frozen
class Pulled:
    """Derivatives by means and variances of clouds (n x p each), by inducing points, and by the kernel's logarithms."""

    means: Array
    variances: Array
    places: Array
    logs: Array

    def __add__(self, other: "Pulled") -> "Pulled":
        return Pulled(means=self.means + other.means, variances=self.variances + other.variances,
                      places=self.places + other.places, logs=self.logs + other.logs)


@frozen
class Clouds:
    """The bound for latent points that are known by mean and variance: columns of `points`, n x 2p.

    The second half of the columns holds the logarithms of variances. The distance of the clouds from a standard normal
    prior is part of the bound.
    """

    data: Observations
    count: int  # of inducing points

    def places(self, points: Array) -> Array:
        """Some of the means, spread out."""
        return spread_out(Cloud.of(points).means, self.count)

    def __call__(self, covariance: Covariance, points: Array, places: Array) -> Slope:
        """The bound with its gradient."""
        kernel, cloud = kernel_of(covariance), Cloud.of(points)
        known, inducing = self.statistics(covariance, points, places), kernel(places, places)
        found = bound(self.data, covariance, inducing.copy(), known)
        if found is None:
            return Slope.nowhere(covariance, points, places)
        pulls = pulled_once(kernel, cloud, places, found.crossed) + pulled_twice(kernel, cloud, places, found.squared)
        own_logs, own = covariance.pulled(found.inducing, [inducing], left=places, right=places)
        logs = np.append(pulls.logs + own_logs, covariance.noise * found.noise)
        logs[0] += found.total * known.total
        means, variances = cloud.means, cloud.variances
        divergence = 0.5 * float(np.sum(means**2 + variances - np.log(variances) - 1))
        slopes = np.hstack([pulls.means - means, variances * pulls.variances - 0.5 * (variances - 1)])
        return Slope(found.value - divergence, points=slopes, logs=logs, places=pulls.places + 2 * own)

    def statistics(self, covariance: Covariance, points: Array, places: Array) -> Statistics:
        """The expectations over the clouds."""
        kernel, cloud, squared = kernel_of(covariance), Cloud.of(points), np.zeros((len(places), len(places)))
        pairs = np.triu_indices(len(places))
        for block in cloud.blocks(places):
            squared[pairs] += expected_products(kernel, cloud.take(block), places).sum(axis=0)
        squared = np.triu(squared) + np.triu(squared, 1).T
        return Statistics(len(points) * kernel.variance, expected(kernel, cloud, places), squared)

    def posterior(self, covariance: Covariance, points: Array, places: Array) -> Posterior:
        """By the inducing points."""
        return posterior_of(self.data, covariance, places, self.statistics(covariance, points, places))

    def jitter(self, covariance: Covariance, points: Array, places: Array) -> float:
        """Of the inducing points' covariance."""
        return jitter_of(covariance, places)


def kernel_of(covariance: Covariance) -> Rbf:
    """The one term that such a model has."""
    (kernel,) = covariance.terms
    return cast(Rbf, kernel)


def expected(kernel: Rbf, cloud: Cloud, places: Array) -> Array:
    """Ψ₁ (n x m)."""
    means, variances = cloud.means, cloud.variances
    near = 1 / (kernel.lengths**2 + variances)
    exponents = (near * means) @ places.T - 0.5 * (near @ (places**2).T)
    exponents -= 0.5 * (np.log1p(variances / kernel.lengths**2) + near * means**2).sum(axis=1, keepdims=True)
    return np.asarray(kernel.variance * np.exp(exponents))


def pulled_once(kernel: Rbf, cloud: Cloud, places: Array, weights: Array) -> Pulled:
    """Derivatives of Σ w Ψ₁ (n x m)."""
    means, variances = cloud.means, cloud.variances
    near, squares = 1 / (kernel.lengths**2 + variances), kernel.lengths**2
    weighted = weights * expected(kernel, cloud, places)
    rows = weighted.sum(axis=1, keepdims=True)
    first = weighted @ places
    spread = means**2 * rows - 2 * means * first + weighted @ places**2
    lengths = squares * (rows * variances * near / squares + near**2 * spread).sum(axis=0)
    return Pulled(means=near * (first - means * rows), variances=0.5 * near * (near * spread - rows),
                  places=weighted.T @ (near * means) - places * (weighted.T @ near),
                  logs=np.append(weighted.sum(), lengths))


def expected_products(kernel: Rbf, cloud: Cloud, places: Array) -> Array:
    """Every cloud's share of Ψ₂ for the pairs of places on and above the diagonal (n x m(m+1)/2)."""
    means, variances = cloud.means, cloud.variances
    one, other = np.triu_indices(len(places))
    middles, gaps = 0.5 * (places[one] + places[other]), (places[one] - places[other]) / kernel.lengths
    near = 1 / (kernel.lengths**2 + 2 * variances)
    exponents = np.hstack([2 * near * means, -near]) @ np.hstack([middles, middles**2]).T
    exponents -= (0.5 * np.log1p(2 * variances / kernel.lengths**2) + near * means**2).sum(axis=1, keepdims=True)
    exponents -= 0.25 * np.sum(gaps**2, axis=1)
    return np.asarray(kernel.variance * kernel.variance * np.exp(exponents))


def pulled_twice(kernel: Rbf, cloud: Cloud, places: Array, weights: Array) -> Pulled:
    """Derivatives of Σ w Ψ₂ for symmetric weights (m x m)."""
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
    return Pulled(means=2 * near * (first - means * rows), variances=near * (2 * near * spread - rows),
                  places=by_places, logs=np.append(2 * columns.sum(), lengths))
