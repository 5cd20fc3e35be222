"""Probabilistic PCA of rows with missing cells: posteriors, likelihood and its slopes, pattern by pattern."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, later, ratio, skipped
from mlcli.certify.likelihood import ROUNDED, factors_of, stated_checks
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.latent.probabilistic import Latent

PATTERN = 1e-4  # seconds of overhead for each pattern of missing cells
CUBE, CELL = 2e-9, 2e-8  # seconds for each of d³ products of a pattern, and for each cell


@dataclass
class Sums:
    """Sums over rows."""

    log_likelihood: float = 0.0
    mean: Array = field(default_factory=lambda: np.zeros(0))  # ∂ / ∂ μ
    loadings: Array = field(default_factory=lambda: np.zeros((0, 0)))  # ∂ / ∂ W
    noise: float = 0.0  # ∂ / ∂ σ²
    worst: float = 0.0  # difference of a posterior mean or covariance
    cells: int = 0


def gap_checks(subject: Subject, loose: float) -> Iterator[Check]:
    """Yield checks of posteriors and likelihood of rows with missing cells, and of its stationarity."""
    points, latent, decoder = subject.data.values, subject.similarity.latent, subject.projector.affine
    if decoder is not None and subject.method.rotation.name != "none":
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
    sums = Sums(mean=np.zeros(points.shape[1]), loadings=np.zeros_like(latent.loadings))
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
    yield ratio("stationarity", latent.noise * max(slopes), loose + rounding,
                "the likelihood has no slope in μ, W and σ²")


def _add(sums: Sums, subject: Subject, model: tuple[Latent, Array], rows: Indices, there: AnyArray) -> None:
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
