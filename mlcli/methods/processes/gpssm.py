"""The Gaussian process state-space model."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Strict

from mlcli.base.machine.footprint import OPTIMIZE
from mlcli.base.machine.rates import rates
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.chain.starts import Principal, Start
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.minimize import LONGEST, Likeliest
from mlcli.core.model import Model
from mlcli.methods.processes.check import figures_of, forecast_check, relevance_check
from mlcli.methods.processes.dynamics import Motion
from mlcli.methods.processes.fitting import (
    BLOCK,
    CLOUD,
    EVALUATIONS,
    USUAL,
    GaussianProcessMethod,
    best,
    require_distinct,
)
from mlcli.methods.processes.gpdm import forecast
from mlcli.methods.processes.likelihoods import Observations
from mlcli.methods.processes.markov import Markov
from mlcli.methods.processes.new_points import latent_projector
from mlcli.methods.processes.process import GaussianProcess, Name
from mlcli.methods.processes.state_space_check import ascent_check
from mlcli.methods.processes.transitions import SmoothedSequence, StateSpaceProblem
from mlcli.methods.processes.transitions_check import bound_checks
from mlcli.methods.trials import variant

CALLS, ROW_CALLS = 400, 2  # small calls in an evaluation, and for each row
ARRAYS, PAIRS = 12, 3  # arrays in memory at once, of rows and inducing points, and of rows and pairs of these


class GPSSM(GaussianProcessMethod):
    """Hidden states with steps by Gaussian processes, mapped to features by others; rows are in time order.

    It keeps what smooth functions of a few hidden states explain of a sequence, where the states follow each other by
    smooth functions too, and says how uncertain each state is. It fails if rows are not one sequence in equal steps, or
    if the start mixes up the sequence: try several starts, and compare the objective in `trace.csv`. Set the number of
    states first (`-p`), then the kernel of the steps (`transition`): `[linear]` is for systems that decay or oscillate
    at one speed.

    How it works: Hidden states move by x_{t+1} = f(x_t) + noise, and rows show them by y_t = mean + g(x_t) + noise, as
    in `lgssm`; but every column of f and of g is drawn from a Gaussian process, a probability distribution over smooth
    functions. The first state is standard normal. The states get a normal posterior in which each depends on its
    neighbors in time, as that of Kalman's smoother. Functions are summarized by their values at a few places, the
    inducing points, whose posterior has a closed form. The fit maximizes a lower bound of the log-likelihood over the
    posterior of the states, the inducing points and the parameters of the kernels, by an iterative optimizer (L-BFGS)
    from a `start`. All expectations are exact, so that no random numbers are drawn, and an iteration takes n m²
    operations, with m inducing points.

    In contrast to `gpdm`, states have a posterior and are no best values: the noise of the steps is estimated, and not
    driven to a lower bound, and long sequences are quick. Coordinates are the posterior means, rotated to their
    principal axes. One scale is fixed, as in `gplvm`, and parameters but not the noises have a wide log-normal prior.

    Linear kernels: With `kernel: [linear]` and `transition: [linear]` the functions are matrices A and C with a normal
    prior. The bound then is that of variational Bayes for linear-Gaussian state-space models, and the posterior of the
    states is that of Kalman's smoother with the expected matrices, in which the uncertainty of the matrices counts as
    rows of zeros: observations 0 = R x_t + N(0, 1), with RᵀR the sum of the covariances of the rows of A and of C, each
    divided by its noise (of C alone for the last state). New sequences are smoothed so to rounding, and the rows of the
    fit as far as `minimize.tolerance` lets it go: of 60 rows to 0.03 % of the deviation of the states by default. No
    more than p inducing points are needed, and more are not used.

    Forecast: `forecast: N` writes the next N rows to `forecast.csv`: the means, to which the mean steps lead, and the
    standard deviations. The uncertainty of the last state and of the steps is carried along linearly.

    New points: New rows are a sequence of their own, which is smoothed: they get the posterior means of its states,
    given all its rows and the functions of the fit. In new rows, cells or whole rows may be missing, if the training
    rows were complete and the run was made with `prepare.missing: model`; `mlcli reconstruct` fills them in.

    Files: `posterior.csv` holds the covariances of the states. `spectrum.csv` holds the relevance of each axis, the
    variance of the slope of g along the axis times the variance of its coordinates, and its share in the sum over the
    axes. `fit` in `run.json` holds the bound (`log_likelihood`) and the parameters; the names of those of the steps
    begin with `transition_`.

    Source: Frigola, Chen and Rasmussen, "Variational Gaussian process state-space models", 2014; Eleftheriadis,
    Nicholson, Deisenroth and Hensman, "Identification of Gaussian process state space models", 2017; Titsias and
    Lawrence, "Bayesian Gaussian process latent variable model", 2010 (bound); Beal, "Variational algorithms for
    approximate Bayesian inference", 2003, chapter 5 (linear kernels).
    """

    variants: ClassVar = (
        variant("", "permutation", "twins", "alone", inducing=5, minimize={"limit": 12}),
        variant("linear", "permutation", "twins", "alone", kernel=["linear"], transition=["linear"],
                minimize={"limit": 12}, forecast=3),
        variant("ard", "permutation", "twins", "alone", kernel=["rbf-ard", "bias"], inducing=5, minimize={"limit": 6}))
    ordered: ClassVar = True
    axis: ClassVar = "State"
    name: Literal["gpssm"] = "gpssm"
    kernel: Annotated[tuple[Name, ...], Strict(False)] = option(
        ("rbf", "bias"), "Terms of the kernel of the rows, which are added, together with white noise: smooth "
        "functions with one length scale (rbf) or one for each axis (rbf-ard), linear functions (linear), a constant "
        "(bias).", min_length=1)
    transition: Annotated[tuple[Literal["rbf", "linear", "bias"], ...], Strict(False)] = option(
        ("rbf", "linear"), "Terms of the kernel of the steps, which are added, together with white noise.",
        min_length=1)
    inducing: int = option(20, "Number of inducing points of the functions of rows and of those of steps, each at most "
                           "the number of rows.", ge=1)
    start: Start = option(Principal(), "Initial states: principal components (pca), Isomap, or random.")
    minimize: Likeliest = Likeliest()
    axes: PlainAxes = PlainAxes()
    forecast: int = option(0, "Number of future rows to predict, written to `forecast.csv`.", ge=0, le=100_000)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises DataError for missing cells, ConfigError for a double term."""
        self.require_complete(data, "mean, or lgssm")
        require_distinct(self.kernel, "method.kernel")
        require_distinct(self.transition, "method.transition")
        return {}

    def tables(self) -> tuple[str, ...]:
        """Return the forecast's table, where there is one."""
        return ("forecast",) if self.forecast else ()

    def reproduces(self) -> bool:
        """Whether projected training rows get their coordinates: only to the tolerance, as they are smoothed again."""
        return False

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the start, and of the minimization by expectations for all pairs of inducing points."""
        rows, axes = len(data.values), self.axes.count
        count = min(self.inducing, rows)
        pair = CLOUD * rates().bent + 2.0 * (1 + axes + axes**2) * rates().product
        each = EVALUATIONS * (2 * rows * count**2 * pair + (CALLS + rows * ROW_CALLS) * rates().called)
        free = rows * (axes + axes**2 + axes * (axes + 1) // 2) + 2 * count * axes
        held = min(free * EVALUATIONS * self.minimize.limit, LONGEST)  # gradients, to resume from
        return [*self.start.steps(data, compute, axes),
                repeated("iterate", f"L-BFGS with {count} inducing points for rows and steps", each,
                         8.0 * (PAIRS * min(rows * count**2 / 2, BLOCK) + rows * ARRAYS * count * axes + held),
                         usual=USUAL, most=self.minimize.limit, needs=OPTIMIZE, remedy="fit fewer rows")]

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute the posterior of the states with the parameters of both kernels."""
        observed, starts = Observations.of(data.values), self.starts(data, compute)
        if not observed.variance:
            return self._model(Markov.apart(starts[0], 1.0), GaussianProcess.constant(observed.mean), Motion.none(1),
                               spectrum=Spectrum.of_values(np.zeros(1), 0.0, complete=True))
        ended: Any = best(self.problem(observed, starts[0].shape[1]), starts, self.minimize)
        cells, covariance = (observed.cells,), ended.posterior.covariance
        ranks = covariance.relevances(ended.means)
        moved = {f"transition_{name}": value for name, value in figures_of(ended.motion.covariance).items()}
        figures = {"log_likelihood": Quantity(ended.value, cells=cells), "jitter": ended.jitter, **covariance.facts(),
                   **moved, **ended.iterated.facts}
        return self._model(ended.sequence, ended.posterior, ended.motion, fit=figures,
                           spreads=ended.sequence.states.covariances,
                           spectrum=Spectrum.of_values(ranks, float(ranks.sum()), complete=True),
                           objective=Quantity(-ended.iterated.trace, cells=cells))

    def problem(self, observed: Observations, axes: int) -> StateSpaceProblem:
        """Return the objective."""
        return StateSpaceProblem.of(observed, axes, self.inducing, (self.kernel, self.transition))

    def _model(self, sequence: Markov, posterior: GaussianProcess, motion: Motion, **more: Any) -> Model:
        """Return the model of a sequence of states, with the forecast if chosen."""
        states = sequence.states
        ahead = (forecast(posterior, motion, states.means, self.forecast, states.covariances[-1]) if self.forecast else
                 None)
        projector = latent_projector(SmoothedSequence(posterior, motion, sequence))
        return Model(embedding=states.means, projector=projector, forecast=ahead, **more)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check states, bound, functions and relevances, and the objective: its ascent and its end."""
        yield from super().checks(subject)
        data, model = subject.data, subject.model
        similarity: Any = subject.similarity
        yield from bound_checks(data, model, self.problem(Observations.of(data.values), model.embedding.shape[1]),
                                self.minimize.tolerance, subject.plan.full)
        yield from forecast_check(similarity, model)
        yield relevance_check(similarity.posterior, model.embedding, model.ranks.solved)
        yield ascent_check(model.trace, data.values)
