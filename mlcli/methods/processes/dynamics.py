"""Latent sequences with a Gaussian process from each point's predecessors to the point.

log p(X) = Σ log N(xₜ; 0, 1) over the first points + Σ log N(columns of X_out; 0, K), with K the covariance of X_in: row
t of X_in holds the `order` points before row t of X_out. Source: Wang, Fleet and Hertzmann, "Gaussian process dynamical
models for human motion", 2008.
"""

from dataclasses import replace
from math import log, pi
from typing import Annotated, Literal

import numpy as np
from pydantic import Strict

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.options import Options, option
from mlcli.methods.processes.fitting import FittedParameters, Problem
from mlcli.methods.processes.likelihoods import Exact, Observations, Slope
from mlcli.methods.processes.process import Bias, CovarianceFunction, GaussianProcess, start_covariance


@frozen
class Steps:
    """A sequence split into its first points, and points with their predecessors."""

    first: Array  # o x p
    before: Array  # s x o p, the point just before last
    after: Array  # s x p

    @classmethod
    def of(cls, points: Array, order: int) -> "Steps":
        """Return the steps of a sequence of points (n x p)."""
        last = len(points) - order
        return cls(points[:order], np.hstack([points[lag : lag + last] for lag in range(order)]), points[order:])

    @property
    def order(self) -> int:
        """o, the number of predecessors of a point."""
        return len(self.first)

    @property
    def observations(self) -> Observations:
        """The later points, as observations of a process with mean zero."""
        return Observations(self.after, np.zeros(self.after.shape[1]), self.after.shape[1], self.after)

    def gather(self, first: Array, before: Array, after: Array) -> Array:
        """Return the derivative by the points (n x p) from those by the parts (o x p, s x o p and s x p)."""
        slope, parts = np.vstack([first, after]), np.split(before, self.order, axis=1)
        for lag, part in enumerate(parts):
            slope[lag : lag + len(part)] += part
        return slope


@stored("motion", before="sop", weights="sp", known="ss")
@frozen
class Motion:
    """The posterior of the process from each point's predecessors to the point."""

    covariance: CovarianceFunction
    before: Array  # s x o x p
    weights: Array  # s x p
    known: Array  # s x s

    def __post_init__(self) -> None:
        """Raise ValueError for length scales of other axes, as of a damaged model."""
        self.covariance.require_axes(1)

    @classmethod
    def none(cls, order: int) -> "Motion":
        """Return a constant sequence on one axis."""
        return cls(CovarianceFunction((Bias(0.0),), 0.0), before=np.zeros((0, order, 1)), weights=np.zeros((0, 1)),
                   known=np.zeros((0, 0)))

    @property
    def order(self) -> int:
        """o, the number of predecessors of a point."""
        return int(self.before.shape[1])

    @property
    def posterior(self) -> GaussianProcess:
        """The posterior from the predecessors of a point (o p) to the point (p)."""
        steps, axes = self.weights.shape
        return GaussianProcess(self.covariance, places=self.before.reshape(steps, self.order * axes),
                               weights=self.weights,
                               known=self.known, mean=np.zeros(axes))


@frozen
class SequenceDensity:
    """log p(X) of a latent sequence, multiplied by `weight` in the objective."""

    covariance: CovarianceFunction  # at the start
    order: int
    weight: float = 1.0

    def __call__(self, logs: Array, points: Array) -> Slope:
        """Return the log-density of points (n x p) with its gradient, also by the logarithms of the parameters (q)."""
        steps, covariance = Steps.of(points, self.order), self.covariance.at(logs)
        found = Exact(steps.observations)(covariance, steps.before, points[:0])
        if found.values is None:
            return Slope.undefined(covariance, points, points[:0])
        value = found.value - 0.5 * float(np.sum(steps.first**2)) - 0.5 * steps.first.size * log(2 * pi)
        return replace(found, value=value, points=steps.gather(-steps.first, found.points, found.values))

    def motion(self, logs: Array, points: Array) -> Motion:
        """Return the process of steps given points (n x p) and log parameters (q); raises NumericalError."""
        steps, covariance = Steps.of(points, self.order), self.covariance.at(logs)
        known = Exact(steps.observations).posterior(covariance, steps.before, points[:0])
        return Motion(covariance, before=known.places.reshape(len(known.places), self.order, -1),
                      weights=known.weights, known=known.known)


