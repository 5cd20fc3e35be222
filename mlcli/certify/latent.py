"""The latent model y = μ + Λ x + ε, x ~ N(0, Φ), ε ~ N(0, Ψ): what holds at the maximum of its likelihood.

In units in which all noise is equal (columns over roots ψ of Ψ, or as they are where Ψ = σ² I), with A the covariance
and U the loadings in these units, A U = U (Φ UᵀU + σ² I): Lawley and Maxwell, 1971; Tipping and Bishop, 1999.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import Covariance
from mlcli.base.values.scaling import Unit, all_finite
from mlcli.certify.eigen import nothing_above
from mlcli.certify.gaps import moment_checks, observations
from mlcli.certify.linear import Centered
from mlcli.certify.subject import Subject, most
from mlcli.stages.latent.model import Latent

LOOSE = 10.0  # multiple of an iteration's tolerance: how far its result may be from the maximum
ROUNDED = 100.0  # roundings that are taken for no noise
PATTERN = 1e-4  # seconds for rows that have the same cells, besides the arithmetic
CUBE, CELL = 2e-9, 2e-8  # seconds for d³ numbers of a pattern, and for a cell
AT_BOUND = 1e-9  # relative distance from a bound that counts as zero


@frozen
class Seen:
    """The covariance of the data (divisor n), as far as it is needed."""

    apply: Callable[[Array], Array]  # S times a block of vectors
    variances: Array  # d
    rough: Array  # d: rounding by means far from zero, in units of the columns


@frozen
class Fitted:
    """The model as it is held, of the columns that vary, each over its weight."""

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
    """All checks of a latent model against its points or their covariance."""
    if isinstance(subject.data, Covariance):
        data, loadings = subject.data.normalized(), subject.model.loadings
        if loadings is None:
            yield skipped("stationarity", "the loadings are not at hand")
            return
        seen = Seen(lambda block: data.values @ block, np.diag(data.values).copy(), np.zeros(len(data.values)))
        yield from _maximum(subject, seen, data.unit.measured(loadings.values), data.unit)
    elif not all_finite(subject.data.values):
        moments, decoder = subject.similarity.column_moments, subject.projector.affine
        yield from _with_gaps(subject, _loose(subject)) if moments is None else moment_checks(subject)
        if moments is not None and decoder is not None:
            seen = Seen(lambda block: moments @ block, np.diag(moments).copy(), np.zeros(len(moments)))
            yield from _maximum(subject, seen, decoder.directions, subject.data.unit)
    else:
        yield from _of_points(subject)


def _of_points(subject: Subject) -> Iterator[Check]:
    projector, decoder, data = subject.projector, subject.projector.affine, Centered.of(subject)
    size, rough = max(len(data.points), 1), EPS * np.maximum(data.points.max(axis=0), -data.points.min(axis=0))
    sums, squares, scores = data.passed(projector.axes, subject.embedding)
    weighed = float((rough + subject.rounding * np.sqrt(squares / max(len(data.chosen), 1)))
                    @ np.abs(projector.axes).sum(axis=1))
    yield ratio("scores", scores, weighed + subject.rounding * most(subject.embedding),
                "Y = (x - mean) B, row by row", exact=data.exact)
    if not data.exact or decoder is None:
        yield later("stationarity")
        return
    deviations, far = np.sqrt(squares / size), 0.0 if projector.similarity.variances is None else _loose(subject)
    yield ratio("means", most(sums) / size,
                8 * float(rough.max(initial=0.0)) + (EPS + far) * float(deviations.max(initial=0.0)),
                "the model's means are the columns' means")
    yield count("decoder", int(np.sum(decoder.mean != projector.centering.means)),
                "means that reconstruction and projection do not share")
    seen = Seen(lambda block: data.covariance(block) / size, squares / size, rough)
    yield from _maximum(subject, seen, decoder.directions, subject.data.unit)


def _loose(subject: Subject) -> float:
    """How far the result of an iteration may be from the maximum, relatively; 0 for a closed form."""
    iterate = dict(subject.method).get("iterate")
    return LOOSE * float(iterate.tolerance) if iterate is not None and "converged" in subject.model.fit else 0.0


def _fitted(subject: Subject, seen: Seen, loadings: Array) -> Fitted | None:
    """The model in units of equal noise; None where no column varies."""
    fit, columns = subject.model.fit, len(loadings)
    latent = subject.similarity.parts.latent if subject.places else None
    if latent is not None:
        return Fitted(loadings, np.eye(loadings.shape[1]), np.ones(columns), latent.noise,
                      np.arange(columns), variances=True)
    shares = np.array([np.nan if value is None else value for value in dict(fit.get("uniquenesses", {})).values()])
    varying = np.flatnonzero(np.isfinite(shares))
    if len(shares) != columns or not len(varying):
        return None
    noise, factors = (shares * seen.variances)[varying], np.asarray(fit["factor_correlations"], dtype=np.float64)
    if subject.method.noise == "equal":
        return Fitted(loadings[varying], factors, np.ones(len(varying)), float(noise.mean()), varying)
    weights = np.sqrt(noise)
    return Fitted(loadings=loadings[varying] / weights[:, None], factors=factors, weights=weights, level=1.0,
                  varying=varying, shares=shares[varying])


def _maximum(subject: Subject, seen: Seen, loadings: Array, unit: Unit) -> Iterator[Check]:
    """The equations of the maximum, and the figures that the run states of it."""
    fitted = _fitted(subject, seen, loadings)
    if fitted is None:
        yield skipped("stationarity", "no column varies, or the run does not hold its uniquenesses")
        return

    def whitened(block: Array) -> Array:
        """A times a block of vectors."""
        whole = np.zeros((len(loadings), block.shape[1]))
        whole[fitted.varying] = block / fitted.weights[:, None]
        return seen.apply(whole)[fitted.varying] / fitted.weights[:, None]

    u, inner = fitted.loadings, fitted.inner
    images, variances = whitened(u), seen.variances[fitted.varying] / fitted.weights**2
    values = np.sort(np.linalg.eigvals(inner).real)[::-1]
    top = max(float(values[0]), float(variances.max(initial=0.0)))
    rounding = EPS * max(subject.size, len(u), 10) + subject.spectrum.tolerance
    if 0 < fitted.level <= ROUNDED * rounding * top:
        yield skipped("stationarity", "the noise is only rounding, so the likelihood has no maximum")
        return
    rough = float(np.linalg.norm(seen.rough[fitted.varying] / fitted.weights))
    allowed = rounding * top + rough * np.sqrt(top) + rough**2
    lost = rounding + (rough**2 / fitted.level if fitted.level > 0 else 0.0)  # about rounded means
    converged, loose = subject.model.fit.get("converged", True), _loose(subject)
    own = fitted.shares is not None  # then loadings are exact for the uniquenesses at which an iteration ended
    if own or converged:
        yield ratio("stationarity", float(np.linalg.norm(images - u @ inner)),
                    (allowed + (0.0 if own else loose) * top) * max(float(np.linalg.norm(u)), np.sqrt(fitted.level)),
                    "A U = U (Φ UᵀU + σ² I), with A the covariance in units of the noise")
    if converged:
        yield _variances(subject, fitted, variances, allowed + loose * top)
    else:
        yield skipped("variances", "the iteration stopped before it converged")
    if not subject.plan.full:
        yield later("count")
    elif converged and u.shape[1] < len(u):
        yield nothing_above(lambda: whitened(np.eye(len(u))), len(u), float(values[-1]), u.shape[1] - 1,
                            allowed + loose * top)
    if fitted.level > 0:
        yield from _likelihood(subject, fitted, variances, images, unit, lost)
    far = loose if fitted.variances else 0.0  # sums of squares follow from the loadings, wherever an iteration is
    yield _spectrum(subject, fitted, seen, rounding + far + (rough / np.sqrt(top) if top > rough**2 else 1.0))
    if subject.places:
        yield _scores(subject, fitted, lost)


def _variances(subject: Subject, fitted: Fitted, variances: Array, allowed: float) -> Check:
    """Variances of the model are those of the data: in sum, or column by column where no bound is in the way."""
    predicted = np.einsum("ij,ij->i", fitted.loadings @ fitted.factors, fitted.loadings) + fitted.level
    if fitted.shares is None:
        return ratio("variances", abs(float(predicted.sum() - variances.sum())), allowed * len(predicted),
                     "tr (Λ Φ Λᵀ) + d σ² = tr S")
    gap = (predicted - variances) / variances  # with the smallest uniqueness allowed, the model's is no smaller
    low = fitted.shares <= subject.method.lower * (1 + AT_BOUND)
    error = np.where(low, np.maximum(-gap, 0.0), np.abs(gap))
    return ratio("variances", float(error.max(initial=0.0)), allowed,
                 f"diag (Λ Φ Λᵀ) + Ψ = diag S but for {int(low.sum())} columns at the bound")


def _likelihood(subject: Subject, fitted: Fitted, variances: Array, images: Array, unit: Unit,
                rounding: float) -> Iterator[Check]:
    """-n/2 (d ln 2π + ln |C| + tr C⁻¹S) with C = Λ Φ Λᵀ + Ψ."""
    rows, u = observations(subject), fitted.loadings
    whole = float(np.sum(variances)) / fitted.level
    explained = float(np.sum(u * (images @ np.linalg.solve(fitted.inner, fitted.factors)))) / fitted.level
    logs = np.concatenate([2 * np.log(fitted.weights), [
        (len(u) - u.shape[1]) * np.log(fitted.level), float(np.linalg.slogdet(fitted.inner)[1]),
        len(u) * (np.log(2 * np.pi) + 2 * unit.logarithm(1))]])
    yield from _stated(subject, -rows / 2 * (float(logs.sum()) + whole - explained),
                          rounding * rows / 2 * (whole + len(u) + float(np.abs(logs).sum())))


def _spectrum(subject: Subject, fitted: Fitted, seen: Seen, allowed: float) -> Check:
    """What the axes are ranked by follows from the loadings: variances, or sums of squared loadings."""
    spectrum = subject.spectrum
    values, stated = spectrum.solved / spectrum.divisor, spectrum.solved_trace / spectrum.divisor
    expected = (np.ones(len(fitted.loadings)) if fitted.shares is None else fitted.shares) @ fitted.loadings**2
    total = stated
    if fitted.variances:
        expected, total = expected + fitted.level, float(seen.variances.sum())
    wrong = np.abs(np.append(values[: len(expected)] - expected, stated - total))
    return ratio("spectrum", float(wrong.max()), allowed * max(total, float(values[:1].max(initial=0.0))),
                 "what the axes are ranked by follows from the loadings, and the trace from the data")


def _scores(subject: Subject, fitted: Fitted, rounding: float) -> Check:
    """Scores are posterior means, C B = Λ Φ; or Bartlett's, Ψ B = Λ (BᵀΨ B)."""
    u, axes = fitted.loadings, subject.projector.axes[fitted.varying] * fitted.weights[:, None]
    bartlett = dict(subject.method).get("scores") == "bartlett"
    if bartlett:
        gap = axes - u @ (axes.T @ axes)
    else:
        gap = u @ (fitted.factors @ (u.T @ axes)) + fitted.level * axes - u @ fitted.factors
    lengths = np.linalg.norm(u, axis=0)
    longest, shortest = lengths.max(initial=0.0), lengths[lengths > 0].min(initial=np.inf)
    size, wide = float(np.linalg.norm(axes)), float(np.linalg.norm(fitted.factors))
    # short loadings carry the rounding of long ones
    scale = longest * size * (size if bartlett else longest * wide) * max(longest / shortest, 1.0)
    return ratio("weights", float(np.linalg.norm(gap)), rounding * len(lengths) * (
        scale + wide * longest + max(fitted.level, float(bartlett)) * size),
        "the weights B of the scores follow from the model")


