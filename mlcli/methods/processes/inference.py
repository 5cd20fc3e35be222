"""Inference of latent points: the most probable ones, the same by inducing points, or Gaussian clouds."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.machine.footprint import OPTIMIZE
from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.values.options import Options, option
from mlcli.methods.processes.covariances import Name, start_covariance
from mlcli.methods.processes.evidence import Exact, Observations
from mlcli.methods.processes.expected_kernels import Clouds
from mlcli.methods.processes.fitting import Problem
from mlcli.methods.processes.inducing import SparseLikelihood
from mlcli.methods.processes.latents import FreeClouds, Latents

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
