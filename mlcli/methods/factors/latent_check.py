"""The latent model y = μ + Λ x + ε, x ~ N(0, Φ), ε ~ N(0, Ψ): equations at the maximum of its likelihood, also of rows
with missing cells.

In units in which all noise is equal (columns over roots ψ of Ψ, or as they are where Ψ = σ² I), with A the covariance
and U the loadings in these units, A U = U (Φ UᵀU + σ² I): Lawley and Maxwell, 1971; Tipping and Bishop, 1999.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import Covariance
from mlcli.base.values.scaling import Unit, all_finite
from mlcli.certify.eigen import count_check
from mlcli.certify.linear import CenteredRows
from mlcli.certify.projection import projector_checks, score_tolerance
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.latent.probabilistic import Latent
from mlcli.methods.factors.check import principal

ROUNDED = 100.0  # noise of fewer roundings counts as none


@frozen
class LatentOptions:
    """The options on which the equations of a latent model depend."""

    tolerance: float  # of an iteration
    rotated: bool
    pairwise: bool = False  # whether moments of rows with missing cells are those of pairs of columns
    equal: bool = False  # whether all columns have the same noise
    lower: float = 0.0  # the smallest uniqueness
    bartlett: bool = False  # whether scores are unbiased
    least_squares: bool = False  # whether squared residual correlations are least, and not the likelihood largest


def factors_of(subject: Subject) -> Array:
    """Return the covariance Φ (q x q) of the coordinates of probabilistic PCA: I unless they are rotated."""
    axes = subject.embedding.shape[1]
    stated = np.asarray(dict(subject.model.fit).get("factor_correlations") or np.eye(axes), dtype=np.float64)
    return stated if stated.shape == (axes, axes) else np.full((axes, axes), np.nan)


def stated_checks(subject: Subject, likelihood: float, scale: float) -> Iterator[Check]:
    """Check that the log-likelihood is as stated, and that no step of the iteration lowered it."""
    stated, trace = subject.model.fit.get("log_likelihood"), subject.model.trace
    if stated is not None:
        yield ratio("log-likelihood", abs(likelihood - stated), scale, "the sum of the rows' log-densities, as stated")
    if trace is not None and len(trace):
        trace = trace if stated is None else np.append(trace, stated)
        yield ratio("ascent", float(np.maximum(-np.diff(trace), 0.0).max(initial=0.0)),
                    scale + EPS * float(np.abs(trace).max()), "no step lowers the likelihood")


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


def implied_covariance(subject: Subject, moments: Array) -> Array | None:
    """Return Λ Φ Λᵀ + Ψ for the columns' moments, (d, d) arrays; None without loadings, uniquenesses or correlations.
    """
    fit, decoder = subject.model.fit, subject.projector.affine
    shares = [0.0 if value is None else value for value in dict(fit.get("uniquenesses", {})).values()]
    factors = np.array(fit.get("factor_correlations", ()), dtype=np.float64)
    if decoder is None or len(shares) != len(moments) or factors.shape != (decoder.directions.shape[1],) * 2:
        return None
    return np.asarray(decoder.directions @ factors @ decoder.directions.T
                      + np.diag(np.nan_to_num(np.array(shares)) * np.diag(moments)))


def moment_checks(subject: Subject, asked: LatentOptions, moments: Array) -> Iterator[Check]:
    """Yield checks that scores are conditional expectations, and that moments (d x d) are those of the option `gaps`.
    """
    points, mean, implied = subject.data.values, subject.projector.centering.means, implied_covariance(subject, moments)
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
    if asked.pairwise:
        yield from _pairwise(subject, moments)
    elif subject.model.fit.get("em_converged", True):
        yield _stationary_moments(subject, moments, (kind.ravel(), patterns), LOOSE * asked.tolerance)
    else:
        yield skipped("moments", "the iteration stopped before it converged")


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


def _stationary_moments(subject: Subject, covariance: Array, cells: tuple[Indices, AnyArray], loose: float) -> Check:
    """Check that a step of EM changes neither mean nor covariance (d x d): the likelihood is stationary in both.

    `cells` are the pattern of each row (n), and the cells that are present in each pattern (k x d).
    """
    points, mean, (kind, patterns) = subject.data.values, subject.projector.centering.means, cells
    filled, spread = complete_rows(points, kind, patterns, mean, covariance)
    some = patterns[kind].any(axis=1)
    spread = spread - (~some).sum() * covariance  # rows without a cell carry no information
    apart = (filled - mean)[some]
    scale = deviations_of(covariance)
    again = (apart.T @ apart + spread) / max(len(apart), 1)
    worst = max(max_abs((again - covariance) / np.outer(scale, scale)), max_abs(apart.mean(axis=0) / scale))
    allowed = loose + EPS * max(*points.shape, 10)
    return ratio("moments", worst, allowed + mean_rounding(points, mean, scale),
                 "expectations of the cells that are missing leave mean and covariance as they are")


def _pairwise(subject: Subject, covariance: Array) -> Iterator[Check]:
    """Check the correlations of a covariance (d x d), each over the rows that have both columns.

    Their negative eigenvalues are set to zero.
    """
    points = subject.data.values
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


@dataclass
class LatentSums:
    """Sums over rows."""

    log_likelihood: float = 0.0
    mean: Array = field(default_factory=lambda: np.zeros(0))  # ∂ / ∂ μ
    loadings: Array = field(default_factory=lambda: np.zeros((0, 0)))  # ∂ / ∂ W
    noise: float = 0.0  # ∂ / ∂ σ²
    worst: float = 0.0  # difference of a posterior mean or covariance
    cells: int = 0


def gap_checks(subject: Subject, asked: LatentOptions) -> Iterator[Check]:
    """Yield checks of posteriors and likelihood of rows with missing cells, and of its stationarity."""
    points, latent, decoder = subject.data.values, subject.similarity.parts.latent, subject.projector.affine
    if decoder is not None and asked.rotated:
        latent = replace(latent, loadings=decoder.directions)
    factors = factors_of(subject)
    size = float(np.sum((latent.loadings @ factors) * latent.loadings)) + len(latent.mean) * latent.noise
    if latent.noise <= ROUNDED * EPS * max(*points.shape, 10) * size:
        yield skipped("posterior", "the noise is only rounding, so the likelihood has no maximum")
        return
    patterns, kind = np.unique(~np.isnan(points), axis=0, return_inverse=True)
    cost = PATTERN + CUBE * points.shape[1] ** 3 + CELL * points.size / len(patterns)
    if not subject.plan.allows(0.5, cost * len(patterns)):
        yield later("posterior")
        return
    sums = LatentSums(mean=np.zeros(points.shape[1]), loadings=np.zeros_like(latent.loadings))
    for number, there in enumerate(patterns):
        _add(sums, subject, (latent, factors), np.flatnonzero(kind.ravel() == number), there)
    largest = float(np.fmax.reduce(np.abs(points), axis=None, initial=0.0))
    rounding = EPS * max(*points.shape, 10) * size / latent.noise * float(np.linalg.cond(factors))
    rounding += EPS * largest * np.sqrt(points.shape[1] / latent.noise)  # rounding by means far from zero
    yield ratio("posterior", sums.worst, rounding * max(max_abs(subject.embedding), 1.0),
                "x | y has mean Φ Wᵀ C⁻¹ (y - μ) and covariance Φ - Φ Wᵀ C⁻¹ W Φ over the cells that are there")
    found = sums.log_likelihood - subject.data.unit.logarithm(sums.cells)
    yield from stated_checks(subject, found, rounding * (sums.cells + abs(found)))
    if not subject.model.fit.get("converged", True):
        yield skipped("stationarity", "the iteration stopped before it converged")
        return
    slopes = (float(np.linalg.norm(sums.loadings)) / len(points) / np.sqrt(size),
              float(np.linalg.norm(sums.mean)) / len(points) / np.sqrt(size), abs(sums.noise) / max(sums.cells, 1))
    yield ratio("stationarity", latent.noise * max(slopes), _loose(subject, asked) + rounding,
                "the likelihood has no slope in μ, W and σ²")


def _add(sums: LatentSums, subject: Subject, model: tuple[Latent, Array], rows: Indices, there: AnyArray) -> None:
    """Add the terms of rows that have the same cells, by a model and the covariance of its coordinates."""
    latent, factors = model
    residuals, loadings = (subject.data.values[rows] - latent.mean)[:, there], latent.loadings[there] @ factors
    inverse = np.linalg.inv(loadings @ latent.loadings[there].T + latent.noise * np.eye(len(loadings)))
    gain, solved = inverse @ loadings, residuals @ inverse
    spread = factors - loadings.T @ gain
    sums.worst = max(sums.worst, max_abs(residuals @ gain - subject.embedding[rows]))
    if subject.model.spreads is not None:
        sums.worst = max(sums.worst, max_abs(subject.model.spreads[rows] - spread))
    sums.log_likelihood -= 0.5 * (float(np.sum(residuals * solved)) + len(rows) * (
        len(loadings) * np.log(2 * np.pi) - float(np.linalg.slogdet(inverse)[1])))
    curve = solved.T @ solved - len(rows) * inverse
    sums.mean[there] += solved.sum(axis=0)
    sums.loadings[there] += curve @ loadings
    sums.noise += 0.5 * float(np.trace(curve))
    sums.cells += residuals.size


AT_BOUND = 1e-9  # relative distance from a bound that counts as zero


@frozen
class DataCovariance:
    """The covariance S of the data (divisor n), as a function and by its diagonal."""

    apply: Callable[[Array], Array]  # S times a (d, k) array
    variances: Array  # d
    rough: Array  # d: rounding by means far from zero, in units of the columns


@frozen
class NoiseUnitModel:
    """The stored model in units of equal noise: columns that vary, each over its weight."""

    loadings: Array  # d x q, U
    factors: Array  # q x q, Φ
    weights: Array  # d: roots of Ψ, or ones where the noise is equal
    level: float  # the noise in these units: one, or σ²
    varying: Indices
    shares: Array | None = None  # d: uniquenesses over variances, where each column has its own
    variances: bool = False  # whether axes are ranked by variances, or by sums of squared loadings

    @property
    def inner(self) -> Array:
        """Φ UᵀU + σ² I (q x q)."""
        return self.factors @ (self.loadings.T @ self.loadings) + self.level * np.eye(len(self.factors))


def latent_checks(subject: Subject, asked: LatentOptions) -> Iterator[Check]:
    """Yield the checks of a latent model against its points or their covariance."""
    yield from projector_checks(subject, _model_checks(subject, asked), score_tolerance)


def _model_checks(subject: Subject, asked: LatentOptions) -> Iterator[Check]:
    if isinstance(subject.data, Covariance):
        data, loadings = subject.data.normalized(), subject.model.loadings
        if loadings is None:
            yield skipped("stationarity", "the loadings are not at hand")
            return
        observed = DataCovariance(lambda block: data.values @ block, np.diag(data.values).copy(),
                                  np.zeros(len(data.values)))
        yield from _maximum(subject, observed, data.unit.measured(loadings.values), data.unit, asked)
    elif not all_finite(subject.data.values):
        moments, decoder = subject.similarity.column_moments, subject.projector.affine
        yield from gap_checks(subject, asked) if moments is None else moment_checks(subject, asked, moments)
        if moments is not None and decoder is not None:
            observed = DataCovariance(lambda block: moments @ block, np.diag(moments).copy(), np.zeros(len(moments)))
            yield from _maximum(subject, observed, decoder.directions, subject.data.unit, asked)
    else:
        yield from _complete_rows_checks(subject, asked)


def _complete_rows_checks(subject: Subject, asked: LatentOptions) -> Iterator[Check]:
    """Yield the checks against points without missing cells."""
    projector, decoder, data = subject.projector, subject.projector.affine, CenteredRows.of(subject)
    size, rough = max(len(data.points), 1), EPS * np.maximum(data.points.max(axis=0), -data.points.min(axis=0))
    sums, squares, scores = data.sums_and_error(projector.axes, subject.embedding)
    weighed = float((rough + subject.rounding * np.sqrt(squares / max(len(data.chosen), 1)))
                    @ np.abs(projector.axes).sum(axis=1))
    yield ratio("scores", scores, weighed + subject.rounding * max_abs(subject.embedding),
                "Y = (x - mean) B, row by row", exact=data.exact)
    if not data.exact or decoder is None:
        yield later("stationarity")
        return
    deviations, far = np.sqrt(squares / size), 0.0 if projector.similarity.variances is None else _loose(subject, asked)
    yield ratio("means", max_abs(sums) / size,
                8 * float(rough.max(initial=0.0)) + (EPS + far) * float(deviations.max(initial=0.0)),
                "the model's means are the columns' means")
    yield count("decoder", int(np.sum(decoder.mean != projector.centering.means)),
                "means that reconstruction and projection do not share")
    observed = DataCovariance(lambda block: data.covariance(block) / size, squares / size, rough)
    if subject.model.fit.get("polychoric"):
        from mlcli.certify.polychoric import correlation_checks, smooth_correlations

        yield from correlation_checks(subject)
        matrix = np.diag(squares / size)
        varying = np.flatnonzero(squares > 0)
        matrix[np.ix_(varying, varying)] = smooth_correlations(subject) * np.sqrt(
            np.outer(squares[varying], squares[varying])) / size
        observed = DataCovariance(lambda block: matrix @ block, squares / size, rough)
    yield from _maximum(subject, observed, decoder.directions, subject.data.unit, asked)


def _loose(subject: Subject, asked: LatentOptions) -> float:
    """Return the allowed relative distance of an iteration's result from the maximum; 0 for a closed form."""
    return LOOSE * asked.tolerance if "converged" in subject.model.fit else 0.0


