"""The Gaussian process dynamical model.

x̂ₜ = g(x̂ₜ₋₁) and Vₜ = J Vₜ₋₁ Jᵀ + s² I with the slope J and the variance s² of g there; features have the mean f(x̂ₜ)
and the variance of f there, plus Vₜ propagated by its slopes. Source: Girard, Rasmussen, Quiñonero-Candela and
Murray-Smith, "Gaussian process priors with uncertain inputs", 2003; Wang, Fleet and Hertzmann, 2008.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Strict

from mlcli.base.machine.footprint import OPTIMIZE
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.chain.starts import Principal, Start
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.minimize import Likeliest
from mlcli.core.model import Forecast, Model
from mlcli.errors import GeometryError
from mlcli.methods.processes.check import (
    figures_of,
    forecast_check,
    one_process_check,
    process_checks,
    relevance_check,
    sequence_checks,
    sequence_end,
)
from mlcli.methods.processes.dynamics import Dynamics, Motion, SequenceProblem, Trail
from mlcli.methods.processes.fitting import (
    FLOOR,
    SQUARES,
    USUAL,
    GaussianProcessMethod,
    best,
    exact_seconds,
    require_distinct,
)
from mlcli.methods.processes.likelihoods import Exact, Observations
from mlcli.methods.processes.new_points import LatentSequence, latent_projector
from mlcli.methods.processes.process import GaussianProcess, Name, start_covariance
from mlcli.methods.processes.state_space_check import ascent_check
from mlcli.methods.trials import variant


def forecast(posterior: GaussianProcess, motion: Motion, latent: Array, count: int, known: Array | None = None,
             ) -> Forecast:
    """Return the `count` rows that follow those at the latent points (n x p).

    `known` is the covariance (o p x o p) of the last points, one after another, whose number o is the order; the
    default is zero.
    """
    steps, (axes, order) = motion.posterior, (latent.shape[1], motion.order)
    past = latent[len(latent) - order :].ravel()
    spread = np.zeros((order * axes, order * axes)) if known is None else known
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


def slopes(posterior: GaussianProcess, point: Array) -> Array:
    """Return the derivative of the means (d x p) at a point (p)."""
    left = np.repeat(point[None], len(posterior.mean), axis=0)
    parts = posterior.covariance.parts(left, posterior.places)
    return posterior.covariance.pull_back(posterior.weights.T, parts, left=left, right=posterior.places)[1]


class GPDM(GaussianProcessMethod):
    """Coordinates with dynamics by one Gaussian process, mapped to features by another; rows are in time order.

    It keeps a sequence as a smooth path, from which its rows and its next steps follow. It fails if rows are not one
    sequence in equal steps, or if the start mixes up the sequence: try several starts, and compare the objective in
    `trace.csv`. Set `dynamics` first: its `floor`, which is small for a system that follows a rule and 0.01 or more for
    one that is pushed about, and its `order`.

    How it works: A row is y_t = mean + f(x_t) + noise, and its coordinates x_t = g(x_{t-1}) + noise follow from those
    before. Every column of f and of g is drawn from a Gaussian process, a probability distribution over smooth
    functions, so steps need not be linear as those of `lgssm` are. With `dynamics.order: 2` coordinates follow from the
    last two. Coordinates and the parameters of both kernels are those that make the rows and the sequence of
    coordinates most probable. An iterative optimizer (L-BFGS) finds them from a `start`, in n³ operations an iteration.
    `docs/gpdm.md` shows what a fit gives.

    Coordinates have mean zero and mean square one over all axes, since otherwise a sequence and its steps could shrink
    together and become ever more probable. Parameters, but not the noises, have a wide log-normal prior. The noise of a
    step mostly ends at its lower bound `dynamics.floor`, since coordinates can be bent until steps have no noise.
    `dynamics.weight` is the weight of the log-density of the sequence: 1 is the published model, and the number of
    columns divided by that of axes the balanced one. Coordinates are rotated to their principal axes.

    Forecast: `forecast: N` writes the next N rows to `forecast.csv`: the means, to which the mean steps lead, and the
    standard deviations. The uncertainty of the steps is carried along linearly, which is rough after many steps.

    New points: New rows are a sequence of their own, and get the coordinates that are most probable given the whole
    sequence. In new rows, cells or whole rows may be missing, if the training rows were complete and the run was made
    with `prepare.missing: model`; `mlcli reconstruct` fills them in.

    Files: `spectrum.csv` holds the relevance of each axis, the variance of the slope of f along the axis times the
    variance of its coordinates, and its share in the sum over the axes. `fit` in `run.json` holds the log-likelihood of
    the rows at their coordinates, the log-density of the coordinates (`dynamics_log_density`), and the parameters; the
    names of those of the steps begin with `dynamics_`.

    Source: Wang, Fleet and Hertzmann, "Gaussian process dynamical models for human motion", 2008; Urtasun, Fleet and
    Fua, "3D people tracking with Gaussian process dynamical models", 2006 (balanced).
    """

    variants: ClassVar = (
        variant("", "permutation", "twins", "alone", minimize={"limit": 12}),
        variant("second order", "permutation", "twins", "alone", dynamics={"order": 2}, minimize={"limit": 12},
                forecast=3))
    ordered: ClassVar = True
    axis: ClassVar = "Latent"
    name: Literal["gpdm"] = "gpdm"
    kernel: Annotated[tuple[Name, ...], Strict(False)] = option(
        ("rbf", "bias"), "Terms of the kernel, which are added, together with white noise.", min_length=1)
    dynamics: Dynamics = Dynamics()
    start: Start = option(Principal(), "Initial coordinates: principal components (pca), Isomap, or random.")
    minimize: Likeliest = Likeliest()
    axes: PlainAxes = PlainAxes()
    forecast: int = option(0, "Number of future rows to predict, written to `forecast.csv`.", ge=0, le=100_000)

    @property
    def squares(self) -> int:
        """Precisions between rows: of new rows, of the motion and of the decoder."""
        return 3

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises DataError for missing cells, ConfigError for a double term, GeometryError for few
        rows.
        """
        self.require_complete(data, "mean, or lgssm")
        require_distinct(self.kernel, "method.kernel")
        require_distinct(self.dynamics.kernel, "method.dynamics.kernel")
        if 1 < len(data.values) <= self.dynamics.order:
            raise GeometryError("STEPS", f"{len(data.values)} rows have no step from {self.dynamics.order} of them",
                                where="method.dynamics.order", hint="choose 1, or give more rows")
        return {}

    def tables(self) -> tuple[str, ...]:
        """Return the forecast's table, where there is one."""
        return ("forecast",) if self.forecast else ()

    def reproduces(self) -> bool:
        """Whether projected training rows get their coordinates: no, as a new sequence is smoothed by itself."""
        return False

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the start and the minimization with two n x n matrices."""
        rows = len(data.values)
        return [*self.start.steps(data, compute, self.axes.count),
                repeated("iterate", f"L-BFGS on two {rows} x {rows} covariances", exact_seconds(rows) * 2,
                         8.0 * 2 * SQUARES * rows**2, usual=USUAL, most=self.minimize.limit, square=True,
                         needs=OPTIMIZE, remedy="fit fewer rows")]

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute the most probable sequence with the parameters of both kernels."""
        observed, starts = Observations.of(data.values), self.starts(data, compute)
        if not observed.variance:
            return self._model(starts[0], GaussianProcess.constant(observed.mean), Motion.none(self.dynamics.order),
                               spectrum=Spectrum.of_values(np.zeros(1), 0.0, complete=True))
        problem = self.problem(observed, starts[0].shape[1])
        trail, ended = problem.latents, best(problem, starts, self.minimize)
        logs, cells = trail.logs(ended.latent), (observed.cells,)
        motion, covariance = trail.density.motion(logs, ended.means), ended.posterior.covariance
        ranks = covariance.relevances(ended.means)
        moved = {f"dynamics_{name}": value for name, value in figures_of(motion.covariance).items()}
        figures = {"log_likelihood": Quantity(ended.value, cells=cells), "jitter": ended.jitter,
                   **covariance.facts(), "dynamics_log_density": trail.density(logs, ended.means).value, **moved,
                   **ended.iterated.facts}
        return self._model(ended.means, ended.posterior, motion, fit=figures,
                           spectrum=Spectrum.of_values(ranks, float(ranks.sum()), complete=True),
                           objective=Quantity(-ended.iterated.trace, cells=cells))

    def problem(self, observed: Observations, axes: int) -> SequenceProblem:
        """Return the objective."""
        covariance = start_covariance(self.kernel, observed.variance, FLOOR, axes)
        return SequenceProblem(Exact(observed), Trail(axes, self.dynamics.density), covariance, False,
                               np.zeros(len(covariance.logs), dtype=bool))

    def _model(self, points: Array, posterior: GaussianProcess, motion: Motion, **more: Any) -> Model:
        """Return the model of latent points (n x p), with the forecast if chosen."""
        ahead = forecast(posterior, motion, points, self.forecast) if self.forecast else None
        projector = latent_projector(LatentSequence(posterior, motion))
        return Model(embedding=points, projector=projector, forecast=ahead, **more)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check likelihood, decoder, relevances, density of the sequence, and the objective: its ascent and end."""
        yield from super().checks(subject)
        data, model = subject.data, subject.model
        similarity: Any = subject.similarity
        posterior, observed = similarity.posterior, Observations.of(data.values)
        stated = model.fit.get("log_likelihood")
        plain = None if stated is None else stated + data.unit.logarithm(observed.cells)
        yield one_process_check(subject.projector.decoder, posterior)
        checks = process_checks(posterior, data.values, model.embedding, plain)
        yield from checks
        if checks[0].verdict == "pass":
            problem = self.problem(observed, model.embedding.shape[1])
            end = sequence_end(data, model, problem, (posterior, similarity.motion), self.minimize.tolerance)
            yield from end.checks(subject.plan.full)
        yield from sequence_checks(similarity, model.embedding, model.fit)
        yield from forecast_check(similarity, model)
        yield relevance_check(posterior, model.embedding, model.ranks.solved)
        yield ascent_check(model.trace, data.values)
