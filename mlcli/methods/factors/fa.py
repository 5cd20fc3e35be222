"""Factor analysis."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance, Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.scaling import all_finite
from mlcli.base.values.signs import sum_signs
from mlcli.certify.subject import Subject
from mlcli.core.eigen.options import Axes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.iterate import Iterate
from mlcli.core.kernels.row_factor import AnyFactor, factor_of
from mlcli.core.latent.factor_scores import factor_steps, gap_step, polychoric_step, score_points
from mlcli.core.latent.missing_cells import GappedPoints, Gaps, Normal, complete_points, estimate_moments
from mlcli.core.latent.rotations import Rotation, Unrotated
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Columns, Similarity
from mlcli.core.similarities.projector import OF_COVARIANCE, Affine, NoProjection, Projector
from mlcli.methods.factors.factor_analysis import ColumnCovariance
from mlcli.methods.factors.factor_model import (
    Estimator,
    Factors,
    Observed,
    Scores,
    covariance_moments,
    fit_factors,
    most_factors,
    point_moments,
)
from mlcli.methods.method import Method
from mlcli.methods.polychoric import Correlations, polychoric_columns, require_answers
from mlcli.methods.trials import variant


@stored("explained", moments="dd")
@frozen
class ImputedRows(Similarity):
    """The features with missing cells replaced by their conditional means under a factor model.

    Posterior means of the factors are linear in a row, so those of a completed row are those given its observed cells.
    """

    keeps_distances: ClassVar[bool] = False
    model: Normal
    moments: Array  # d x d: the covariance of the columns that the model was fitted to

    def rows(self, new: Array) -> Array:
        """The new points (m x d), each NaN replaced by its expectation given the row's other cells."""
        return new if all_finite(new) else complete_points(self.model, new)

    @property
    def column_moments(self) -> Array:
        """The covariance of the columns (d x d) that the model was fitted to."""
        return self.moments


Points = AnyFactor | GappedPoints | None


def column_moments(data: Features | Covariance, gaps: Gaps, iterate: Iterate, *, equal: bool,
                   correlations: Correlations = "pearson") -> tuple[Observed, Points, Mapping[str, Any]]:
    """Return the moments of the columns, the points where there are any, and figures of polychoric correlations."""
    if isinstance(data, Covariance):
        return covariance_moments(data.values, data.observations, equal), None, {}
    if correlations == "polychoric":
        kernel = factor_of(data.values)
        observed = point_moments(kernel, equal)
        matrix, shown = polychoric_columns(data, observed.columns, "loadings, chi-square and the indices based on it")
        scale = observed.moments.variances if equal else np.ones(len(matrix))
        return replace(observed, moments=ColumnCovariance(matrix * np.sqrt(np.outer(scale, scale)))), kernel, shown
    if all_finite(data.values):
        kernel = factor_of(data.values)
        return point_moments(kernel, equal), kernel, {}
    points = estimate_moments(data.values, gaps, iterate)
    note("N-GAPS", f"the covariance that {gaps} gives is taken for that of {points.observations} complete rows; "
         "chi-square and the indices based on it are slightly anti-conservative", rows=points.observations)
    return covariance_moments(points.moments.covariance, points.observations, equal), points, {}


def factor_model(found: Factors, observed: Observed, points: Points, columns: Sequence[str],
                 figures: Mapping[str, Any]) -> Model:
    """Return the model of factors, reflected so that standardized loadings of each sum to a positive number."""
    found = found.with_signs(sum_signs(observed.standardized(found.loadings)))
    spectrum = Spectrum.of_values(found.squares, observed.total)
    projector: Projector | NoProjection = OF_COVARIANCE
    embedding = np.zeros((0, len(found.squares)))
    if points is not None:
        similarity: Similarity = Columns()
        if isinstance(points, GappedPoints):  # completed under the model
            model, figures = Normal(points.moments.mean, found.covariance(observed)), points.figures
            points, similarity = points.with_model(model), ImputedRows(model, points.moments.covariance)
        embedding = score_points(points, found.axes)
        projector = Projector(similarity, points.centering, found.axes,
                              Affine(points.centering.means, found.loadings))
    return Model(embedding=embedding, spectrum=spectrum, projector=projector, fit={**found.fit, **figures},
                 objective=found.trace, loadings=Loadings(found.loadings, columns))