@dataclass
class Sums:
    """What is added up over rows."""

    log_likelihood: float = 0.0
    mean: Array = field(default_factory=lambda: np.zeros(0))  # ∂ / ∂ μ
    loadings: Array = field(default_factory=lambda: np.zeros((0, 0)))  # ∂ / ∂ W
    noise: float = 0.0  # ∂ / ∂ σ²
    worst: float = 0.0  # difference of a posterior mean or covariance
    cells: int = 0


def _with_gaps(subject: Subject, loose: float) -> Iterator[Check]:
    """Posteriors and likelihood of all rows, and that no direction raises it."""
    points, latent = subject.data.values, subject.similarity.latent
    size = float(np.sum(latent.loadings**2)) + len(latent.mean) * latent.noise
    if latent.noise <= ROUNDED * EPS * max(*points.shape, 10) * size:
        yield skipped("posterior", "the noise is only rounding, so the likelihood has no maximum")
        return
    patterns, kind = np.unique(~np.isnan(points), axis=0, return_inverse=True)
    cost = PATTERN + CUBE * points.shape[1] ** 3 + CELL * points.size / len(patterns)
    if not subject.plan.allows(0.5, cost * len(patterns)):
        yield later("posterior")
        return
    sums = Sums(mean=np.zeros(points.shape[1]), loadings=np.zeros_like(latent.loadings))
    for number, there in enumerate(patterns):
        _add(sums, subject, latent, np.flatnonzero(kind.ravel() == number), there)
    largest = float(np.fmax.reduce(np.abs(points), axis=None, initial=0.0))
    rounding = EPS * max(*points.shape, 10) * size / latent.noise
    rounding += EPS * largest * np.sqrt(points.shape[1] / latent.noise)  # what far means cost
    yield ratio("posterior", sums.worst, rounding * max(most(subject.embedding), 1.0),
                "x | y has mean Wᵀ C⁻¹ (y - μ) and covariance I - Wᵀ C⁻¹ W over the cells that are there")
    found = sums.log_likelihood - subject.data.unit.logarithm(sums.cells)
    yield from _stated(subject, found, rounding * (sums.cells + abs(found)))
    if not subject.model.fit.get("converged", True):
        yield skipped("stationarity", "the iteration stopped before it converged")
        return
    slopes = (float(np.linalg.norm(sums.loadings)) / len(points) / np.sqrt(size),
              float(np.linalg.norm(sums.mean)) / len(points) / np.sqrt(size), abs(sums.noise) / max(sums.cells, 1))
    yield ratio("stationarity", latent.noise * max(slopes), loose + rounding,
                "the likelihood has no slope in μ, W and σ²")


