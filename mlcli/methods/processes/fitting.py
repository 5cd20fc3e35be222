"""The fit of latent points and parameters of a Gaussian process by L-BFGS, its inference, and the methods' base."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import OPTIMIZE
from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.stages.stage import computed
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import Options, option
from mlcli.base.values.scaling import all_finite
from mlcli.core.chain.starts import Start, standardize
from mlcli.core.eigen.options import Axes, first_columns
from mlcli.core.iterate import Iterated
from mlcli.core.linalg import threads_for
from mlcli.core.minimize import Minimize, Point
from mlcli.core.model import Powers
from mlcli.errors import ConfigError, DataError
from mlcli.methods.method import Method
from mlcli.methods.processes.latents import FreeClouds, Latents
from mlcli.methods.processes.likelihoods import Clouds, Exact, Likelihood, Observations, SparseLikelihood
from mlcli.methods.processes.process import CovarianceFunction, GaussianProcess, Name, start_covariance


@frozen
class FittedParameters:
    """All fitted parameters."""

    latent: Array  # parameters of the latent points
    places: Array  # inducing points, m x p
    logs: Array  # of the covariance's parameters


@frozen
class Objective:
    """An objective of latent points, inducing points and parameters, which a fit minimizes."""

    def __call__(self, state: FittedParameters) -> tuple[float, FittedParameters]:
        """Return the objective and its derivatives."""
        raise NotImplementedError

    @property
    def cells(self) -> int:
        """The number of values that the likelihood covers."""
        raise NotImplementedError

    def constrain(self, logs: Array, like: Array | float) -> Array:
        """Return log parameters (q) that keep what is fixed as in `like` (q, or one number)."""
        raise NotImplementedError

    def fit(self, points: Array, minimize: Minimize) -> tuple[FittedParameters, Iterated[Point]]:
        """Return the minimum reached from latent points (n x p), and the iterations; raises NumericalError."""
        raise NotImplementedError

    def result(self, state: FittedParameters, iterated: Iterated[Point]) -> "FittedProcess":
        """Return the fitted process with canonical axes."""
        raise NotImplementedError

    def at(self, start: FittedParameters, values: Array) -> FittedParameters:
        """Return the state for a vector of all parameters, in the shapes of `start`."""
        latent, places, logs = np.split(values, np.cumsum([start.latent.size, start.places.size]))
        return FittedParameters(latent, places.reshape(start.places.shape), self.constrain(logs, start.logs))

    def vector(self, state: FittedParameters) -> Array:
        """Return the parameters of a state, or derivatives by them, as one vector."""
        return np.concatenate([state.latent, state.places.ravel(), state.logs])

    def minimize_from(self, start: FittedParameters, minimize: Minimize) -> tuple[FittedParameters, Iterated[Point]]:
        """Return the minimum reached from a state, and the iterations."""

        def function(values: Array) -> tuple[float, Array]:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a step may go too far
                value, slope = self(self.at(start, values))
            return value, self.vector(slope)

        ended = minimize(function, self.vector(start), numbers=self.cells)
        return self.at(start, ended.state.values), ended


@frozen
class Problem(Objective):
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

    def result(self, state: FittedParameters, iterated: Iterated[Point]) -> "FittedProcess":
        """Return the fitted process with canonical axes."""
        points, covariance = self.latents.points(state.latent), self.covariance.at(state.logs)
        turn = covariance.turn(points[:, : state.places.shape[1]])
        latent, covariance = self.latents.rotate(state.latent, turn), covariance.rotate(turn)
        points, places = self.latents.points(latent), state.places @ turn
        value = self.evidence(covariance, points, places).value
        computed("process", (covariance, points[:, : state.places.shape[1]]))
        return FittedProcess(latent=latent, points=points, value=value, iterated=iterated,
                             posteriors=(self.evidence.posterior(covariance, points, places),),
                             jitter=self.evidence.jitter(covariance, points, places))


@frozen
class FittedProcess:
    """A fitted model, its axes in descending order of relevance."""

    latent: Array  # parameters of the latent points
    points: Array  # n x p, or n x 2p: means, and logarithms of variances
    posteriors: tuple[GaussianProcess, ...]  # of each view
    value: float  # the log-likelihood, or its bound
    jitter: float
    iterated: Iterated[Point]

    @property
    def posterior(self) -> GaussianProcess:
        """The process of the only view, or of the first."""
        return self.posteriors[0]

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


def best(problem: Objective, starts: Sequence[Array], minimize: Minimize) -> FittedProcess:
    """Return the fit with the lowest minimum, of those reached from several starts (n x p each)."""
    import scipy.linalg  # noqa: F401  load it before its threads are limited

    with threads_for(len(starts[0])):
        ends = [problem.fit(points, minimize) for points in starts]
        return problem.result(*min(ends, key=lambda end: end[1].state.objective))


FLOOR = 1e-6  # least noise, as a share of the data's variance
USUAL = 500  # typical number of iterations
EVALUATIONS, CALLS = 1.1, 120  # evaluations of the objective per iteration, and small calls in each
SQUARES, PASSES = 9, 30  # arrays of the covariance's size in memory at once, and passes over one
CLOUD, BLOCK = 7.0, 2**20  # cost of an expectation, in functions of a distance; numbers in a block of them
Prior = Literal["gaussian", "none"]


class MostProbable(Options):
    """The most probable latent points, by the likelihood itself."""

    blurred: ClassVar[bool] = False  # whether latent points are clouds
    exact: ClassVar[bool] = True  # whether the rows' own points carry the fit, rather than inducing points
    name: Literal["map"] = "map"
    prior: Prior = option("gaussian", "Prior of the latent points: standard normal, or none.")

    @property
    def normal(self) -> bool:
        """Whether the prior of latent points is standard normal."""
        return self.prior == "gaussian"

    def problem(self, observed: Observations, kernel: Sequence[Name], latents: Latents, axes: int) -> Problem:
        """Return the objective."""
        covariance = start_covariance(kernel, observed.variance, FLOOR, axes)
        return Problem(Exact(observed), latents, covariance, self.normal, covariance.scales)

    def step(self, rows: int, axes: int, limit: int) -> Step:
        """Return the cost of factorizations of a matrix of all rows."""
        return repeated("iterate", f"L-BFGS on {rows} x {rows} covariances", exact_seconds(rows),
                        8.0 * SQUARES * rows**2, usual=USUAL, most=limit, square=True, needs=OPTIMIZE,
                        remedy="use method.inference.name=sparse")


class Induced(Options):
    """The most probable latent points, by a variational bound on the likelihood with inducing points."""

    blurred: ClassVar[bool] = False  # whether latent points are clouds
    exact: ClassVar[bool] = False  # whether the rows' own points carry the fit, rather than inducing points
    name: Literal["sparse"] = "sparse"
    prior: Prior = option("gaussian", "Prior of the latent points: standard normal, or none.")
    inducing: int = option(100, "Number of inducing points, at most the number of rows.", ge=1)

    @property
    def normal(self) -> bool:
        """Whether the prior of latent points is standard normal."""
        return self.prior == "gaussian"

    def problem(self, observed: Observations, kernel: Sequence[Name], latents: Latents, axes: int) -> Problem:
        """Return the objective."""
        covariance = start_covariance(kernel, observed.variance, FLOOR, axes)
        return Problem(SparseLikelihood(observed, self.inducing), latents, covariance, self.normal, covariance.scales)

    def step(self, rows: int, axes: int, limit: int) -> Step:
        """Return the cost of products with the inducing points."""
        count = min(self.inducing, rows)
        each = EVALUATIONS * (12.0 * rows * count**2 * rates().decomposed + 8.0 * count**3 * rates().decomposed
                              + PASSES * pass_cost(rows * count) + CALLS * rates().called)
        return repeated("iterate", f"L-BFGS with {count} inducing points", each, 8.0 * SQUARES * rows * count,
                        usual=USUAL, most=limit, needs=OPTIMIZE)


class Bayesian(Options):
    """Gaussian clouds of latent points, by a bound on the evidence; every axis has a length scale of its own."""

    blurred: ClassVar[bool] = True
    normal: ClassVar[bool] = True  # whether the prior of latent points is standard normal
    exact: ClassVar[bool] = False  # whether the rows' own points carry the fit, rather than inducing points
    name: Literal["bayesian"] = "bayesian"
    inducing: int = option(30, "Number of inducing points, at most the number of rows.", ge=1)

    def problem(self, observed: Observations, kernel: Sequence[Name], latents: Latents, axes: int) -> Problem:
        """Return the objective."""
        covariance = start_covariance(["rbf-ard"], observed.variance, FLOOR, axes)
        first = np.arange(len(covariance.logs)) == 0  # its variance: optimized from the start, it leads to planes
        return Problem(Clouds(observed, self.inducing), FreeClouds(axes), covariance, False, first, freed=True)

    def step(self, rows: int, axes: int, limit: int) -> Step:
        """Return the cost of expectations for all pairs of inducing points."""
        count = min(self.inducing, rows)
        each = EVALUATIONS * (rows * count**2 * (CLOUD * rates().bent + 12.0 * axes * rates().product)
                              + CALLS * rates().called)
        return repeated("iterate", f"L-BFGS with {count} inducing points", each,
                        8.0 * min(rows * count**2, BLOCK) * 3 + 8.0 * SQUARES * rows * count, usual=USUAL, most=limit,
                        needs=OPTIMIZE)


Inference = Annotated[MostProbable | Induced | Bayesian, Field(discriminator="name")]


def exact_seconds(rows: int) -> float:
    """Return the predicted seconds of an iteration with one covariance of all rows."""
    return EVALUATIONS * (4.0 * rows**3 * rates().decomposed + PASSES * pass_cost(rows**2) + CALLS * rates().called)


class GaussianProcessMethod(Method):
    """The base of methods whose coordinates Gaussian processes map to the features; fitted by L-BFGS from a start."""

    accepts: ClassVar = (Features,)
    judged_by: ClassVar = "reconstruction"
    missing: ClassVar = True
    powers: ClassVar = Powers(coordinates=0, spectrum=2)
    ranked_by: ClassVar = "relevances"
    variance_shares: ClassVar = False
    rules: ClassVar = ()
    has_loadings: ClassVar = False
    decoder_variance: ClassVar = True
    follows_rows: ClassVar = True
    repeat_tolerance: ClassVar = 1e-6
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        start: Start
        axes: Axes

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d."""
        return min(len(data.values) - 1, data.values.shape[1])

    def require_complete(self, data: Input, others: str) -> None:
        """Raise DataError for a missing cell; `others` are the choices to propose."""
        if not all_finite(data.values):
            raise DataError("MISSING", f"{self.name} is fitted to complete rows; only rows that are projected may lack "
                            "cells", where="prepare.missing", hint=f"choose {others}")

    def starts(self, data: Features, compute: Compute) -> list[Array]:
        """Return the coordinates (n x p each) from which iterations start."""
        return [first_columns(standardize(points), self.axes.available_count(points.shape[1]))
                for points in self.start.points(data, compute, self.axes.count)]


def require_distinct(terms: Sequence[str], where: str) -> None:
    """Raise ConfigError for a term that occurs twice in a kernel, with one length scale or with one for each axis."""
    if len({term.removesuffix("-ard") for term in terms}) < len(terms):
        raise ConfigError("TERMS", "a term of the kernel is listed twice", where=where, hint="give it once")
