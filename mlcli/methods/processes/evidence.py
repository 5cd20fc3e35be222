"""The likelihood of features under a Gaussian process from given latent points, with its gradient.

Columns are independent draws of one process: log p(Y | X) = -d/2 log |K| - tr(K⁻¹ Y Yᵀ)/2 - n d/2 log 2π. Source:
Lawrence, "Probabilistic non-linear principal component analysis with Gaussian process latent variable models", 2005.
"""

from math import log, pi
from typing import Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.core.linalg import orthonormal, positive_inverse
from mlcli.errors import NumericalError
from mlcli.methods.processes.covariances import CovarianceFunction
from mlcli.methods.processes.posterior import GaussianProcess

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