def _stated(subject: Subject, likelihood: float, scale: float) -> Iterator[Check]:
    """The log-likelihood is as stated, and no step of an iteration lowered it."""
    stated, trace = subject.model.fit.get("log_likelihood"), subject.model.trace
    if stated is not None:
        yield ratio("log-likelihood", abs(likelihood - stated), scale, "the sum of the rows' log-densities, as stated")
    if trace is not None and len(trace):
        trace = trace if stated is None else np.append(trace, stated)
        yield ratio("ascent", float(np.maximum(-np.diff(trace), 0.0).max(initial=0.0)),
                    scale + EPS * float(np.abs(trace).max()), "no step lowers the likelihood")


def _add(sums: Sums, subject: Subject, latent: Latent, rows: Indices, there: AnyArray) -> None:
    """The terms of rows that have the same cells."""
    residuals, loadings = (subject.data.values[rows] - latent.mean)[:, there], latent.loadings[there]
    inverse = np.linalg.inv(loadings @ loadings.T + latent.noise * np.eye(len(loadings)))
    gain, solved = inverse @ loadings, residuals @ inverse
    spread = np.eye(loadings.shape[1]) - loadings.T @ gain
    sums.worst = max(sums.worst, most(residuals @ gain - subject.embedding[rows]))
    if subject.model.spreads is not None:
        sums.worst = max(sums.worst, most(subject.model.spreads[rows] - spread))
    sums.log_likelihood -= 0.5 * (float(np.sum(residuals * solved)) + len(rows) * (
        len(loadings) * np.log(2 * np.pi) - float(np.linalg.slogdet(inverse)[1])))
    curve = solved.T @ solved - len(rows) * inverse
    sums.mean[there] += solved.sum(axis=0)
    sums.loadings[there] += curve @ loadings
    sums.noise += 0.5 * float(np.trace(curve))
    sums.cells += residuals.size
