"""Rules by the likelihood of the data: Minka's evidence, BIC, and cross-validation.

Each gives one figure for every count of axes, the largest the best. Sources: Minka, "Automatic choice of dimensionality
for PCA", 2000; Tipping and Bishop, 1999; Schwarz, 1978.

Most methods have no such likelihood: the formulas are imported for those that have one.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array
from mlcli.base.values.sample_size import sample_of
from mlcli.core.linalg import symmetric_eigen
from mlcli.errors import NumericalError
from mlcli.findings.dimension.evidence import Evidence, NotApplicable, RuleVerdict

if TYPE_CHECKING:
    from mlcli.core.iterate import Iterate

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


def factor_gaussian(points: Array, factors: int, lower: float = 0.005, iterate: "Iterate | None" = None) -> Gaussian:
    """Return the normal distribution of the factor model with the largest likelihood.

    `points` is an (n, d) array with columns that all vary; returns a (d,) array and a (d, d) array.
    """
    from mlcli.core.iterate import Iterate
    from mlcli.methods.factors.factor_analysis import Bounds, ColumnCovariance, maximum_likelihood

    mean = points.mean(axis=0)
    deviations = points.std(axis=0)
    moments = ColumnCovariance((points - mean).T @ (points - mean) / len(points) / np.outer(deviations, deviations))
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


WIDEST = 500  # largest number of columns for d² logarithms
FOLDS = 3
BUDGET = 0.2  # seconds for fits to folds
STEP, CUBE = 1e-3, 7e-9  # seconds of one step of a fit: constant, and for each of d³ products
FALLS = 2  # consecutive counts below the best after which the search ends
STEPS = 8  # steps of a fit, about
LIMIT, TOLERANCE = 50, 1e-3  # of a fit: enough for comparing likelihoods, whose errors are squares of this
ROOM = 2**17  # numbers in a sample of the rows


def likelihood_verdicts(evidence: Evidence) -> dict[str, RuleVerdict | NotApplicable]:
    """Return the verdicts of the three likelihood rules."""
    return {"minka_evidence": minka(evidence), "ppca_bic": criterion(evidence),
            "fa_cross_validation": cross_validation(evidence)}


def variances(evidence: Evidence) -> tuple[Array, int] | NotApplicable:
    """Return all eigenvalues of the covariance of the columns that vary, over n, and n."""
    rows, columns = evidence.observations, len(evidence.norms) if evidence.of_columns else 0
    if evidence.method.columns_model != "equal noise" or not evidence.of_columns:
        return NotApplicable(evidence.no_eigenvalues or
                             "it is the likelihood of probabilistic PCA, which pca and ppca have")
    if rows is None:
        return NotApplicable("it needs the number of observations: input.observations")
    if columns < 2 or columns > WIDEST or rows <= columns:
        return NotApplicable(f"{columns} columns of {rows} points vary; it takes from 2 to {WIDEST}, and more points")
    values = evidence.positive[:columns]
    if len(values) < columns:
        return NotApplicable("it needs all eigenvalues, none of them zero")
    return values / (rows if evidence.moments is None else 1), rows


def minka(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the number of axes with the largest evidence, by Laplace's approximation (Minka, 2000)."""
    given = variances(evidence)
    if isinstance(given, NotApplicable):
        return given
    log_evidence = minka_evidence(*given)
    if not np.isfinite(log_evidence).any():
        return NotApplicable("eigenvalues are tied")
    count = int(log_evidence.argmax()) + 1
    return RuleVerdict(count, "The number of axes of probabilistic PCA with the largest evidence (Minka).",
                       f"of 1 to {len(log_evidence)} axes", {"log_evidence": finite(log_evidence)})


def criterion(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the number of axes with the smallest Bayesian information criterion (Schwarz, 1978)."""
    given = variances(evidence)
    if isinstance(given, NotApplicable):
        return given
    values = -2 * ppca_bic(*given)
    count = int(values.argmin())
    return RuleVerdict(count,
                       "The number of axes of probabilistic PCA with the smallest Bayesian information criterion "
                       "(BIC).",
                       f"of 0 to {len(values) - 1} axes", {"bic": finite(values)})


def cross_validation(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the number of factors under which held-out rows are most likely."""
    if not evidence.factors:
        return NotApplicable("it fits factor models, as fa does")
    if evidence.points is None:
        return NotApplicable("it needs rows to hold out, and none are available")
    points, columns = evidence.columns, evidence.columns.shape[1]
    if points.size > ROOM:
        points = points[sample_of(len(points), max(ROOM // columns, 1), evidence.generator())]
    fit = FOLDS * STEPS * (STEP + CUBE * columns**3)
    most = min(evidence.factors, int(BUDGET / fit))
    if most < 1 or len(points) < 3 * FOLDS or len(points) * (FOLDS - 1) <= columns * FOLDS:
        return NotApplicable(f"{FOLDS} folds of {len(points)} points with {columns} columns are too few, or cost "
                             "too much")
    try:
        with no_listeners(), single_threaded_blas(), np.errstate(all="ignore"):
            likelihoods = fold_likelihoods(evidence, points, most)
    except NumericalError:
        return NotApplicable("a column does not vary in one of the folds")
    count = int(likelihoods.argmax())
    if count == most < evidence.factors:
        return NotApplicable(f"the likelihood still rises at {most} factors, the most that fit in the time")
    return RuleVerdict(count, "The number of factors with the largest likelihood of held-out rows.",
                       f"{FOLDS} folds, of 0 to {len(likelihoods) - 1} factors",
                       {"mean_log_likelihoods": finite(likelihoods), "folds": FOLDS, "rows": len(points),
                        "seed": evidence.seed})


def fold_likelihoods(evidence: Evidence, points: Array, most: int) -> Array:
    """Return the mean log-likelihood of held-out rows under 0, 1, ... factors, until it has fallen, a (k,) array.

    `points` is an (m, d) array; all counts have the same folds.
    """
    from mlcli.core.iterate import Iterate

    fit = partial(factor_gaussian, iterate=Iterate(limit=LIMIT, tolerance=TOLERANCE))
    likelihoods: list[float] = []
    for count in range(most + 1):
        likelihoods += cross_validate(points, fit, [count], FOLDS, evidence.generator()).tolist()
        if len(likelihoods) > FALLS and max(likelihoods[-FALLS:]) < max(likelihoods):
            break
    return np.array(likelihoods)


def finite(values: Array) -> list[float | None]:
    """Return numbers for JSON, at most 20 of a (k,) array, None where not finite."""
    return [value if np.isfinite(value) else None for value in values[:20].tolist()]
