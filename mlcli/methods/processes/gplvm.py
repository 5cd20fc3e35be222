"""The Gaussian process latent variable model."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Strict

from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.check import Check, count, skipped
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.chain.starts import Principal, Start
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.minimize import Likeliest
from mlcli.core.model import Model
from mlcli.errors import ConfigError
from mlcli.methods.processes.check import (
    bound_checks,
    latent_end,
    one_process_check,
    process_checks,
    relevance_check,
)
from mlcli.methods.processes.fitting import (
    GaussianProcessMethod,
    Induced,
    Inference,
    MostProbable,
    best,
    require_distinct,
)
from mlcli.methods.processes.latents import BackConstraint, Free, FreeClouds, Unconstrained
from mlcli.methods.processes.likelihoods import Observations
from mlcli.methods.processes.new_points import LatentPoints, ProcessMeans, projector_of
from mlcli.methods.processes.process import GaussianProcess, Name
from mlcli.methods.processes.state_space_check import ascent_check
from mlcli.methods.trials import InputSummary, Trials, single_trial, variant

USED = 0.01  # of the largest relevance: an axis below it counts as switched off
FEWER = "use a lower method.constraint.hidden"  # weights of a network
FEW = 100  # rows up to which it is among the methods that are explored
MOST = 2000  # rows of a fit without inducing points, unless it is asked for


class GPLVM(GaussianProcessMethod):
    """Coordinates from which smooth functions (Gaussian processes) give the features: nonlinear probabilistic PCA.

    It keeps the part of the columns that smooth functions of a few coordinates explain, and says how likely the rows
    are under these. It fails if the start mixes up the points, since the objective has many local optima: try several
    starts, and compare `fit.log_likelihood` in `run.json`. Set the `kernel` first: its default `[rbf, bias]` suits
    curved structure, `[rbf-ard, bias]` (`method.kernel=[rbf-ard,bias]`) shows which axes matter, and `[linear]` is for
    comparison, since it gives probabilistic PCA. Then set the `start` and, beyond some hundred rows, the `inference`.

    How it works: A row is y = μ + f(x) + ε with noise ε. Every column of f is drawn from the same Gaussian process, a
    probability distribution over smooth functions. Its kernel k(x, x') says how much the values of a function at two
    coordinates x and x' vary together. The kernel `rbf` falls with their distance, and the distance over which it does
    is its length scale. Neither the functions nor the coordinates x are known. Coordinates and kernel parameters are
    those that make the rows most probable. An iterative optimizer (L-BFGS) finds them; its start (`start`) decides
    which of the local optima it reaches. With the kernel `linear` this is probabilistic PCA.

    One scale is fixed, since coordinates and kernel could otherwise shrink together at no cost: in the first term of
    the kernel that has one, the length scale of `rbf`, the variance of `linear`, or the product of the length scales of
    `rbf-ard`, which has one for each axis. The kernel's parameters, but not the noise, have a wide log-normal prior
    around their start; variances start at the variance of the data. Coordinates are rotated to their principal axes.
    With a length scale for each axis (`rbf-ard`, `bayesian`) the axes are only sorted by their relevance: how much f
    changes along them.

    Inference: `map` finds the most probable coordinates in n³ operations an iteration. `sparse` maximizes a lower bound
    of the likelihood, for which the functions at a few places among the coordinates, the inducing points, stand for all
    rows; it is the default beyond 2,000 rows. `bayesian` gives every row a Gaussian cloud in place of a point, and
    every axis a length scale, so that useless axes switch themselves off; the variance of its kernel is fixed until all
    else has converged. With `sparse` and `bayesian`, `log_likelihood` is the bound; that of `bayesian` includes the
    distance of the clouds from the prior.

    Constraint: Without a back constraint similar rows may be far apart: the model only keeps different rows from the
    same place. With one (`constraint`), coordinates are a smooth function of the features, and near rows stay near.

    New points: A new row is placed where it is most probable. Candidates are the training points (or inducing points)
    and places among and around them; an optimizer starts from the most probable ones. A warning (`W-UNLIKE`) names rows
    that fit nowhere, with an error beyond the 99.9% quantile of χ², and rows that lie where the variance of the model
    is more than half of that without data. New rows may have missing cells, if the training rows had none and the run
    was made with `prepare.missing: model`; `mlcli reconstruct` fills them in. With a back constraint new rows are
    placed by its function.

    Back to features: `mlcli reconstruct` gives the features expected at each place (posterior means), and with
    `--variance FILE` the variance of each row's features. Examples are in `docs/gplvm.md`.

    Files: `spectrum.csv` holds the relevance of each axis, the variance of the slope of f along the axis times the
    variance of its coordinates, and its share in the sum over the axes. `fit` in `run.json` holds the log-likelihood,
    the kernel's parameters, the noise, `jitter` (how much had to be added to the diagonal of a covariance matrix, as a
    share of it) and `axes_in_use` (the number of axes with at least a hundredth of the relevance of the first).
    `posterior.csv` holds the clouds of `bayesian`.

    Source: Lawrence, "Probabilistic non-linear principal component analysis with Gaussian process latent variable
    models", 2005; Lawrence and Quiñonero-Candela, "Local distance preservation in the GP-LVM through back constraints",
    2006; Titsias, "Variational learning of inducing variables in sparse Gaussian processes", 2009; Titsias and
    Lawrence, "Bayesian Gaussian process latent variable model", 2010.
    """

    variants: ClassVar = (
        variant("", "twins", minimize={"limit": 12}),
        variant("sparse", inference={"name": "sparse", "inducing": 6}, minimize={"limit": 6}),
        variant("bayesian", inference={"name": "bayesian", "inducing": 5}, minimize={"limit": 6}),
        variant("smooth", constraint={"name": "kernel"}, minimize={"limit": 12}),
        variant("network", constraint={"name": "mlp", "hidden": 4}, minimize={"limit": 12}),
        variant("ard", kernel=["rbf-ard", "bias"], minimize={"limit": 6}))
    axis: ClassVar = "Latent"
    name: Literal["gplvm"] = "gplvm"
    kernel: Annotated[tuple[Name, ...], Strict(False)] = option(
        ("rbf", "bias"), "Terms of the kernel, which are added, together with white noise: smooth functions "
        "with one length scale (rbf) or one for each axis (rbf-ard), linear functions (linear), a constant (bias).",
        min_length=1)
    inference: Inference = option(MostProbable(), "Inference: the most probable coordinates (map), the same with "
                                  "inducing points (sparse, the default beyond 2,000 rows), or a Gaussian posterior "
                                  "for each row (bayesian).")
    constraint: BackConstraint = option(Unconstrained(), "Back constraint, which makes coordinates a function of the "
                                        "features: none, kernel regression (kernel), or a network (mlp).")
    start: Start = option(Principal(), "Initial coordinates: principal components (pca), Isomap, or random.")
    minimize: Likeliest = Likeliest()
    axes: PlainAxes = PlainAxes()

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return one setting for few rows: an iteration takes n³ operations."""
        return single_trial() if seen.rows <= FEW else Trials(reason=f"of more than {FEW} rows it takes long")

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return inducing points for many rows; raises DataError for a missing cell, ConfigError for unused options."""
        self.require_complete(data, "drop or mean, or ppca")
        require_distinct(self.kernel, "method.kernel")
        if self.inference.blurred and self.constraint.maps:
            raise ConfigError("UNUSED", "bayesian inference has no back constraint", where="method.constraint",
                              hint="leave it out, or choose another inference")
        if self.inference.blurred:
            return self.refuse_unused("bayesian inference always has the kernel rbf-ard", "kernel")
        if len(data.values) <= MOST or self.chosen("inference"):
            return {}
        note("N-SPARSE", f"{len(data.values):,} rows are more than {MOST:,}: sparse inference, with inducing points")
        return {"inference": Induced()}

    def reproduces(self) -> bool:
        """Whether a map gives the coordinates; otherwise a training row's place depends on all rows."""
        return self.constraint.maps

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the start and the minimization."""
        axes, shape = self.axes.count, data.values.shape
        held, step = self.constraint.memory(shape, axes), self.inference.step(shape[0], axes, self.minimize.limit)
        return [*self.start.steps(data, compute, axes), *self.constraint.steps(shape, compute),
                replace(step, memory=step.memory + held, remedy=step.remedy if held < step.memory else FEWER)]

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute the most probable latent points, or their distributions, with the parameters of the kernel."""
        observed, starts = Observations.of(data.values), self.starts(data, compute)
        if not observed.variance:
            return Model(embedding=starts[0], spectrum=Spectrum.of_values(np.zeros(1), 0.0, complete=True),
                         projector=projector_of(GaussianProcess.constant(observed.mean), False, None))
        axes = starts[0].shape[1]
        latents = self.constraint.latents(data.values, axes, compute.generator())
        problem = self.inference.problem(observed, self.kernel, latents, axes)
        ended = best(problem, starts, self.minimize)
        ranks, cells = ended.posterior.covariance.relevances(ended.means), (observed.cells,)
        figures = {"log_likelihood": Quantity(ended.value, cells=cells), "jitter": ended.jitter,
                   "axes_in_use": int(np.sum(ranks >= USED * ranks.max())),
                   **ended.posterior.covariance.facts(), **ended.iterated.facts}
        projector = projector_of(ended.posterior, self.inference.normal, latents.map(ended.latent))
        return Model(embedding=ended.means, projector=projector, fit=figures,
                     spectrum=Spectrum.of_values(ranks, float(ranks.sum()), complete=True), spreads=ended.spreads,
                     objective=Quantity(-ended.iterated.trace, cells=cells))

    def stored(self, data: Input) -> float:
        """Return the bytes of the precisions between rows (n x n); with inducing points there are few."""
        return 8.0 * len(data.values) ** 2 if self.inference.name == "map" else 0.0

    @property
    def squares(self) -> int:
        """One more, of the decoder; the precisions are `stored` once."""
        return int(self.inference.name == "map")

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check likelihood, decoder and relevances, and the objective: its ascent and its end."""
        yield from super().checks(subject)
        data, model = subject.data, subject.model
        decoder = subject.projector.decoder
        if not isinstance(decoder, ProcessMeans):
            yield count("decoder", 1, "decoders that are missing")
            return
        posterior, stated, observed = decoder.posterior, model.fit.get("log_likelihood"), Observations.of(data.values)
        plain = None if stated is None else stated + data.unit.logarithm(observed.cells)
        if isinstance(subject.similarity, LatentPoints):
            yield one_process_check(decoder, subject.similarity.posterior)
        latent = self.latent_points(model)
        if latent is None:
            yield skipped("log_likelihood", "the variances of the clouds are not at hand")
        else:
            checks = (process_checks if self.inference.exact else bound_checks)(posterior, data.values, latent, plain)
            yield from checks
            if checks[0].verdict == "pass":
                yield from self._end_checks(subject, observed, posterior, latent)
        yield relevance_check(posterior, model.embedding, model.ranks.solved)
        yield ascent_check(model.trace, data.values)

    def _end_checks(self, subject: Subject, observed: Observations, posterior: Any, latent: Array) -> Iterator[Check]:
        """Yield the checks of the end of the iteration, at latent points (n x q)."""
        model, axes = subject.model, subject.embedding.shape[1]
        problem = self.inference.problem(observed, self.kernel, (FreeClouds if self.inference.blurred else Free)(axes),
                                         axes)
        if model.fit["iterations"] < self.minimize.limit:  # otherwise the limit may have come before all were free
            problem = problem.final
        yield from latent_end(subject.data, model, problem, posterior, latent, self.minimize.tolerance).checks(
            subject.plan.full)

    def latent_points(self, model: Model) -> Array | None:
        """Return the latent points (n x p), or clouds (n x 2p: means, logarithms of variances); None if not known."""
        if not self.inference.blurred:
            return model.embedding
        if model.spreads is None:
            return None
        return np.hstack([model.embedding, np.log(np.diagonal(model.spreads, axis1=1, axis2=2))])
