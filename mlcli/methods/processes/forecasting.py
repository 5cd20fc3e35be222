"""Prediction of the next rows of a fitted sequence: means in latent space, with variances propagated linearly.

x̂ₜ = g(x̂ₜ₋₁) and Vₜ = J Vₜ₋₁ Jᵀ + s² I with the slope J and the variance s² of g there; features have the mean f(x̂ₜ)
and the variance of f there, plus Vₜ propagated by its slopes. Source: Girard, Rasmussen, Quiñonero-Candela and
Murray-Smith, "Gaussian process priors with uncertain inputs", 2003; Wang, Fleet and Hertzmann, 2008.
"""

import numpy as np

from mlcli.base.types import Array
from mlcli.core.forecast import Forecast
from mlcli.methods.processes.dynamics import Motion
from mlcli.methods.processes.posterior import Posterior


def forecast(posterior: Posterior, motion: Motion, latent: Array, count: int) -> Forecast:
    """Return the `count` rows that follow those at the latent points (n x p)."""
    steps, (axes, order) = motion.posterior, (latent.shape[1], motion.order)
    past, spread = latent[len(latent) - order :].ravel(), np.zeros((order * axes, order * axes))
    points, variances = np.empty((count, axes)), np.empty((count, len(posterior.mean)))
    for row in range(count):
        shift = np.vstack([np.eye(order * axes)[axes:], slopes(steps, past)])
        spread = shift @ spread @ shift.T
        spread[-axes:, -axes:] += steps.variances(past[None])[0] * np.eye(axes)
        points[row] = steps.means(past[None])[0]
        past = np.append(past[axes:], points[row])
        down = slopes(posterior, points[row])
        variances[row] = np.einsum("ij,jk,ik->i", down, spread[-axes:, -axes:], down)
    variances += posterior.variances(points)[:, None] * posterior.varying
    return Forecast(points, posterior.means(points), np.sqrt(variances))


def slopes(posterior: Posterior, point: Array) -> Array:
    """Return the derivative of the means (d x p) at a point (p)."""
    left = np.repeat(point[None], len(posterior.mean), axis=0)
    parts = posterior.covariance.parts(left, posterior.places)
    return posterior.covariance.pull_back(posterior.weights.T, parts, left=left, right=posterior.places)[1]