EXACT = {"tolerance": 1e-13}
REFLECTED = ("mirror", "signs")  # the sum of loadings decides on signs
BROKEN = ("rotation", "quick", *REFLECTED)


class FA(Method):
    """A few hidden factors that explain how columns vary together; the variance not shared is the column's uniqueness.

    It keeps the correlations of the columns, as far as a few common factors explain them. It fails if columns share
    little (their measure KMO is below 0.5), or if a uniqueness reaches its bound, a Heywood case: ask for fewer
    factors. Set the number of factors first (`-p`), then `rotation`, which makes them readable.

    How it works: Each row is taken as y = μ + Λ x + ε with x ~ N(0, I) and ε ~ N(0, Ψ), where Ψ is diagonal. The
    factors x are common to the columns. A loading, an entry of Λ, says by how much a column rises where a factor rises
    by one standard deviation. The variance of a column's noise ε is its uniqueness. The parameters are those of maximum
    likelihood, or with `estimator: minres` of least squared residual correlations. Rescaling a column rescales its
    loadings, and its uniqueness with the square; standardized loadings, scores and fit stay the same. With `noise:
    equal` this is probabilistic PCA (docs/methods/ppca.md), where the units of columns matter.

    Rotation: Turned factors explain the columns equally well. A rotation (`rotation`) looks for factors that are easy
    to name: each column has a high loading on few of them. With `varimax` factors stay uncorrelated. With `promax` and
    `oblimin` they may correlate (`fit.factor_correlations` in `run.json`).

    Missing cells: With `prepare.missing: model` the mean and the covariance are those that make the cells that are
    there most likely (by the EM algorithm), or with `gaps: pairwise` those of the complete rows of each pair of
    columns. The scores of a row, its coordinates, are those of the row with its missing cells replaced by what the
    model expects given the others.

    Answers on short scales: With `correlations: polychoric` each column of answers is taken as a hidden normal variable
    that thresholds cut into answers. The model is fitted to the correlations of these variables (`polychoric` and
    `thresholds` in `fit`). Scores, also those of new rows, come from a regression on the standardized codes of the
    answers. `loadings.csv` is then in units of the codes; the page and `mlcli report --table loadings` have
    standardized loadings.

    New points: A new row gets its scores by the same formula as the training rows (`scores`), its missing cells
    replaced by what the model expects given the others.

    Files: `loadings.csv` holds Λ. For the sums of squares in `spectrum.csv`, loadings are those of standardized
    columns; with `noise: equal` they have the columns' units. If the input is a covariance matrix (`input.kind`,
    `input.observations`), there are loadings and no scores.

    `fit` in `run.json` says how well this number of factors fits: the likelihood; the chi-square test that it is
    enough, where a large p-value speaks for it; RMSEA, the root mean square error of approximation, with its 90%
    interval (good below 0.06, poor above 0.1); the Tucker-Lewis index TLI and the comparative fit index CFI (good from
    0.95); RMSR, the root mean square residual of the correlations (good below 0.08); and BIC, the Bayesian information
    criterion, by which the number of factors with the least is preferred.

    It also says whether the columns suit factors at all: KMO, the measure of Kaiser, Meyer and Olkin, of all columns
    and of each (good from 0.8, unsuitable below 0.5), and Bartlett's test that the columns are uncorrelated, whose
    p-value should be small.

    Source: Lawley and Maxwell, "Factor analysis as a statistical method", 1971; Harman and Jones, 1966 (minres);
    Olsson, 1979 (polychoric); R's factanal and psych.
    """

    in_blocks: ClassVar = ""
    accepts: ClassVar = (Features, Covariance)
    judged_by: ClassVar = "fit"
    missing: ClassVar = True
    ranked_by: ClassVar = "sums of squared loadings"
    rules: ClassVar = ("fa_cross_validation", "parallel_analysis", "velicer_map")
    checked_tables: ClassVar = 2.2  # of scores computed again
    columns_model: ClassVar = "own noise"
    variants: ClassVar = (
        variant("", *BROKEN, iterate=EXACT), variant("equal", "constant column", *REFLECTED, noise="equal"),
        variant("minres", *BROKEN, estimator="minres", iterate=EXACT),
        variant("varimax", *BROKEN, rotation={"name": "varimax"}, scores="bartlett", iterate=EXACT),
        *(variant(name, *BROKEN, rotation={"name": name}, iterate=EXACT) for name in ("promax", "oblimin")))
    axis: ClassVar = "Factor"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    later: ClassVar = ("estimator", "correlations")
    name: Literal["fa"] = "fa"
    axes: Axes = Axes()
    rotation: Rotation = option(Unrotated(), "Rotation, which makes loadings easier to read: factors stay uncorrelated "
                                "(varimax), or may correlate (promax, oblimin).")
    scores: Scores = option("regression", "Factor scores: posterior means (regression), or unbiased ones with larger "
                            "variance (bartlett).")
    noise: Literal["each", "equal"] = option("each", "Noise variances (uniquenesses): one for each column (each), or "
                                             "one for all (equal).")
    estimator: Estimator = option("ml", "Loadings and uniquenesses by maximum likelihood (ml), or with the least "
                                  "squared residual correlations (minres).")
    correlations: Correlations = option("pearson", "Correlations of the columns: their own (pearson), or those of the "
                                        "normal variables behind ordered answers (polychoric).")
    lower: float = option(0.005, "Smallest uniqueness, as a share of the column's variance.", gt=0, lt=1)
    gaps: Gaps = option("likelihood", "Mean and covariance with missing cells: by maximum likelihood (likelihood), or "
                        "from the complete rows of each pair of columns (pairwise).")
    iterate: Iterate = Iterate()

    def limit(self, data: Input) -> int:
        """Return the largest number of factors that the columns determine, below the number of points."""
        return min(most_factors(data.values.shape[1], self.noise == "equal"), len(data.values) - 1)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for options of the iteration where noise is equal (closed form)."""
        require_answers(self, data)
        unused = ("estimator", "iterate", "lower") if all_finite(data.values) else ("estimator", "lower")
        return self.refuse_unused("equal noise has a closed form", *unused) if self.noise == "equal" else {}

    @property
    def weighs_columns(self) -> bool:
        """Whether all columns have the same noise: else another unit of a column changes its loadings alone."""
        return self.noise == "equal"

    def streams(self, kind: str) -> bool:
        """Whether the input is features, and their correlations follow from products of columns."""
        return super().streams(kind) and self.correlations == "pearson"

    def steps(self, data: Features | Covariance, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the covariance or the centered points, the fit, and scores."""
        gaps = isinstance(data, Features) and not all_finite(data.values) and self.gaps == "likelihood"
        steps = factor_steps(data.values.shape, isinstance(data, Features), self.noise == "equal",
                             self.axes.count, compute.thread_count(), self.iterate.limit)
        steps[1:1] = [polychoric_step(data.values.shape)] * (self.correlations == "polychoric")
        return [gap_step(data.values, self.iterate.limit), *steps] if gaps else steps

    def solve(self, data: Features | Covariance, compute: Compute) -> Model:
        """Compute Λ and Ψ of the largest likelihood; coordinates are scores."""
        observed, points, figures = column_moments(data, self.gaps, self.iterate, equal=self.noise == "equal",
                                                   correlations=self.correlations)
        found = fit_factors(observed, count=self.axes.count, lower=self.lower, rotation=self.rotation,
                            scores=self.scores, iterate=self.iterate, names=data.columns, estimator=self.estimator)
        return factor_model(found, observed, points, data.columns, figures)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the equations of the estimator, and that the rotation is one of its criterion."""
        from mlcli.methods.factors.check import RotatedLoadings, rotation_checks
        from mlcli.methods.factors.latent_check import LatentOptions, latent_checks

        equal, model = self.noise == "equal", subject.model
        yield from latent_checks(subject, LatentOptions(
            self.iterate.tolerance, self.rotation.name != "none", pairwise=self.gaps == "pairwise", equal=equal,
            lower=self.lower, bartlett=self.scores == "bartlett", least_squares=self.estimator == "minres"))
        loadings = RotatedLoadings.of(subject.data, model, equal=equal, weighed=self.estimator == "ml")
        yield from rotation_checks(self.rotation, loadings, bool(model.fit.get("rotation_converged", True)))

    def powers_of(self, data: Input) -> Powers:
        """Return the powers of the unit: the spectrum is in squared units where noise is equal."""
        return Powers(coordinates=0, spectrum=2) if self.noise == "equal" else self.powers
