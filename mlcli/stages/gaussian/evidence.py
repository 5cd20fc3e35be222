"""The likelihood of features under a Gaussian process from given latent points, with its gradient.

Columns are independent draws of one process: log p(Y | X) = -d/2 log |K| - tr(K⁻¹ Y Yᵀ)/2 - n d/2 log 2π. Source:
Lawrence, "Probabilistic non-linear principal component analysis with Gaussian process latent variable models", 2005.
"""

from math import log, pi
from typing import Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.errors import NumericalError
from mlcli.stages.algebra.linalg import orthonormal, positive_inverse
from mlcli.stages.gaussian.covariances import Covariance
from mlcli.stages.gaussian.posterior import Posterior

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
    def nowhere(cls, covariance: Covariance, points: Array, places: Array) -> "Slope":
        """Where a covariance matrix is singular."""
        return cls(-np.inf, points=0 * points, logs=0 * covariance.logs, places=0 * places)


class Evidence(Protocol):
    """How likely features are, given latent points: exactly, or by a lower bound."""

    @property
    def data(self) -> "Observations":
        """The features."""

    def places(self, points: Array) -> Array:
        """Where inducing points start (m x p); none where there are none."""

    def __call__(self, covariance: Covariance, points: Array, places: Array) -> Slope:
        """The log-likelihood of the varying columns, with its gradient."""

    def posterior(self, covariance: Covariance, points: Array, places: Array) -> Posterior:
        """What is known of the functions given the features."""

    def jitter(self, covariance: Covariance, points: Array, places: Array) -> float:
        """The share of the mean diagonal that had to be added to a covariance matrix; raises NumericalError."""


@frozen
class Observations:
    """Centered features, and what their likelihood needs of them."""

    values: Array  # n x d
    mean: Array  # d
    columns: int  # that vary
    factor: Array  # n x at most n: the same products of rows as those of the values

    @classmethod
    def of(cls, points: Array) -> "Observations":
        """The observations in points (n x d)."""
        varying = np.ptp(points, axis=0) > 0
        mean = np.where(varying, points.mean(axis=0), points[0])
        values = points - mean
        factor = values if values.shape[1] <= len(values) else values @ orthonormal(values.T)
        return cls(values, mean, int(varying.sum()), factor)

    @property
    def cells(self) -> int:
        """The numbers that the likelihood is of."""
        return len(self.values) * self.columns

    @property
    def variance(self) -> float:
        """The mean variance of the columns that vary."""
        return float(np.sum(self.factor**2)) / max(self.cells, 1)


@frozen
class Exact:
    """The likelihood itself, by one Cholesky factorization."""

    data: Observations

    def places(self, points: Array) -> Array:
        """None."""
        return points[:0]

    def __call__(self, covariance: Covariance, points: Array, places: Array) -> Slope:
        """The log-likelihood with its gradient."""
        parts = covariance.parts(points, points)
        found = inverse_of(noisy(np.sum(parts, axis=0), covariance))
        if found is None:
            return Slope.nowhere(covariance, points, places)
        inverse, logarithm, _ = found
        solved = inverse @ self.data.factor
        value = -0.5 * (self.data.columns * logarithm + float(np.sum(solved * self.data.factor))
                        + self.data.cells * log(2 * pi))
        inverse *= -0.5 * self.data.columns
        inverse += 0.5 * (solved @ solved.T)
        logs, left = covariance.pulled(inverse, parts, left=points, right=points)
        logs = np.append(logs, covariance.noise * np.trace(inverse))
        return Slope(value, points=2 * left, logs=logs, places=places, values=-solved)

    def posterior(self, covariance: Covariance, points: Array, places: Array) -> Posterior:
        """Means K⁻¹ Y and what the rows take from the variance, K⁻¹."""
        inverse, _, _ = regular(noisy(covariance(points, points), covariance))
        return Posterior(covariance, places=points, weights=inverse @ self.data.values, known=inverse,
                         mean=self.data.mean)

    def jitter(self, covariance: Covariance, points: Array, places: Array) -> float:
        """Of K."""
        return regular(noisy(covariance(points, points), covariance))[2]


def noisy(matrix: Array, covariance: Covariance) -> Array:
    """A covariance matrix with noise on its diagonal, in place."""
    matrix[np.diag_indices_from(matrix)] += covariance.whole_noise
    return matrix


def inverse_of(matrix: Array) -> tuple[Array, float, float] | None:
    """A⁻¹, log |A|, and the share of its mean diagonal that had to be added to A, in place; None where none helps."""
    diagonal = np.diag_indices_from(matrix)
    own = matrix[diagonal]
    for jitter in JITTERS if np.isfinite(matrix).all() else ():
        matrix[diagonal] = own + jitter * own.mean()
        if (found := positive_inverse(matrix)) is not None:
            return (*found, jitter)
    return None


def regular(matrix: Array) -> tuple[Array, float, float]:
    """The same; raises NumericalError where nothing helps."""
    found = inverse_of(matrix)
    if found is None:
        raise singular()
    return found


def singular() -> NumericalError:
    """The error where a covariance matrix has no inverse."""
    return NumericalError("JITTER", f"a covariance matrix is singular, with {JITTERS[-1]:g} of its mean diagonal added",
                          hint="leave repeated rows out, or ask for fewer axes")