def _in_noise_units(subject: Subject, observed: DataCovariance, loadings: Array, *,
                    equal: bool) -> NoiseUnitModel | None:
    """Return the model in units of equal noise; None where no column varies."""
    fit, columns = subject.model.fit, len(loadings)
    latent = subject.similarity.parts.latent if subject.places else None
    if latent is not None:
        return NoiseUnitModel(loadings, factors_of(subject), np.ones(columns), latent.noise, np.arange(columns),
                              variances=True)
    shares = np.array([np.nan if value is None else value for value in dict(fit.get("uniquenesses", {})).values()])
    varying = np.flatnonzero(np.isfinite(shares))
    if len(shares) != columns or not len(varying):
        return None
    noise, factors = (shares * observed.variances)[varying], np.asarray(fit["factor_correlations"], dtype=np.float64)
    if equal:
        return NoiseUnitModel(loadings[varying], factors, np.ones(len(varying)), float(noise.mean()), varying)
    weights = np.sqrt(noise)
    return NoiseUnitModel(loadings=loadings[varying] / weights[:, None], factors=factors, weights=weights, level=1.0,
                          varying=varying, shares=shares[varying])


def _maximum(subject: Subject, observed: DataCovariance, loadings: Array, unit: Unit,
             asked: LatentOptions) -> Iterator[Check]:
    """Yield checks of the equations at the maximum, and of the likelihood and spectrum that the run states."""
    scaled = _in_noise_units(subject, observed, loadings, equal=asked.equal)
    if scaled is None:
        yield skipped("stationarity", "no column varies, or the run does not hold its uniquenesses")
        return

    def whitened(block: Array) -> Array:
        """Return A times a block of vectors, a (d, k) array."""
        whole = np.zeros((len(loadings), block.shape[1]))
        whole[scaled.varying] = block / scaled.weights[:, None]
        return observed.apply(whole)[scaled.varying] / scaled.weights[:, None]

    u, inner = scaled.loadings, scaled.inner
    directions, sizes = principal(u, scaled.factors)
    images, along = np.hsplit(whitened(np.hstack([u, directions])), [u.shape[1]])
    values, variances = sizes**2 + scaled.level, observed.variances[scaled.varying] / scaled.weights**2
    top = max(float(values[0]), float(variances.max(initial=0.0)))
    rounding = EPS * max(subject.size, len(u), 10) + subject.spectrum.tolerance
    # oblique factors that nearly agree have long loadings, whose rounding does not cancel
    rounding *= max(float(np.linalg.norm(u, 2) ** 2 * np.linalg.norm(scaled.factors, 2)) / (top or 1.0), 1.0)
    if 0 < scaled.level <= ROUNDED * rounding * top:
        yield skipped("stationarity", "the noise is only rounding, so the likelihood has no maximum")
        return
    rough = float(np.linalg.norm(observed.rough[scaled.varying] / scaled.weights))
    allowed = rounding * top + rough * np.sqrt(top) + rough**2
    lost = rounding + (rough**2 / scaled.level if scaled.level > 0 else 0.0)  # about rounded means
    converged, loose = subject.model.fit.get("converged", True), _loose(subject, asked)
    own = scaled.shares is not None  # loadings are exact for the uniquenesses at which the iteration ended
    if asked.least_squares:
        yield _least_squares(scaled, observed, allowed)
    elif own or converged:
        yield ratio("stationarity", float(np.linalg.norm(images - u @ inner)),
                    (allowed + (0.0 if own else loose) * top) * max(float(np.linalg.norm(u)), np.sqrt(scaled.level)),
                    "A U = U (Φ UᵀU + σ² I), with A the covariance in units of the noise")
    if converged:
        yield _variances(scaled, variances, asked.lower, allowed + loose * top)
    else:
        yield skipped("variances", "the iteration stopped before it converged")
    if not subject.plan.full:
        yield later("count")
    elif converged and u.shape[1] < len(u) and not asked.least_squares:
        yield count_check(lambda: whitened(np.eye(len(u))), len(u), float(values[-1]), u.shape[1] - 1,
                          allowed + loose * top)
    if scaled.level > 0:
        yield from _likelihood(subject, scaled, variances, (values, np.sum(directions * along, axis=0)), unit, lost)
    far = loose if scaled.variances else 0.0  # sums of squares of loadings are exact wherever the iteration ended
    yield _spectrum(subject, scaled, observed, asked.rotated,
                    rounding + far + (rough / np.sqrt(top) if top > rough**2 else 1.0))
    if subject.places:
        yield _scores(subject, scaled, asked.bartlett, lost)


