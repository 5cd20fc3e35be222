"""The certificate of a Gaussian process latent variable model: places, decoder, likelihood and relevances."""

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.methods.identities.processes.gaussian_objective import Varying, figures_of, log_bound, log_density
from mlcli.stages.gaussian.posterior import Posterior


def process_checks(posterior: Posterior, points: Array, latent: Array, stated: float | None) -> list[Check]:
    """Check places, decoder and likelihood of features (n x d) at latent points (n x p), without inducing points.

    `stated` is the log-likelihood in the unit of the features; None where the run states none.
    """
    if not len(posterior.places):
        return [skipped("process", "rows are all equal")]
    alike = posterior.places.shape == latent.shape
    places = count("places", int(np.sum(posterior.places != latent)) if alike else len(latent),
                   "latent points that are not the embedding's")
    if places.verdict == "fail":
        return [places]
    figures, there = figures_of(posterior.covariance), np.ptp(points, axis=0) > 0
    varying = Varying.of(points)
    found = log_density(figures, latent, varying)
    gaps = (posterior.means(latent) - points)[:, there] + figures["noise_variance"] * found.solved
    size = float(np.abs(varying.values).max())
    return [places, ratio("decoder", float(np.abs(gaps).max()), EPS * found.condition * size + varying.wrong,
                          "the decoder at the latent points leaves the noise's share of K⁻¹ Y"),
            ratio("log_likelihood", np.inf if stated is None else abs(found.value - stated), found.noise,
                  "log |K| and tr K⁻¹ Y Yᵀ from elimination")]


def bound_checks(posterior: Posterior, points: Array, latent: Array, stated: float | None) -> list[Check]:
    """Check the bound on the likelihood of features (n x d) by inducing points; `latent` are points or clouds.

    Clouds are means, then logarithms of variances (n x 2p).
    """
    if not len(posterior.places):
        return [skipped("process", "rows are all equal")]
    value, noise = log_bound(figures_of(posterior.covariance), latent, posterior.places, Varying.of(points).compact)
    return [ratio("log_likelihood", np.inf if stated is None else abs(value - stated), noise,
                  "the bound by inducing points, from eigenvalues of Q")]


def relevance_check(posterior: Posterior, latent: Array, stated: Array) -> Check:
    """Check that the spectrum (p) holds variances of slopes along axes, times those of latent points (n x p)."""
    figures = figures_of(posterior.covariance)
    lengths = np.broadcast_to(np.asarray(figures.get("rbf_lengths", [1.0])), latent.shape[1])
    slopes = figures.get("rbf_variance", 0.0) / lengths**2 + figures.get("linear_variance", 0.0)
    spread = np.mean((latent - latent.mean(axis=0)) ** 2, axis=0)
    gap = np.abs(slopes * spread - stated[: len(spread)])
    size = float(np.max(slopes * (spread + latent.mean(axis=0) ** 2), initial=0.0))
    return ratio("relevances", float(gap.max(initial=0.0)), 10 * EPS * max(len(latent), 10) * size,
                 "variances of the axes, times those of slopes along them")
