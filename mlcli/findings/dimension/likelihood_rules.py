"""The number of axes by the likelihood: Minka's evidence and BIC for probabilistic PCA, cross-validation for factors.

Each gives one figure for every count of axes, the largest the best. Sources: Minka, "Automatic choice of dimensionality
for PCA", 2000; Tipping and Bishop, 1999; Schwarz, 1978.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from mlcli.base.types import Array
from mlcli.core.iterate import Iterate
from mlcli.core.linalg import symmetric_eigen
from mlcli.methods.factors.factor_analysis import Bounds, Whole, maximum_likelihood

Gaussian = tuple[Array, Array]  # mean (d) and covariance (d x d)


def noise_after(eigenvalues: Array) -> Array:
    """Return the mean of the last d - k of the (d,) array of descending eigenvalues, for k = 0 .. d - 1."""
    left = np.cumsum(eigenvalues[::-1])[::-1]
    return np.asarray(left / np.arange(len(eigenvalues), 0, -1))


def ppca_log_likelihoods(eigenvalues: Array, rows: int) -> Array:
    """Return the log-likelihood of probabilistic PCA with k = 0 .. d - 1 axes, a (d,) array.

    `eigenvalues` is the (d,) array of all eigenvalues of the covariance (divisor n). Source: Tipping and Bishop, 1999.
    """
    columns, noise = len(eigenvalues), noise_after(eigenvalues)
    leading = np.concatenate([[0.0], np.cumsum(_logs(eigenvalues))[:-1]])
    logs = leading + np.arange(columns, 0, -1) * _logs(noise)
    return np.asarray(-0.5 * rows * (columns * np.log(2 * np.pi) + logs + columns))


def ppca_parameters(columns: int) -> Array:
    """Return the number of free parameters of probabilistic PCA with k = 0 .. d - 1 axes, a (d,) array.

    Mean, loadings up to a rotation, and noise.
    """
    axes = np.arange(columns)
    return np.asarray(columns + columns * axes - axes * (axes - 1) / 2 + 1)


def ppca_bic(eigenvalues: Array, rows: int) -> Array:
    """Return minus half the Bayesian information criterion of k = 0 .. d - 1 axes, a (d,) array.

    Log-likelihood minus ½ ln n for each parameter. `eigenvalues` is a (d,) array. Source: Schwarz, 1978.
    """
    return ppca_log_likelihoods(eigenvalues, rows) - 0.5 * ppca_parameters(len(eigenvalues)) * np.log(rows)


def minka_evidence(eigenvalues: Array, rows: int) -> Array:
    """Return Minka's log-evidence of k = 1 .. d - 1 axes, a (d - 1,) array; minus infinity where eigenvalues are tied.

    By Laplace's method. It needs all d eigenvalues of the covariance, a (d,) array, and more points than columns.
    """
    columns, noise = len(eigenvalues), noise_after(eigenvalues)
    halves = (columns - np.arange(columns)) / 2  # (d - i + 1) / 2 for i = 1 .. d
    directions = np.cumsum([math.lgamma(half) for half in halves.tolist()] - halves * np.log(np.pi) - np.log(2))
    axes = np.arange(1, columns)
    sizes = columns * axes - axes * (axes + 1) / 2
    logs = np.cumsum(_logs(eigenvalues))[:-1] + (columns - axes) * _logs(noise[1:])
    volumes = _curvatures(eigenvalues, noise) + (sizes + axes) * np.log(rows / (2 * np.pi))
    log_evidence = directions[:-1] - 0.5 * (rows * logs + volumes)
    return np.where(np.isnan(log_evidence), -np.inf, log_evidence)


def _curvatures(eigenvalues: Array, noise: Array) -> Array:
    """Return Σ over i ≤ k and i < j of ln (1/λ̂ⱼ - 1/λ̂ᵢ)(λᵢ - λⱼ) for k = 1 .. d - 1, λ̂ the noise beyond k axes."""
    columns, axes = len(eigenvalues), np.arange(1, len(eigenvalues))
    gaps = np.triu(_logs(eigenvalues[:, None] - eigenvalues), 1)
    from_first = np.cumsum(gaps.sum(axis=1))[:-1]  # pairs of i ≤ k with all j > i
    among = np.cumsum(gaps.sum(axis=0))[:-1]  # pairs of i < j ≤ k, whose noise is λⱼ
    beyond = np.tril(_logs(1 / noise[1:, None] - 1 / eigenvalues[:-1])).sum(axis=1)
    return np.asarray(from_first + among - (axes - 1) * np.cumsum(_logs(eigenvalues))[:-1] + (columns - axes) * beyond)


def cross_validate(points: Array, fit: Callable[[Array, int], Gaussian], counts: Sequence[int], folds: int,
                   generator: np.random.Generator) -> Array:
    """Return the mean log-likelihood of a held-out point for every count of axes, a (c,) array.

    `points` is an (n, d) array; `fit` maps the points of the other folds and a count to a normal distribution.
    """
    fold = generator.permutation(len(points)) % folds
    total = np.zeros(len(counts))
    for held in range(folds):
        for place, count in enumerate(counts):
            total[place] += log_density(points[fold == held], *fit(points[fold != held], count)).sum()
    return np.asarray(total / len(points))


def factor_gaussian(points: Array, factors: int, lower: float = 0.005, iterate: Iterate | None = None) -> Gaussian:
    """Return the normal distribution of the factor model with the largest likelihood.

    `points` is an (n, d) array with columns that all vary; returns a (d,) array and a (d, d) array.
    """
    mean = points.mean(axis=0)
    deviations = points.std(axis=0)
    moments = Whole((points - mean).T @ (points - mean) / len(points) / np.outer(deviations, deviations))
    if factors == 0:
        return mean, np.diag(deviations**2)
    estimate = maximum_likelihood(moments, factors, Bounds.of(moments, lower), iterate or Iterate()).state
    covariance = estimate.loadings @ estimate.loadings.T + np.diag(estimate.uniquenesses)
    return mean, covariance * np.outer(deviations, deviations)


def log_density(points: Array, mean: Array, covariance: Array) -> Array:
    """Return the log-density of a normal distribution at points, an (m, d) array; an (m,) array."""
    values, vectors = symmetric_eigen(covariance)
    squares = ((points - mean) @ vectors) ** 2 / values
    return np.asarray(-0.5 * (len(mean) * np.log(2 * np.pi) + np.log(values).sum() + squares.sum(axis=1)))


def _logs(values: Array | float) -> Array:
    """Return logarithms; NaN for numbers that are not positive."""
    given = np.asarray(values, dtype=np.float64)
    return np.log(given, out=np.full(given.shape, np.nan), where=given > 0)