def _least_squares(scaled: NoiseUnitModel, observed: DataCovariance, allowed: float) -> Check:
    """Check that loadings of least squared residuals are eigenvectors of S - Ψ, of standardized columns."""
    sizes = np.sqrt(observed.variances[scaled.varying])
    loadings = scaled.loadings * (scaled.weights / sizes)[:, None]
    whole = np.zeros((len(observed.variances), loadings.shape[1]))
    whole[scaled.varying] = loadings / sizes[:, None]
    images = observed.apply(whole)[scaled.varying] / sizes[:, None] - loadings * (scaled.weights / sizes)[:, None] ** 2
    gap = images - loadings @ scaled.factors @ (loadings.T @ loadings)
    size = max(float(np.linalg.norm(loadings)), 1.0) ** 3 * float(np.linalg.norm(scaled.factors, 2))
    return ratio("stationarity", float(np.linalg.norm(gap)), max(allowed, EPS * len(loadings) * 10) * size,
                 "(S - Ψ) Λ = Λ Φ ΛᵀΛ, of standardized columns")


def _variances(scaled: NoiseUnitModel, variances: Array, lower: float, allowed: float) -> Check:
    """Check the model's variances: their sum, or each column's where its uniqueness is not at the bound."""
    predicted = np.einsum("ij,ij->i", scaled.loadings @ scaled.factors, scaled.loadings) + scaled.level
    if scaled.shares is None:
        return ratio("variances", abs(float(predicted.sum() - variances.sum())), allowed * len(predicted),
                     "tr (Λ Φ Λᵀ) + d σ² = tr S")
    gap = (predicted - variances) / variances  # with the smallest uniqueness allowed, the model's is no smaller
    low = scaled.shares <= lower * (1 + AT_BOUND)
    error = np.where(low, np.maximum(-gap, 0.0), np.abs(gap))
    return ratio("variances", float(error.max(initial=0.0)), allowed,
                 f"diag (Λ Φ Λᵀ) + Ψ = diag S but for {int(low.sum())} columns at the bound")


