"""How latent points are found: the most probable ones, the same by inducing points, or clouds of them."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.compute import Compute
from mlcli.base.options import Options, option
from mlcli.base.steps import Step
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.gaussian.clouds import Clouds
from mlcli.stages.gaussian.covariances import Name, started
from mlcli.stages.gaussian.evidence import Exact, Observations
from mlcli.stages.gaussian.fitting import Problem
from mlcli.stages.gaussian.inducing import Sparse
from mlcli.stages.gaussian.latents import Blurred, Latents

FLOOR = 1e-6  # of the noise, as a share of the data's variance
USUAL = 1_500  # iterations of most fits
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
        """What is minimized."""
        covariance = started(kernel, observed.variance, FLOOR, axes)
        return Problem(Exact(observed), latents, covariance, self.normal, covariance.scales)

    def step(self, rows: int, axes: int, compute: Compute) -> Step:
        """Factorizations of a matrix of all rows."""
        return Step("iterate", f"L-BFGS on {rows} x {rows} covariances, about {USUAL} iterations",
                    USUAL * 4.0 * rows**3 / product_rate(1), 64.0 * rows**2, square=True,
                    remedy="use method.inference.name=sparse")


class Induced(Options):
    """The most probable latent points, by a variational bound on the likelihood with inducing points."""

    blurred: ClassVar[bool] = False  # whether latent points are clouds
    exact: ClassVar[bool] = False  # whether the rows' own points carry the fit, rather than inducing points
    name: Literal["sparse"] = "sparse"
    prior: Prior = option("gaussian", "Prior of the latent points: standard normal, or none.")
    inducing: int = option(100, "Inducing points, at most as many as there are rows.", ge=1)

    @property
    def normal(self) -> bool:
        """Whether the prior of latent points is standard normal."""
        return self.prior == "gaussian"

    def problem(self, observed: Observations, kernel: Sequence[Name], latents: Latents, axes: int) -> Problem:
        """What is minimized."""
        covariance = started(kernel, observed.variance, FLOOR, axes)
        return Problem(Sparse(observed, self.inducing), latents, covariance, self.normal, covariance.scales)

    def step(self, rows: int, axes: int, compute: Compute) -> Step:
        """Products with the inducing points."""
        return Step("iterate", f"L-BFGS with {self.inducing} inducing points, about {USUAL} iterations",
                    USUAL * 12.0 * rows * self.inducing**2 / product_rate(1), 64.0 * rows * self.inducing)


class Bayesian(Options):
    """Gaussian clouds of latent points, by a bound on the evidence; every axis has a length scale of its own."""

    blurred: ClassVar[bool] = True
    normal: ClassVar[bool] = True  # whether the prior of latent points is standard normal
    exact: ClassVar[bool] = False  # whether the rows' own points carry the fit, rather than inducing points
    name: Literal["bayesian"] = "bayesian"
    inducing: int = option(30, "Inducing points, at most as many as there are rows.", ge=1)

    def problem(self, observed: Observations, kernel: Sequence[Name], latents: Latents, axes: int) -> Problem:
        """What is minimized."""
        covariance = started(["rbf-ard"], observed.variance, FLOOR, axes)
        first = np.arange(len(covariance.logs)) == 0  # its variance: free from the start, it leads to planes
        return Problem(Clouds(observed, self.inducing), Blurred(axes), covariance, False, first, freed=True)

    def step(self, rows: int, axes: int, compute: Compute) -> Step:
        """Expectations for all pairs of inducing points."""
        work = 12.0 * rows * self.inducing**2 * axes / product_rate(1) + 1e-8 * rows * self.inducing**2
        return Step("iterate", f"L-BFGS with {self.inducing} inducing points, about {USUAL} iterations", USUAL * work,
                    24.0 * 2**20 + 64.0 * rows * self.inducing)


Inference = Annotated[MostProbable | Induced | Bayesian, Field(discriminator="name")]
