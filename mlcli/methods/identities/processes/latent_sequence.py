"""The certificate of a latent sequence with Gaussian process dynamics, with the formulas written out again.

It uses no factors: solutions are inserted into their equations, and the determinant comes from elimination.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.processes.gaussian_objective import Varying, figures_of, kernel, log_density
from mlcli.stages.gaussian.posterior import Posterior


def sequence_checks(similarity: Any, latent: Array, fit: Mapping[str, Any]) -> Iterator[Check]:
    """Check latent points (n x p) and their dynamics; `similarity` is a `LatentSequence`."""
    posterior, motion = similarity.posterior, similarity.motion
    if not len(posterior.places):
        yield skipped("steps", "rows are all equal")
        return
    order, before = motion.order, points_before(latent, motion.order)
    if before.shape != motion.before.shape or np.any(before != motion.before):
        yield count("steps", 1, "steps that are not the embedding's")
        return
    figures, after = figures_of(motion.covariance), latent[order:]
    before = before.reshape(len(after), -1)
    matrix, noise = kernel(figures, before, before), figures["noise_variance"]
    matrix[np.diag_indices_from(matrix)] += noise
    left = max(np.abs(matrix @ motion.weights - after).max() / np.abs(after).max(),
               np.abs(matrix @ motion.known - np.eye(len(after))).max())
    yield ratio("steps", float(left), EPS * float(np.trace(matrix)) / noise,
                "K W are the later points, and K times its inverse is 1")
    (value, scale), stated = sequence_density(figures, latent, order), fit["dynamics_log_density"]
    yield ratio("density", np.inf if stated is None else abs(value - stated), scale,
                "log |K| and tr K⁻¹ X Xᵀ of the steps, from elimination")
    wrong = sum(fit[f"dynamics_{name}"] != value for name, value in figures.items())
    yield count("parameters of steps", wrong, "parameters in the model that are not those stated")


def points_before(points: Array, order: int) -> Array:
    """Return the `order` points before each point of a sequence (n x p) but the first ones (n - order x order x p)."""
    last = len(points) - order
    return np.stack([points[lag : lag + last] for lag in range(order)], axis=1)


def sequence_density(figures: Mapping[str, Any], latent: Array, order: int) -> tuple[float, float]:
    """Return the log-density of a sequence of latent points (n x p) with its rounding; the first points are normal.

    Source: Wang, Fleet and Hertzmann, 2008.
    """
    after = latent[order:]
    before = points_before(latent, order).reshape(len(after), -1)
    found = log_density(figures, before, Varying(after, latent.shape[1], 0.0))
    first = latent[:order]
    return (found.value - 0.5 * float(np.sum(first**2)) - 0.5 * first.size * np.log(2 * np.pi),
            found.noise + EPS * float(np.sum(first**2)))


def forecast_check(similarity: Any, model: Model) -> Iterator[Check]:
    """Check that each point of the forecast follows from those before it, and is decoded to its row."""
    ahead, motion, posterior = model.forecast, similarity.motion, similarity.posterior
    if ahead is None or not len(posterior.places):
        return
    order, steps = motion.order, motion.posterior
    points = np.vstack([model.embedding[len(model.embedding) - order :], ahead.points])
    before = points_before(points, order).reshape(len(ahead.points), -1)
    gaps = [forecast_error(steps, before, ahead.points), forecast_error(posterior, ahead.points, ahead.means)]
    yield ratio("forecast", max(gaps), EPS * len(posterior.places),
                "every point is the mean step from those before, and leads to its row")


def forecast_error(process: Posterior, places: Array, stated: Array) -> float:
    """Return the largest error of stated means (m x d) at places (m x p), relative to the terms of their sums."""
    values = kernel(figures_of(process.covariance), places, process.places)
    sizes = np.abs(values) @ np.abs(process.weights) + np.abs(process.mean)
    return float(np.max(np.abs(process.mean + values @ process.weights - stated) / np.where(sizes > 0, sizes, 1.0)))
