"""Factor analysis of points with missing cells: moments and scores, computed again row by row."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, later, ratio, skipped
from mlcli.base.values.inputs import Covariance
from mlcli.base.values.scaling import all_finite
from mlcli.certify.subject import Subject, max_abs

LOOSE = 10.0  # allowed distance from the maximum, in multiples of EM's tolerance
PATTERN = 1e-4  # seconds of overhead for each pattern of missing cells
CUBE, CELL = 2e-9, 2e-8  # seconds for each of d³ products of a pattern, and for each cell
PAIR = 2e-4  # seconds for a pair of columns


def observations(subject: Subject) -> int:
    """Return the number of rows with a cell, or of those behind a covariance; one where their number is not known."""
    if isinstance(subject.data, Covariance):
        return subject.data.observations or 1
    values = subject.data.values
    return subject.size if all_finite(values) else int((~np.isnan(values)).any(axis=1).sum())


def implied_covariance(subject: Subject) -> Array | None:
    """Return Λ Φ Λᵀ + Ψ, a (d, d) array; None where the run stores no loadings, uniquenesses or correlations."""
    fit, moments, decoder = subject.model.fit, subject.similarity.column_moments, subject.projector.affine
    shares = [0.0 if value is None else value for value in dict(fit.get("uniquenesses", {})).values()]
    factors = np.array(fit.get("factor_correlations", ()), dtype=np.float64)
    if decoder is None or len(shares) != len(moments) or factors.shape != (decoder.directions.shape[1],) * 2:
        return None
    return np.asarray(decoder.directions @ factors @ decoder.directions.T
                      + np.diag(np.nan_to_num(np.array(shares)) * np.diag(moments)))


def moment_checks(subject: Subject) -> Iterator[Check]:
    """Checks that scores are conditional expectations, and that the moments are those of the method's `gaps` option."""
    points, mean, implied = subject.data.values, subject.projector.centering.means, implied_covariance(subject)
    if implied is None or not all_finite(implied):
        yield skipped("scores", "the run does not hold its uniquenesses or the correlations of its factors as numbers")
        return
    patterns, kind = np.unique(~np.isnan(points), axis=0, return_inverse=True)
    if not subject.plan.allows(0.5, (PATTERN + CUBE * points.shape[1] ** 3) * len(patterns) + CELL * points.size):
        yield later("scores")
        return
    scale = deviations_of(implied)
    filled, _ = complete_rows(points, kind.ravel(), patterns, mean, implied)
    found = (filled - mean) @ subject.projector.axes
    weight = float((scale + EPS * np.abs(mean)) @ np.abs(subject.projector.axes).sum(axis=1))
    far = float(np.abs(np.linalg.eigvalsh(implied / np.outer(scale, scale))[[0, -1]]).max())
    rounding = EPS * max(*points.shape, 10) * max(max_abs(subject.embedding), weight) * max(far, 1.0)
    yield ratio("scores", max_abs(found - subject.embedding),
                10 * rounding + mean_rounding(points, mean, scale) * weight,
                "Y = (E[y | the row's cells] - mean) B, row by row")
    yield from (_pairwise(subject) if subject.method.gaps == "pairwise" else
                _likelihood(subject, kind.ravel(), patterns))


def deviations_of(covariance: Array) -> Array:
    """Return the square roots of the diagonal of a (d, d) array, a (d,) array; one where it is not positive."""
    return np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))


def mean_rounding(points: Array, mean: Array, scale: Array) -> float:
    """Return the rounding by means far from zero, relative to the deviations.

    `points` is an (n, d) array, `mean` and `scale` are (d,) arrays.
    """
    return EPS * float((np.maximum(np.abs(mean), np.nanmax(np.abs(points), axis=0)) / scale).max(initial=0.0))


def complete_rows(points: Array, kind: Indices, patterns: AnyArray, mean: Array,
                  covariance: Array) -> tuple[Array, Array]:
    """Return the rows with missing cells filled by their expectations, and the sum of conditional covariances.

    The expectation is μ_m + C_mo C_oo⁻¹ (y_o - μ_o). `points` is an (n, d) array with NaN, `kind` an (n,) array with
    the pattern of each row, `patterns` a (k, d) array of cells that are present, `covariance` a (d, d) array. Returns
    an (n, d) array and a (d, d) array.
    """
    filled, spread = points.copy(), np.zeros_like(covariance)
    varies = np.diag(covariance) > 0
    for number, there in enumerate(patterns):
        rows, known, gone = np.flatnonzero(kind == number), there & varies, np.flatnonzero(~there)
        solved = np.linalg.lstsq(covariance[np.ix_(known, known)], covariance[np.ix_(known, gone)], rcond=None)[0]
        filled[np.ix_(rows, gone)] = mean[gone] + (points[rows][:, known] - mean[known]) @ solved
        spread[np.ix_(gone, gone)] += len(rows) * (
            covariance[np.ix_(gone, gone)] - covariance[np.ix_(gone, known)] @ solved)
    return filled, spread


def _likelihood(subject: Subject, kind: Indices, patterns: AnyArray) -> Iterator[Check]:
    """Check that a step of EM changes neither mean nor covariance: the likelihood is stationary in both."""
    if not subject.model.fit.get("em_converged", True):
        yield skipped("moments", "the iteration stopped before it converged")
        return
    points, mean, covariance = subject.data.values, subject.projector.centering.means, subject.similarity.column_moments
    filled, spread = complete_rows(points, kind, patterns, mean, covariance)
    some = patterns[kind].any(axis=1)
    spread = spread - (~some).sum() * covariance  # rows without a cell carry no information
    apart = (filled - mean)[some]
    scale = deviations_of(covariance)
    again = (apart.T @ apart + spread) / max(len(apart), 1)
    worst = max(max_abs((again - covariance) / np.outer(scale, scale)), max_abs(apart.mean(axis=0) / scale))
    allowed = LOOSE * float(subject.method.iterate.tolerance) + EPS * max(*points.shape, 10)
    yield ratio("moments", worst, allowed + mean_rounding(points, mean, scale),
                "expectations of the cells that are missing leave mean and covariance as they are")


def _pairwise(subject: Subject) -> Iterator[Check]:
    """Check the correlations: each over the rows that have both columns, with negative eigenvalues set to zero."""
    points, covariance = subject.data.values, subject.similarity.column_moments
    varying = np.flatnonzero(np.diag(covariance) > 0)
    if not subject.plan.allows(0.5, PAIR * len(varying) ** 2 / 2):
        yield later("moments")
        return
    expected = np.eye(len(varying))
    for one in range(len(varying)):
        for other in range(one):
            both = points[:, varying[[one, other]]]
            both = both[~np.isnan(both).any(axis=1)]
            if (np.ptp(both, axis=0) > 0).all():
                expected[one, other] = expected[other, one] = np.corrcoef(both.T)[0, 1]
    values, vectors = np.linalg.eigh(expected)
    if values[0] < -len(values) * EPS * values[-1]:
        expected = (vectors * np.maximum(values, 0.0)) @ vectors.T
        expected /= np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    deviations = np.nanstd(points[:, varying], axis=0)
    wrong = max_abs(covariance[np.ix_(varying, varying)] / np.outer(deviations, deviations) - expected)
    rough = EPS * max(*points.shape, 10) + mean_rounding(points[:, varying], np.nanmean(points[:, varying], axis=0),
                                                         deviations)
    yield ratio("moments", wrong, 8 * rough, "the correlations are those of the rows that have both columns")
