"""The latent model y = μ + Λ x + ε, x ~ N(0, Φ), ε ~ N(0, Ψ): equations at the maximum of its likelihood.

In units in which all noise is equal (columns over roots ψ of Ψ, or as they are where Ψ = σ² I), with A the covariance
and U the loadings in these units, A U = U (Φ UᵀU + σ² I): Lawley and Maxwell, 1971; Tipping and Bishop, 1999.
"""

from collections.abc import Callable, Iterator

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import Covariance
from mlcli.base.values.scaling import Unit, all_finite
from mlcli.certify.eigen import count_check
from mlcli.certify.gaps import moment_checks, observations
from mlcli.certify.likelihood import ROUNDED, factors_of, stated_checks
from mlcli.certify.linear import CenteredRows
from mlcli.certify.subject import Subject, max_abs
from mlcli.methods.factors.check import principal

LOOSE = 10.0  # allowed distance from the maximum, in multiples of the iteration's tolerance
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


def latent_checks(subject: Subject) -> Iterator[Check]:
    """Yield the checks of a latent model against its points or their covariance."""
    if isinstance(subject.data, Covariance):
        data, loadings = subject.data.normalized(), subject.model.loadings
        if loadings is None:
            yield skipped("stationarity", "the loadings are not at hand")
            return
        observed = DataCovariance(lambda block: data.values @ block, np.diag(data.values).copy(),
                                  np.zeros(len(data.values)))
        yield from _maximum(subject, observed, data.unit.measured(loadings.values), data.unit)
    elif not all_finite(subject.data.values):
        moments, decoder = subject.similarity.column_moments, subject.projector.affine
        if moments is None:
            from mlcli.certify.probabilistic_gaps import gap_checks

            yield from gap_checks(subject, _loose(subject))
        else:
            yield from moment_checks(subject)
        if moments is not None and decoder is not None:
            observed = DataCovariance(lambda block: moments @ block, np.diag(moments).copy(), np.zeros(len(moments)))
            yield from _maximum(subject, observed, decoder.directions, subject.data.unit)
    else:
        yield from _complete_rows_checks(subject)


def _complete_rows_checks(subject: Subject) -> Iterator[Check]:
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
    deviations, far = np.sqrt(squares / size), 0.0 if projector.similarity.variances is None else _loose(subject)
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
    yield from _maximum(subject, observed, decoder.directions, subject.data.unit)


def _loose(subject: Subject) -> float:
    """Return the allowed relative distance of an iteration's result from the maximum; 0 for a closed form."""
    iterate = dict(subject.method).get("iterate")
    return LOOSE * float(iterate.tolerance) if iterate is not None and "converged" in subject.model.fit else 0.0


def _in_noise_units(subject: Subject, observed: DataCovariance, loadings: Array) -> NoiseUnitModel | None:
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
    if subject.method.noise == "equal":
        return NoiseUnitModel(loadings[varying], factors, np.ones(len(varying)), float(noise.mean()), varying)
    weights = np.sqrt(noise)
    return NoiseUnitModel(loadings=loadings[varying] / weights[:, None], factors=factors, weights=weights, level=1.0,
                          varying=varying, shares=shares[varying])


def _maximum(subject: Subject, observed: DataCovariance, loadings: Array, unit: Unit) -> Iterator[Check]:
    """Yield checks of the equations at the maximum, and of the likelihood and spectrum that the run states."""
    scaled = _in_noise_units(subject, observed, loadings)
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
    converged, loose = subject.model.fit.get("converged", True), _loose(subject)
    own = scaled.shares is not None  # loadings are exact for the uniquenesses at which the iteration ended
    least_squares = dict(subject.method).get("estimator") == "minres"
    if least_squares:
        yield _least_squares(scaled, observed, allowed)
    elif own or converged:
        yield ratio("stationarity", float(np.linalg.norm(images - u @ inner)),
                    (allowed + (0.0 if own else loose) * top) * max(float(np.linalg.norm(u)), np.sqrt(scaled.level)),
                    "A U = U (Φ UᵀU + σ² I), with A the covariance in units of the noise")
    if converged:
        yield _variances(subject, scaled, variances, allowed + loose * top)
    else:
        yield skipped("variances", "the iteration stopped before it converged")
    if not subject.plan.full:
        yield later("count")
    elif converged and u.shape[1] < len(u) and not least_squares:
        yield count_check(lambda: whitened(np.eye(len(u))), len(u), float(values[-1]), u.shape[1] - 1,
                          allowed + loose * top)
    if scaled.level > 0:
        yield from _likelihood(subject, scaled, variances, (values, np.sum(directions * along, axis=0)), unit, lost)
    far = loose if scaled.variances else 0.0  # sums of squares of loadings are exact wherever the iteration ended
    yield _spectrum(subject, scaled, observed, rounding + far + (rough / np.sqrt(top) if top > rough**2 else 1.0))
    if subject.places:
        yield _scores(subject, scaled, lost)


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


def _variances(subject: Subject, scaled: NoiseUnitModel, variances: Array, allowed: float) -> Check:
    """Check the model's variances: their sum, or each column's where its uniqueness is not at the bound."""
    predicted = np.einsum("ij,ij->i", scaled.loadings @ scaled.factors, scaled.loadings) + scaled.level
    if scaled.shares is None:
        return ratio("variances", abs(float(predicted.sum() - variances.sum())), allowed * len(predicted),
                     "tr (Λ Φ Λᵀ) + d σ² = tr S")
    gap = (predicted - variances) / variances  # with the smallest uniqueness allowed, the model's is no smaller
    low = scaled.shares <= subject.method.lower * (1 + AT_BOUND)
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


def _spectrum(subject: Subject, scaled: NoiseUnitModel, observed: DataCovariance, allowed: float) -> Check:
    """Check that the spectrum follows from the loadings: variances, or sums of squared loadings."""
    spectrum = subject.spectrum
    values, stated = spectrum.solved / spectrum.divisor, spectrum.solved_trace / spectrum.divisor
    expected = (np.ones(len(scaled.loadings)) if scaled.shares is None else scaled.shares) @ scaled.loadings**2
    total = stated
    if scaled.variances:
        if subject.method.rotation.name != "none":
            expected = principal(scaled.loadings, scaled.factors)[1] ** 2
        expected, total = expected + scaled.level, float(observed.variances.sum())
    wrong = np.abs(np.append(values[: len(expected)] - expected, stated - total))
    return ratio("spectrum", float(wrong.max()), allowed * max(total, float(values[:1].max(initial=0.0))),
                 "what the axes are ranked by follows from the loadings, and the trace from the data")


def _scores(subject: Subject, scaled: NoiseUnitModel, rounding: float) -> Check:
    """Check the scores' weights B: posterior means, C B = Λ Φ; or Bartlett's, Ψ B = Λ (BᵀΨ B)."""
    u, axes = scaled.loadings, subject.projector.axes[scaled.varying] * scaled.weights[:, None]
    bartlett = dict(subject.method).get("scores") == "bartlett"
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
