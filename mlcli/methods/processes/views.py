"""The bound of several views of the same Gaussian latent points, each with a process and length scales of its own.

log p(Y₁, Y₂, ..) ≥ Σ E log p(Yᵥ | X) - KL(X ‖ N(0, 1)), with the terms of every view as in the Bayesian model of one.
An axis whose length scale is long for a view has no part in it. Source: Damianou, Ek, Titsias and Lawrence, "Manifold
relevance determination", 2012.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import computed
from mlcli.base.types import Array
from mlcli.base.values.inputs import Features, Input, TwoViews
from mlcli.base.values.signs import leading_signs
from mlcli.core.iterate import Iterated
from mlcli.core.minimize import Point
from mlcli.methods.processes.fitting import FLOOR, FittedParameters, FittedProcess, Problem
from mlcli.methods.processes.latents import FreeClouds
from mlcli.methods.processes.likelihoods import Clouds, Observations
from mlcli.methods.processes.process import CovarianceFunction, GaussianProcess, start_covariance


@frozen
class ViewBound:
    """A view's bound, and its covariance at the start."""

    evidence: Clouds
    covariance: CovarianceFunction


@frozen
class SharedProblem(Problem):
    """The objective of all views: minus the bound, less the log-priors of parameters.

    A state has the inducing points of all views below each other, and their log parameters after each other.
    """

    views: tuple[ViewBound, ...] = ()

    @classmethod
    def of(cls, observed: Sequence[Observations], count: int, axes: int) -> "SharedProblem":
        """Return the problem of views that vary, with `count` inducing points each; their variances are fixed first."""
        views = tuple([ViewBound(Clouds(one, count, 1 / len(observed)),
                                 start_covariance(["rbf-ard"], one.variance, FLOOR, axes)) for one in observed])
        size = len(views[0].covariance.logs)
        return cls(views[0].evidence, FreeClouds(axes), views[0].covariance, False,
                   np.arange(size * len(views)) % size == 0, freed=True, views=views)

    @property
    def cells(self) -> int:
        """The number of values that the likelihood covers."""
        return sum(view.evidence.data.cells for view in self.views)

    def __call__(self, state: FittedParameters) -> tuple[float, FittedParameters]:
        """Return the objective and its derivatives."""
        points, (places, logs) = self.latents.points(state.latent), self.parts(state)
        value, slopes, by_logs = 0.0, [], []
        for view, own_places, own_logs in zip(self.views, places, logs, strict=True):
            slope = view.evidence(view.covariance.at(own_logs), points, own_places)
            off = np.append(own_logs[:-1] - view.covariance.logs[:-1], 0.0)
            value += 0.5 * float(off @ off) - slope.value
            slopes.append(slope)
            by_logs.append(off - slope.logs)
        latent = self.latents.pull_back(state.latent, -np.sum([slope.points for slope in slopes], axis=0))
        return value, FittedParameters(latent, -np.vstack([slope.places for slope in slopes]),
                                       self.constrain(np.concatenate(by_logs), 0.0))

    def parts(self, state: FittedParameters) -> tuple[list[Array], list[Array]]:
        """Return the inducing points (m x p) and the log parameters (q) of each view."""
        return np.split(state.places, len(self.views)), np.split(state.logs, len(self.views))

    def constrain(self, logs: Array, like: Array | float) -> Array:
        """Return log parameters, with those of `like` (all, or one number) where they are fixed."""
        return np.where(self.fixed, like, logs)

    def start(self, points: Array) -> FittedParameters:
        """Return the state at latent points (n x p), with the first parameters; raises NumericalError."""
        latent = self.latents.start(points)
        clouds = self.latents.points(latent)
        places = self.evidence.places(clouds)
        for view in self.views:
            view.evidence.jitter(view.covariance, clouds, places)
        return FittedParameters(latent, np.vstack([places] * len(self.views)),
                                np.concatenate([view.covariance.logs for view in self.views]))

    def result(self, state: FittedParameters, iterated: Iterated[Point]) -> FittedProcess:
        """Return the fitted processes, with axes in descending order of the mean of their shares in views."""
        places, logs = self.parts(state)
        covariances = [view.covariance.at(own) for view, own in zip(self.views, logs, strict=True)]
        points = self.latents.points(state.latent)
        turn = axes_turn(points[:, :state.places.shape[1]], covariances)
        latent = self.latents.rotate(state.latent, turn)
        points = self.latents.points(latent)
        parts = [(view.evidence, covariance.rotate(turn), own @ turn)
                 for view, covariance, own in zip(self.views, covariances, places, strict=True)]
        for _, covariance, _ in parts:
            computed("process", (covariance, points[:, : state.places.shape[1]]))
        posteriors = tuple([evidence.posterior(covariance, points, own) for evidence, covariance, own in parts])
        value = sum(evidence(covariance, points, own).value for evidence, covariance, own in parts)
        jitter = max(evidence.jitter(covariance, points, own) for evidence, covariance, own in parts)
        return FittedProcess(latent=latent, points=points, posteriors=posteriors, value=value, jitter=jitter,
                             iterated=iterated)


def relevance_shares(points: Array, covariances: Sequence[CovarianceFunction]) -> Array:
    """Return each axis's share of the relevances of a view (v x p), for latent means (n x p); zero without any."""
    found = np.array([covariance.relevances(points) for covariance in covariances])
    totals = found.sum(axis=1, keepdims=True)
    return np.divide(found, totals, out=np.zeros_like(found), where=totals > 0)


def axes_turn(points: Array, covariances: Sequence[CovarianceFunction]) -> Array:
    """Return the permutation (p x p) of latent means (n x p) that makes axes descend in relevance, with signs."""
    order = np.argsort(-relevance_shares(points, covariances).mean(axis=0), kind="stable")
    turn = np.eye(points.shape[1])[:, order]
    return np.asarray(turn * leading_signs(points @ turn))


def idle_process(observed: Observations, axes: int) -> GaussianProcess:
    """Return the process of a view that does not vary, for latent points with some axes."""
    return replace(GaussianProcess.constant(observed.mean), places=np.zeros((0, axes)))


def views_of(data: Input) -> list[Features]:
    """Return all views of features; none of another kind of input."""
    if isinstance(data, TwoViews):
        return [data, data.view]
    return [data] if isinstance(data, Features) else []


def side_by_side(views: Sequence[Features]) -> Features:
    """Return views (n x d each) as one table, each centered and of total variance one."""
    parts: list[Array] = []
    for view in views:
        centered = view.values - view.values.mean(axis=0)
        parts.append(centered / (float(np.sqrt(np.sum(centered**2) / len(centered))) or 1.0))
    return Features(np.hstack(parts), views[0].ids, [name for view in views for name in view.columns])


def axes_in_use(shares: Array, threshold: float) -> dict[str, Any]:
    """Return shares of relevances (v x p) with the axes that all views use, and those that each view uses alone.

    A view uses an axis from `threshold` times its largest share on; axes are numbered from one.
    """
    used = (shares >= threshold * shares.max(axis=1, keepdims=True)) & (shares > 0)
    alone = used & (used.sum(axis=0) == 1)
    return {"relevances": shares.tolist(), "shared_axes": (np.flatnonzero(used.all(axis=0)) + 1).tolist(),
            "private_axes": [(np.flatnonzero(own) + 1).tolist() for own in alone]}