class Dynamics(Options):
    """How a latent sequence moves."""

    kernel: Annotated[tuple[Literal["rbf", "linear", "bias"], ...], Strict(False)] = option(
        ("rbf", "linear"), "Terms of the kernel of the dynamics, which are added, together with white noise.",
        min_length=1)
    order: Literal[1, 2] = option(1, "Order of the dynamics: the next point depends on the last one (1), or on the "
                                  "last two (2).")
    floor: float = option(1e-4, "Lower bound of the noise of a step, as a share of the points' variance.", gt=0, lt=1)
    weight: float = option(1.0, "Weight of the log-density of the sequence, relative to that of the features.", gt=0)

    @property
    def density(self) -> SequenceDensity:
        """The density of a sequence of variance one."""
        return SequenceDensity(start_covariance(self.kernel, 1.0, self.floor), self.order, self.weight)


@frozen
class Trail:
    """Free points scaled to mean zero and mean square one, with the parameters of their steps appended.

    The scale is fixed, because the density grows without bound as points and steps shrink together.
    """

    axes: int
    density: SequenceDensity

    def start(self, points: Array) -> Array:
        """Return the initial parameters (n p + q) for (n, p) points."""
        return np.concatenate([points.ravel(), self.density.covariance.logs])

    def points(self, parameters: Array) -> Array:
        """Return the points (n x p) of a parameter vector."""
        return self._standard(parameters)[0]

    def logs(self, parameters: Array) -> Array:
        """Return the logarithms of the parameters of the steps, the last (q,) entries of a parameter vector."""
        return parameters[len(parameters) - len(self.density.covariance.logs) :]

    def pull_back(self, parameters: Array, slope: Array) -> Array:
        """Return the derivative by the parameters from that by the points (n x p), orthogonal to shift and scale.

        The derivative by the parameters of the steps is zero here.
        """
        points, scale = self._standard(parameters)
        across = slope - slope.mean(axis=0) - points * (float(np.sum(points * slope)) / points.size)
        return np.concatenate([(across / scale).ravel(), 0 * self.logs(parameters)])

    def rotate(self, parameters: Array, turn: Array) -> Array:
        """Return the parameters of points times a (p, p) rotation, which the density ignores."""
        return np.concatenate([(self._free(parameters) @ turn).ravel(), self.logs(parameters)])

    def map(self, parameters: Array) -> None:
        """Return None: the points are no function of features. Takes a parameter vector of any shape."""

    def _free(self, parameters: Array) -> Array:
        return parameters[: len(parameters) - len(self.density.covariance.logs)].reshape(-1, self.axes)

    def _standard(self, parameters: Array) -> tuple[Array, float]:
        centered = self._free(parameters)
        centered = centered - centered.mean(axis=0)
        scale = float(np.sqrt(np.mean(centered**2))) or 1.0
        return centered / scale, scale


@frozen
class SequenceProblem(Problem):
    """The objective where the prior of the latent points is the density of a sequence."""

    latents: Trail

    def __call__(self, state: FittedParameters) -> tuple[float, FittedParameters]:
        """Return the objective and its derivatives; the parameters of the steps have a log-normal prior too."""
        value, slope = Problem.__call__(self, state)
        density, logs = self.latents.density, self.latents.logs(state.latent)
        found = density(logs, self.latents.points(state.latent))
        off = logs - density.covariance.logs
        off[-1] = 0.0
        latent = slope.latent - density.weight * self.latents.pull_back(state.latent, found.points)
        latent[len(latent) - len(logs) :] += off - density.weight * found.logs
        return value + 0.5 * float(off @ off) - density.weight * found.value, replace(slope, latent=latent)
