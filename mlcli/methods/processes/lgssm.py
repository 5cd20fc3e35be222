"""The linear-Gaussian state-space model."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np

from mlcli.base.machine.footprint import OPTIMIZE
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.iterate import Iterate
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.methods.method import Method
from mlcli.methods.processes.kalman import Smoother
from mlcli.methods.processes.state_space import (
    USUAL,
    Dynamics,
    Full,
    Noise,
    StateSpaceForm,
    fit_model,
    smoother_seconds,
)
from mlcli.methods.processes.state_space_check import ascent_check, likelihood_checks, state_checks
from mlcli.methods.trials import variant

SLOWNESSES = "slownesses, the smallest first"


class LGSSM(Method):
    """Hidden states with linear dynamics, observed with noise; rows are in time order.

    It keeps the part of a sequence that linear dynamics explain, smoothed over time. It fails if steps are not linear,
    or if rows do not follow each other in equal steps. Set the number of states first (`-p`), then `dynamics`: with
    `diagonal` each state has a speed of its own, slow or fast.

    How it works: Hidden states x move by linear steps, xₜ₊₁ = A xₜ + N(0, Q), and the columns show them with noise, yₜ
    - mean = C xₜ + noise, whose variance each column has of its own. The parameters are fitted by exact EM with Kalman
    smoothing; the state before the first row is a parameter too. Coordinates are the states that are expected given all
    rows.

    An invertible map of the states gives the same model. States are therefore given so that they have mean square one
    and are uncorrelated, and the columns of C are orthogonal. There may be more states than columns; the start is then
    made from rows joined with their successors.

    Missing cells: With `prepare.missing: model`, missing cells are left out of the likelihood.

    Diagonal dynamics: With `dynamics.name: diagonal` every state is an autoregression of its own, xₜ₊₁ = λ xₜ + N(0, 1
    - λ²), with variance one in the long run; `dynamics.coefficients` fixes the λ. This form is unique if all λ differ;
    the columns of C are then not orthogonal. States are in descending order of λ. The noise has one variance for each
    column (`noise: each`), one for all (`equal`), or is `vanishing`: `floor` times the mean variance in all columns. In
    the limit of no noise, and with as many states as columns, the directions of largest likelihood are those of `sfa`,
    whatever the λ; if λ is estimated, their scale is too. EM is then slow, since its steps shrink with the noise.

    The maximum: EM finds a local maximum. It starts from principal components, or with diagonal dynamics from their
    slow features, without random numbers. Since EM is slow where the likelihood is flat, the optimizer L-BFGS goes on
    from its end to the maximum. For 27 of 30 simulated sequences the result was within 1e-9 of the largest
    log-likelihood. A result that is far from a maximum is reported as not converged.

    New points: New rows are a separate sequence, which is smoothed from a start of its own.

    Files: `posterior.csv` holds the covariances of the states, and `loadings.csv` holds C. `fit` in `run.json` holds
    the log-likelihood of the centered data, A, Q, and the noise. `spectrum.csv` holds the squared length of each column
    of C, which is the variance that the axis carries and by which axes are ranked, and its share in all variance. With
    diagonal dynamics it holds the slownesses 2 - 2 λ instead, as that of `sfa` does.

    Source: Shumway and Stoffer, 1982; Ghahramani and Hinton, "Parameter estimation for linear dynamical systems", 1996;
    Turner and Sahani, "A maximum-likelihood interpretation for slow feature analysis", 2007 (diagonal dynamics).
    """

    accepts: ClassVar = (Features,)
    ordered: ClassVar = True
    missing: ClassVar = True
    powers: ClassVar = Powers(coordinates=0, spectrum=2)
    ranked_by: ClassVar = "variances carried by the states"
    rules: ClassVar = ()
    repeat_tolerance: ClassVar = 1e-4  # EM stops where the likelihood is flat, and a state is the root of that
    variants: ClassVar = (
        variant("", "permutation", "rotation", "alone", "twins", "quick", iterate={"tolerance": 1e-11}),
        variant("diagonal", "permutation", "alone", "twins", "descending", "quick", noise="vanishing", floor=0.3,
                dynamics={"name": "diagonal"}, iterate={"tolerance": 1e-13}),
        variant("known", "permutation", "alone", "twins", "descending", "quick", noise="equal",
                dynamics={"name": "diagonal", "coefficients": [0.9, -0.8]}, iterate={"tolerance": 1e-11}))
    later: ClassVar = ("dynamics", "noise")
    axis: ClassVar = "State"
    name: Literal["lgssm"] = "lgssm"
    dynamics: Dynamics = option(Full(), "Dynamics of the states: any (full), or of each by itself (diagonal).")
    noise: Noise = option("each", "Noise variances: one for each column (each), one for all (equal), or one for all at "
                          "the value of `floor` (vanishing).")
    floor: float = option(1e-4, "Lower bound of a column's noise, as a share of its variance, or one of all columns as "
                          "a share of the mean variance.", gt=0, lt=1)
    iterate: Iterate = Iterate()
    axes: PlainAxes = PlainAxes()

    def limit(self, data: Input) -> int:
        """Return half the number of rows less one."""
        return (len(data.values) - 1) // 2

    def resolve(self, data: Input) -> Self:
        """Return the method with as many states as coefficients; raises ConfigError where these do not fit."""
        resolved = super().resolve(data)
        return resolved.replace(axes=self.dynamics.axes(resolved.axes, self.limit(data)))

    @property
    def weighs_columns(self) -> bool:
        """Whether noise is alike in all columns: else another unit of a column only turns the states."""
        return self.noise != "each"

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the step of EM, by passes of the smoother."""
        rows, size = len(data.values), self.axes.count
        return [repeated("iterate", "EM", smoother_seconds(rows, size), 8.0 * 8 * rows * size**2, usual=USUAL,
                         most=self.iterate.limit, needs=OPTIMIZE)]

    def powers_of(self, data: Input) -> Powers:
        """Return the powers of the unit: slownesses have none."""
        return Powers(coordinates=0, spectrum=0) if self.dynamics.diagonal else self.powers

    def ranks_by(self) -> str | None:
        """Return what the numbers in spectrum.csv are."""
        return SLOWNESSES if self.dynamics.diagonal else self.ranked_by

    @property
    def form(self) -> StateSpaceForm:
        """The free parameters of the model."""
        return StateSpaceForm(self.dynamics, self.noise)

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute the maximum of the likelihood, in canonical form."""
        found = fit_model(data.values, self.axes, self.iterate, self.floor, self.form)
        model, size = found.model, len(found.model.transition)
        projector = Projector(Smoother(found.means, model), uncentered(size), np.eye(size),
                              Affine(found.means, model.loadings))
        spectrum = (Spectrum.of_values(2 - 2 * np.diag(model.transition)) if self.dynamics.diagonal else
                    Spectrum.of_values(np.sum(model.loadings**2, axis=0), found.variance))
        return Model(embedding=found.states, spectrum=spectrum, projector=projector, fit=found.figures,
                     objective=Quantity(found.trace, cells=(found.cells,)), spreads=found.spreads,
                     loadings=Loadings(model.loadings, data.columns))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check that states are most probable, in canonical form, and the likelihood: its value, ascent and end."""
        yield from super().checks(subject)
        data, model = subject.data, subject.model
        similarity: Any = subject.similarity
        checks = state_checks(similarity, data.values, model.embedding, model.ranks.solved, self.form, self.floor)
        yield from checks
        if checks[0].name == "model":
            return
        yield from likelihood_checks(similarity, data, model, form=self.form, tolerance=self.iterate.tolerance,
                                     floor=self.floor, full=subject.plan.full)
        yield ascent_check(model.trace, data.values)
