"""The certificate of a Gaussian process latent variable model, with the formulas of its kernel written out again.

Unlike the fit it uses no Cholesky factors: determinants and solutions come from elimination with pivots.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.stages.gaussian.posterior import Posterior


def process_checks(posterior: Posterior, points: Array, latent: Array, stated: float | None, *,
                   exact: bool = True) -> list[Check]:
    """Check places, decoder and likelihood of features (n x d) at latent points (n x p), without inducing points.

    `stated` is the log-likelihood in the unit of the features; None where the run states none. `exact` is false where
    inducing points carry the fit, which is not checked.
    """
    if not len(posterior.places):
        return [skipped("process", "rows are all equal")]
    if not exact:
        return [skipped("process", "inducing points carry the fit")]
    alike = posterior.places.shape == latent.shape
    places = count("places", int(np.sum(posterior.places != latent)) if alike else len(latent),
                   "latent points that are not the embedding's")
    if places.verdict == "fail":
        return [places]
    figures = {name: getattr(value, "value", value) for name, value in posterior.covariance.facts().items()}
    matrix = kernel(figures, latent)
    matrix[np.diag_indices_from(matrix)] += figures["noise_variance"]
    varying = points[:, np.ptp(points, axis=0) > 0]
    centered = varying - varying.mean(axis=0)
    condition = float(np.trace(matrix)) / figures["noise_variance"]
    means = posterior.means(latent)[:, np.ptp(points, axis=0) > 0] - varying.mean(axis=0)
    solved = np.linalg.solve(matrix, centered)
    fitted = centered - figures["noise_variance"] * solved
    size, wrong = float(np.abs(centered).max()), EPS * float(np.abs(varying).max()) * np.sqrt(len(points))
    decoder = ratio("decoder", float(np.abs(means - fitted).max()), EPS * condition * size + wrong,
                    "the decoder at the latent points leaves the noise's share of K⁻¹ Y")
    logarithm = float(np.linalg.slogdet(matrix)[1])
    energy = float(np.sum(solved * centered))
    value = -0.5 * (centered.shape[1] * (logarithm + len(latent) * np.log(2 * np.pi)) + energy)
    scale = EPS * (condition * energy + centered.size * (condition + np.log(condition)))
    scale += wrong * float(np.abs(solved).sum())
    gap = np.inf if stated is None else abs(value - stated)
    return [places, decoder, ratio("log_likelihood", gap, scale, "log |K| and tr K⁻¹ Y Yᵀ from elimination")]


def kernel(figures: Mapping[str, Any], points: Array) -> Array:
    """Return the sum of the kernel's terms (n x n) for all pairs of points (n x p)."""
    from scipy.spatial.distance import cdist

    matrix = np.full((len(points), len(points)), float(figures.get("bias_variance", 0.0)))
    if "rbf_variance" in figures:
        scaled = points / np.asarray(figures["rbf_lengths"])
        matrix += figures["rbf_variance"] * np.exp(-0.5 * cdist(scaled, scaled, "sqeuclidean"))
    return matrix + figures.get("linear_variance", 0.0) * np.einsum("iq,jq->ij", points, points)


def relevance_check(posterior: Posterior, latent: Array, stated: Array) -> Check:
    """Check that the spectrum (p) holds variances of slopes along axes, times those of latent points (n x p)."""
    figures = {name: getattr(value, "value", value) for name, value in posterior.covariance.facts().items()}
    lengths = np.broadcast_to(np.asarray(figures.get("rbf_lengths", [1.0])), latent.shape[1])
    slopes = figures.get("rbf_variance", 0.0) / lengths**2 + figures.get("linear_variance", 0.0)
    spread = np.mean((latent - latent.mean(axis=0)) ** 2, axis=0)
    gap = np.abs(slopes * spread - stated[: len(spread)])
    size = float(np.max(slopes * (spread + latent.mean(axis=0) ** 2), initial=0.0))
    return ratio("relevances", float(gap.max(initial=0.0)), 10 * EPS * max(len(latent), 10) * size,
                 "variances of the axes, times those of slopes along them")
