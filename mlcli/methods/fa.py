"""Factor analysis."""

from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.inputs import Covariance, Features, Input
from mlcli.base.options import option
from mlcli.base.signs import leading_signs
from mlcli.base.steps import Step
from mlcli.methods.base import Method
from mlcli.methods.model import Loadings, Model, Powers
from mlcli.methods.ways import way
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.kernels.row_factor import AnyFactor, factor_of
from mlcli.stages.latent.factor_model import Observed, Scores, fit_factors, most_factors, of_covariance, of_points
from mlcli.stages.latent.factor_scores import factor_steps, scored
from mlcli.stages.latent.rotations import Rotation, Unrotated
from mlcli.stages.similarities import Affine, Columns, Projector

EXACT = {"tolerance": 1e-13}


class FA(Method):
    """A few hidden factors that explain how columns vary together; what is a column's own is its uniqueness.

    y = μ + Λ x + ε with x ~ N(0, I) and ε ~ N(0, Ψ), Ψ diagonal, by maximum likelihood. Rescaling a column rescales
    its loadings (`loadings.csv`) and changes nothing else: `spectrum.csv` is of standardized columns. With `noise:
    equal` it is probabilistic PCA. A uniqueness at its bound is a Heywood case. `fit` in `run.json` holds the
    likelihood and the test that so many factors are enough. Of a covariance (`input.kind`, `input.observations`) there
    are loadings, no scores. Source: Lawley and Maxwell, "Factor analysis as a statistical method", 1971; R's factanal.
    """

    accepts: ClassVar = (Features, Covariance)
    proof: ClassVar = "latent"
    ranked_by: ClassVar = "sums of squared loadings"
    rules: ClassVar = ("fa_cross_validation", "parallel_analysis", "velicer_map")
    columns_model: ClassVar = "own noise"
    ways: ClassVar = (
        way("", "rotation", "quick", iterate=EXACT), way("equal", "constant column", noise="equal"),
        way("varimax", "rotation", "quick", rotation={"name": "varimax"}, scores="bartlett", iterate=EXACT),
        way("promax", "rotation", "quick", rotation={"name": "promax"}, iterate=EXACT))
    name: Literal["fa"] = "fa"
    axes: Axes = Axes()
    rotation: Rotation = option(Unrotated(), "Rotation of the factors.")
    scores: Scores = option("regression", "Coordinates: posterior means, or unbiased but of larger variance.")
    noise: Literal["each", "equal"] = option("each", "Uniquenesses: each column's own, or one noise for all.")
    lower: float = option(0.005, "Smallest uniqueness, as a share of the column's variance.", gt=0, lt=1)
    iterate: Iterate = Iterate()

    def limit(self, data: Input) -> int:
        """As many factors as the columns can determine, and fewer than there are points."""
        return min(most_factors(data.values.shape[1], self.noise == "equal"), len(data.values) - 1)

    def streams(self, kind: str) -> bool:
        """Features."""
        return kind == "features"

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """No defaults; but with one noise for all columns there is a closed form."""
        return self.refuse_unused("equal noise has a closed form", "lower", "iterate") if self.noise == "equal" else {}

    def steps(self, data: Features | Covariance, compute: Compute, share: float | None) -> list[Step]:
        """The covariance or the centered points, the fit, and scores."""
        return factor_steps(data.values.shape, isinstance(data, Features), self.noise == "equal", self.axes.components,
                            compute.thread_count(), self.iterate.limit)

    def solve(self, data: Features | Covariance, compute: Compute) -> Model:
        """Λ and Ψ of the largest likelihood; coordinates are scores."""
        if isinstance(data, Covariance):
            return self.explained(data, of_covariance(data.values, data.observations, self.noise == "equal"), None)
        kernel = factor_of(data.values)
        return self.explained(data, of_points(kernel, self.noise == "equal"), kernel)

    def explained(self, data: Features | Covariance, observed: Observed, kernel: AnyFactor | None) -> Model:
        """The model of columns that vary as observed; with the points (`kernel`), also their scores."""
        found = fit_factors(observed, count=self.axes.components, lower=self.lower, rotation=self.rotation,
                            scores=self.scores, iterate=self.iterate, names=data.columns)
        embedding = np.zeros((0, len(found.squares))) if kernel is None else scored(kernel, found.axes)
        found = found.turned(signs := leading_signs(found.loadings if kernel is None else embedding))
        projector = None if kernel is None else Projector(
            Columns(), kernel.centering, found.axes, Affine(kernel.centering.means, found.loadings))
        return Model(embedding=embedding * signs, spectrum=Spectrum.given(found.squares, observed.total),
                     projector=projector, fit=found.fit, objective=found.trace,
                     loadings=Loadings(found.loadings, data.columns))

    def powers_of(self, data: Input) -> Powers:
        """Scores carry no unit, and the spectrum only where columns keep theirs."""
        return Powers(coordinates=0, spectrum=2 if self.noise == "equal" else 0)