def _likelihood(subject: Subject, scaled: NoiseUnitModel, variances: Array, axes: tuple[Array, Array], unit: Unit,
                rounding: float) -> Iterator[Check]:
    """Check the log-likelihood, -n/2 (d ln 2π + ln |C| + tr C⁻¹S); `axes`: C's q values, and variances along axes."""
    rows, u, (values, along) = observations(subject), scaled.loadings, axes
    whole = float(np.sum(variances)) / scaled.level
    explained = float(np.sum((1 - scaled.level / values) * along)) / scaled.level
    logs = np.concatenate([2 * np.log(scaled.weights), np.log(values), [
        (len(u) - len(values)) * np.log(scaled.level), len(u) * (np.log(2 * np.pi) + 2 * unit.logarithm(1))]])
    yield from stated_checks(subject, -rows / 2 * (float(logs.sum()) + whole - explained),
                       rounding * rows / 2 * (whole + len(u) + float(np.abs(logs).sum())))


def _spectrum(subject: Subject, scaled: NoiseUnitModel, observed: DataCovariance, rotated: bool,
              allowed: float) -> Check:
    """Check that the spectrum follows from the loadings: variances, or sums of squared loadings."""
    spectrum = subject.spectrum
    values, stated = spectrum.solved / spectrum.divisor, spectrum.solved_trace / spectrum.divisor
    expected = (np.ones(len(scaled.loadings)) if scaled.shares is None else scaled.shares) @ scaled.loadings**2
    total = stated
    if scaled.variances:
        if rotated:
            expected = principal(scaled.loadings, scaled.factors)[1] ** 2
        expected, total = expected + scaled.level, float(observed.variances.sum())
    wrong = np.abs(np.append(values[: len(expected)] - expected, stated - total))
    return ratio("spectrum", float(wrong.max()), allowed * max(total, float(values[:1].max(initial=0.0))),
                 "what the axes are ranked by follows from the loadings, and the trace from the data")


def _scores(subject: Subject, scaled: NoiseUnitModel, bartlett: bool, rounding: float) -> Check:
    """Check the scores' weights B: posterior means, C B = Λ Φ; or Bartlett's, Ψ B = Λ (BᵀΨ B)."""
    u, axes = scaled.loadings, subject.projector.axes[scaled.varying] * scaled.weights[:, None]
    if bartlett:
        gap = axes - u @ (axes.T @ axes)
    else:
        gap = u @ (scaled.factors @ (u.T @ axes)) + scaled.level * axes - u @ scaled.factors
    lengths = np.linalg.norm(u, axis=0)
    longest, shortest = lengths.max(initial=0.0), lengths[lengths > 0].min(initial=np.inf)
    size, wide = float(np.linalg.norm(axes)), float(np.linalg.norm(scaled.factors))
    # short loadings carry the rounding of long ones
    scale = longest * size * (size if bartlett else longest * wide) * max(longest / shortest, 1.0)
    return ratio("weights", float(np.linalg.norm(gap)), rounding * len(lengths) * (
        scale + wide * longest + max(scaled.level, float(bartlett)) * size),
        "the weights B of the scores follow from the model")
