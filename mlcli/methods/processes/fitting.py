"""The most probable latent points and parameters of a Gaussian process, by L-BFGS with analytic gradients."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.core.iterate import Iterated
from mlcli.core.linalg import threads_for
from mlcli.core.minimize import Minimize, Point
from mlcli.methods.processes.covariances import CovarianceFunction
from mlcli.methods.processes.evidence import Likelihood
from mlcli.methods.processes.latents import Latents
from mlcli.methods.processes.posterior import GaussianProcess


@frozen
class FittedParameters:
    """All fitted parameters."""

    latent: Array  # parameters of the latent points
    places: Array  # inducing points, m x p
    logs: Array  # of the covariance's parameters


@frozen
class Problem:
    """The objective -log p(Y | X) - log p(X) - log p(parameters), up to constants of the priors.

    One scale is fixed, because coordinates and length scales can shrink together at no cost: a parameter, or the
    product of the length scales where each axis has its own. On nearly linear data the same holds for coordinates and
    inverse variances, and length scales of irrelevant axes grow without bound. So parameters have a prior too:
    log-normal around their start with deviation one, except for the noise.
    """

    evidence: Likelihood
    latents: Latents
    covariance: CovarianceFunction  # at the start
    prior: bool  # whether latent points are standard normal
    fixed: AnyArray  # mask of the covariance's parameters whose product is constant
    freed: bool = False  # whether that product is optimized too, after convergence of the others

    def __call__(self, state: FittedParameters) -> tuple[float, FittedParameters]:
        """Return the objective and its derivatives."""
        points = self.latents.points(state.latent)
        slope = self.evidence(self.covariance.at(state.logs), points, state.places)
        off = np.append(state.logs[:-1] - self.covariance.logs[:-1], 0.0)
        value = 0.5 * float(off @ off) + 0.5 * self.prior * float(np.sum(points**2)) - slope.value
        latent = self.latents.pull_back(state.latent, self.prior * points - slope.points)
        return value, FittedParameters(latent, -slope.places, self.constrain(off - slope.logs, 0.0))

    def constrain(self, logs: Array, like: Array | float) -> Array:
        """Return log parameters (q) with the mean of `like` (q, or one number) over those with a fixed product."""
        return logs + self.fixed * np.mean(like - logs, where=self.fixed) if self.fixed.any() else logs

    def at(self, start: FittedParameters, values: Array) -> FittedParameters:
        """Return the state for a vector of all parameters, in the shapes of `start`."""
        latent, places, logs = np.split(values, np.cumsum([start.latent.size, start.places.size]))
        return FittedParameters(latent, places.reshape(start.places.shape), self.constrain(logs, start.logs))

    def vector(self, state: FittedParameters) -> Array:
        """Return the parameters of a state, or derivatives by them, as one vector."""
        return np.concatenate([state.latent, state.places.ravel(), state.logs])

    def fit(self, points: Array, minimize: Minimize) -> tuple[FittedParameters, Iterated[Point]]:
        """Return the minimum reached from latent points (n x p), and the iterations; raises NumericalError."""
        state, ended = self.minimize_from(self.start(points), minimize)
        left = minimize.limit - len(ended.trace)
        if not (self.freed and left):
            return state, ended
        state, further = self.final.minimize_from(state, minimize.replace(limit=left))
        return state, replace(further, trace=np.append(ended.trace, further.trace))

    @property
    def cells(self) -> int:
        """The number of values that the likelihood covers."""
        return self.evidence.data.cells

    def start(self, points: Array) -> FittedParameters:
        """Return the state at latent points (n x p), with the first parameters; raises NumericalError."""
        latent = self.latents.start(points)
        start = FittedParameters(latent, self.evidence.places(self.latents.points(latent)), self.covariance.logs)
        self.evidence.jitter(self.covariance, self.latents.points(latent), start.places)  # raises NumericalError
        return start

    @property
    def final(self) -> "Problem":
        """The problem that is minimized last: with all parameters free, if it is freed."""
        return replace(self, fixed=np.zeros_like(self.fixed)) if self.freed else self

    def minimize_from(self, start: FittedParameters, minimize: Minimize) -> tuple[FittedParameters, Iterated[Point]]:
        """Return the minimum reached from a state, and the iterations."""

        def function(values: Array) -> tuple[float, Array]:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a step may go too far
                value, slope = self(self.at(start, values))
            return value, self.vector(slope)

        ended = minimize(function, self.vector(start), numbers=self.cells)
        return self.at(start, ended.state.values), ended

    def result(self, state: FittedParameters, iterated: Iterated[Point]) -> "FittedProcess":
        """Return the fitted process with canonical axes."""
        points, covariance = self.latents.points(state.latent), self.covariance.at(state.logs)
        turn = covariance.turn(points[:, : state.places.shape[1]])
        latent, covariance = self.latents.rotate(state.latent, turn), covariance.rotate(turn)
        points, places = self.latents.points(latent), state.places @ turn
        value = self.evidence(covariance, points, places).value
        return FittedProcess(latent=latent, points=points, covariance=covariance, value=value, iterated=iterated,
                             posterior=self.evidence.posterior(covariance, points, places),
                             jitter=self.evidence.jitter(covariance, points, places))


@frozen
class FittedProcess:
    """A fitted model, its axes in descending order of relevance."""

    latent: Array  # parameters of the latent points
    points: Array  # n x p, or n x 2p: means, and logarithms of variances
    covariance: CovarianceFunction
    posterior: GaussianProcess
    value: float  # the log-likelihood, or its bound
    jitter: float
    iterated: Iterated[Point]

    @property
    def means(self) -> Array:
        """The latent points (n x p)."""
        return self.points[:, : self.posterior.places.shape[1]]

    @property
    def spreads(self) -> Array | None:
        """The covariances of clouds (n x p x p); None for points."""
        size = self.posterior.places.shape[1]
        if self.points.shape[1] == size:
            return None
        return np.asarray(np.exp(self.points[:, size:])[:, :, None] * np.eye(size))


def best(problem: Problem, starts: Sequence[Array], minimize: Minimize) -> FittedProcess:
    """Return the fit with the lowest minimum, of those reached from several starts (n x p each)."""
    import scipy.linalg  # noqa: F401  load it before its threads are limited

    with threads_for(len(starts[0])):
        return _best(problem, starts, minimize)


def _best(problem: Problem, starts: Sequence[Array], minimize: Minimize) -> FittedProcess:
    ends = [problem.fit(points, minimize) for points in starts]
    return problem.result(*min(ends, key=lambda end: end[1].state.objective))
