"""The latent model of rows with missing cells: posteriors and likelihood from the covariance of what each row has."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from mlcli.base.check import EPS, Check, ratio, skipped
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.certify.plan import later
from mlcli.certify.subject import Subject
from mlcli.stages.latent.model import Latent

ROUNDED = 100.0  # roundings that are taken for no noise
PATTERN = 1e-4  # seconds for rows that have the same cells, besides the arithmetic
CUBE, CELL = 2e-9, 2e-8  # seconds for d³ numbers of a pattern, and for a cell


@dataclass
class Sums:
    """What is added up over rows."""

    log_likelihood: float = 0.0
    mean: Array = field(default_factory=lambda: np.zeros(0))  # ∂ / ∂ μ
    loadings: Array = field(default_factory=lambda: np.zeros((0, 0)))  # ∂ / ∂ W
    noise: float = 0.0  # ∂ / ∂ σ²
    worst: float = 0.0  # difference of a posterior mean or covariance
    cells: int = 0


def with_gaps(subject: Subject, loose: float) -> Iterator[Check]:
    """Posteriors and likelihood of all rows, and that no direction raises it."""
    points, latent = subject.data.values, subject.similarity.latent
    size = float(np.sum(latent.loadings**2)) + len(latent.mean) * latent.noise
    if latent.noise <= ROUNDED * EPS * max(*points.shape, 10) * size:
        yield skipped("posterior", "the noise is no more than rounding, and the likelihood has no maximum")
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
    yield ratio("posterior", sums.worst, rounding * max(float(np.abs(subject.embedding).max(initial=0.0)), 1.0),
                "x | y has mean Wᵀ C⁻¹ (y - μ) and covariance I - Wᵀ C⁻¹ W over the cells that are there")
    found = sums.log_likelihood - sums.cells * subject.data.exponent * np.log(2.0)
    yield from likelihood(subject, found, rounding * (sums.cells + abs(found)))
    if not subject.model.fit.get("converged", True):
        yield skipped("stationarity", "the iteration stopped before it converged")
        return
    slopes = (float(np.linalg.norm(sums.loadings)) / len(points) / np.sqrt(size),
              float(np.linalg.norm(sums.mean)) / len(points) / np.sqrt(size), abs(sums.noise) / max(sums.cells, 1))
    yield ratio("stationarity", latent.noise * max(slopes), loose + rounding,
                "the likelihood has no slope in μ, W and σ²")


def likelihood(subject: Subject, found: float, scale: float) -> Iterator[Check]:
    """The log-likelihood is as stated, and no step of an iteration lowered it."""
    stated, trace = subject.model.fit.get("log_likelihood"), subject.model.trace
    if stated is not None:
        yield ratio("log-likelihood", abs(found - stated), scale, "the sum of the rows' log-densities, as stated")
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
    sums.worst = max(sums.worst, float(np.abs(residuals @ gain - subject.embedding[rows]).max(initial=0.0)))
    if subject.model.spreads is not None:
        sums.worst = max(sums.worst, float(np.abs(subject.model.spreads[rows] - spread).max(initial=0.0)))
    sums.log_likelihood -= 0.5 * (float(np.sum(residuals * solved)) + len(rows) * (
        len(loadings) * np.log(2 * np.pi) - float(np.linalg.slogdet(inverse)[1])))
    curve = solved.T @ solved - len(rows) * inverse
    sums.mean[there] += solved.sum(axis=0)
    sums.loadings[there] += curve @ loadings
    sums.noise += 0.5 * float(np.trace(curve))
    sums.cells += residuals.size
