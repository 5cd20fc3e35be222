"""Principal component analysis."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance, Features, Input
from mlcli.base.values.options import option, option_of
from mlcli.certify.contributions import WeightedRows
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.chain.kernels import Products
from mlcli.core.chain.stages import Coordinates, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.kernels.forms import Dense
from mlcli.core.kernels.options import Route
from mlcli.core.model import Loadings, Model, Powers
from mlcli.methods.method import Method
from mlcli.methods.polychoric import Correlations, polychoric_columns, require_answers, varying_columns
from mlcli.methods.trials import InputSummary, Trials, single_trial, variant


class PCA(Method):
    """The directions in which the points vary most; linear and exact.

    It keeps as much variance of the columns as this number of axes can hold, and so the large distances between points.
    It fails if the points lie on a curved surface: when the surface is flattened, its far ends may come to lie on each
    other. Set `--scale standard` first where columns have different units, since otherwise the column of the largest
    numbers decides.

    How it works: The columns are centered. The first axis is the direction along which the points vary most; each
    further axis is the direction of most variance among those at right angles to the axes before. Coordinates are the
    places of the points along these directions.

    The directions are found as eigenvectors of the smaller of two matrices: the covariance matrix of the columns
    (direct PCA), or the matrix of the inner products of the centered rows (Gram matrix, dual PCA). Both give the same
    result. Eigenvalues are variances, with the divisor n or n - 1 (`divisor`). The variance lost by keeping p axes is
    the sum of the other eigenvalues.

    Why try it first: PCA is fast, has a unique solution, and is the baseline for nonlinear methods.

    Answers on short scales: With `correlations: polychoric` each column of answers is taken as a hidden normal variable
    that thresholds cut into answers. Loadings and eigenvalues are those of the correlations of these variables
    (`polychoric` and `thresholds` in `fit`). Scores, also those of new rows, come from a regression on the standardized
    codes of the answers.

    New points: The means of the training rows are subtracted from a new row, and it is placed along the same
    directions.

    Files: `loadings.csv` holds the directions times the roots of their eigenvalues, or with `loadings: unit` the
    directions themselves. If the input is a covariance matrix (`input.kind: covariance`), there are no rows to place,
    and so no embedding.

    Source: Pearson, 1901; Hotelling, 1933; Jolliffe, "Principal component analysis", 2002; Olsson, 1979 (polychoric).
    """

    in_blocks: ClassVar = ""
    accepts: ClassVar = (Features, Covariance)
    baseline: ClassVar = True
    unscaled: ClassVar = 100  # variances up to 2**200 times n, whose squares are far from the end of the range
    rules: ClassVar = ("parallel_analysis", "velicer_map", "broken_stick", "elbow")
    columns_model: ClassVar = "equal noise"
    isometric: ClassVar = True
    variants: ClassVar = (
        variant(), variant("covariance", route="covariance", divisor="n-1"), variant("dual", route="dual"),
        variant("svd", route="svd"), variant("power", "whole", route="power"))
    axis: ClassVar = "PC"
    later: ClassVar = ("correlations",)
    name: Literal["pca"] = "pca"
    route: Route = option_of(Products, "route")
    divisor: Literal["n", "n-1"] = option("n", "Divisor of the covariance.")
    loadings: Literal["scaled", "unit"] = option("scaled", "Loadings: directions times the roots of their eigenvalues, "
                                                 "or directions (unit), which make coordinates of centered columns.")
    correlations: Correlations = option("pearson", "Columns as they are (pearson), or polychoric correlations: those "
                                        "of the normal variables behind ordered answers (polychoric).")
    eigensolve: Eigensolve = Eigensolve()

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return one setting: there are no options to try."""
        return single_trial()

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d; for a covariance, d; for polychoric correlations, varying columns."""
        if self.of_answers(data.kind):
            return len(varying_columns(data.values))
        return min(len(data.values) - (not isinstance(data, Covariance)), data.values.shape[1])

    def eigenvalues(self, data: Input) -> int:
        """Return the smaller of n and d; for polychoric correlations, the number of varying columns."""
        return self.limit(data) if self.of_answers(data.kind) else min(data.values.shape)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for route and divisor of correlations, and unused solvers."""
        if isinstance(data, Covariance):
            return self.refuse_unused("the covariance is given", "route", "divisor", "correlations")
        if not self.of_answers(data.kind):
            return self.of_columns().refuse_void()
        require_answers(self, data)
        return self.refuse_unused("polychoric correlations are solved", "route", "divisor")

    def streams(self, kind: str) -> bool:
        """Whether the input is features whose columns are taken as they are."""
        return super().streams(kind) and not self.of_answers(kind)

    def weighs_rows(self, kind: str) -> bool:
        """Whether the input is features whose columns are taken as they are."""
        return kind == "features" and not self.of_answers(kind)

    def weighted_rows(self, subject: Subject) -> WeightedRows:
        """Return the centered rows, all of one weight."""
        # The mean of a large column is rounded: of a mean of 1e6 the first difference leaves 1e-9, the second 1e-16.
        values = subject.data.values - subject.data.values.mean(axis=0)
        size = len(values)
        return WeightedRows(described=values - values.mean(axis=0), factors=np.ones(values.shape[1]),
                            weights=np.full(size, 1 / max(size, 1)), sizes=subject.sizes)

    def powers_of(self, data: Input) -> Powers:
        """Return the powers of the unit: none of standardized codes."""
        return Powers(0, 0) if self.of_answers(data.kind) else self.powers

    @property
    def free_scale(self) -> bool:
        """Whether coordinates are of standardized codes."""
        return self.of_answers("features")

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of a covariance's eigenproblem, after polychoric correlations with scores, or of a chain."""
        columns, threads = data.values.shape[1], compute.thread_count()
        solving = self.eigensolve.step(columns, threads, 8.0 * columns**2)
        if isinstance(data, Covariance):
            return [solving]
        if not self.of_answers(data.kind):
            return super().steps(data, compute, share)
        from mlcli.core.latent.factor_scores import polychoric_step, score_step

        return [polychoric_step(data.values.shape), solving,
                score_step(data.values.shape, self.eigensolve.wanted(columns), threads)]

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the eigenvectors of the columns' covariance, of the one that is given, or of polychoric correlations.
        """
        if subject.model.fit.get("polychoric"):
            from mlcli.certify.polychoric import component_checks

            yield from component_checks(subject, scaled=self.loadings == "scaled")
        elif subject.places:
            yield from super().checks(subject)
        else:
            from mlcli.certify.linear import covariance_check

            yield covariance_check(subject, unit=self.loadings == "unit")

    def solve(self, data: Features | Covariance, compute: Compute) -> Model:
        """Compute X = U Σ Vᵀ, centered; scores are V √λ, directions U."""
        found = self.components(data, compute)
        return found if self.loadings == "scaled" else found.with_directions()

    def components(self, data: Features | Covariance, compute: Compute) -> Model:
        """Return the components of a covariance, of polychoric correlations, or of points by a chain."""
        if isinstance(data, Covariance):
            spectrum = self.eigensolve(Dense(data.values, uncentered(len(data.values))), self.limit(data), compute)
            return Model.of_covariance(spectrum, data)
        if self.of_answers(data.kind):
            return component_model(data, self.eigensolve, self.limit(data), compute)
        return super().solve(data, compute)

    def of_answers(self, kind: str) -> bool:
        """Whether such an input is answers, whose polychoric correlations are decomposed."""
        return kind == "features" and self.correlations == "polychoric"

    def chain(self, kind: str = "features") -> Stages | None:
        """Return the chain of inner products of centered columns; None where a covariance is solved instead."""
        return None if kind == "covariance" or self.of_answers(kind) else self.of_columns()

    def of_columns(self) -> Stages:
        """Return the chain of points."""
        return Stages(kernel=Products(route=self.route), centering="columns", eigensolve=self.eigensolve,
                      coordinates=Coordinates(divisor=self.divisor))


def of_answers(method: Method, kind: str) -> bool:
    """Whether a method decomposes the polychoric correlations of such an input."""
    return isinstance(method, PCA) and method.of_answers(kind)


def component_model(data: Features, eigensolve: Eigensolve, most: int, compute: Compute) -> Model:
    """Return the model of the principal components V of the polychoric correlations R of answers.

    Loadings are V √λ. The regression of a component on standardized codes Z, whose correlations are taken to be R, is
    R⁻¹ R V = V: scores are Z V.
    """
    from mlcli.core.kernels.row_factor import factor_of
    from mlcli.core.latent.factor_scores import score_points
    from mlcli.core.similarities.base import Columns
    from mlcli.core.similarities.projector import Affine, Projector

    points, kernel = np.asarray(data.values), factor_of(data.values)
    varying = varying_columns(points)
    matrix, figures = polychoric_columns(data, varying, "loadings and eigenvalues")
    found = eigensolve(Dense(matrix, uncentered(len(matrix))), most, compute)
    deviations = points[:, varying].std(axis=0)[:, None]
    axes, directions, loadings = np.zeros((3, points.shape[1], found.vectors.shape[1]))
    axes[varying], directions[varying] = found.vectors / deviations, found.vectors * deviations
    loadings[varying] = found.coordinates()
    projector = Projector(Columns(), kernel.centering, axes, Affine(kernel.centering.means, directions))
    columns_alone = replace(found, vectors=np.zeros((0, axes.shape[1])), further=np.zeros((0, 0)))
    return Model(embedding=score_points(kernel, axes), spectrum=columns_alone, projector=projector, fit=figures,
                 loadings=Loadings(loadings, data.columns, power=0))
