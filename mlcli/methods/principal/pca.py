"""Principal component analysis."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance, Features, Input
from mlcli.base.values.options import option, option_of
from mlcli.certify.subject import Subject
from mlcli.core.chain.kernels import Products
from mlcli.core.chain.stages import Coordinates, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.kernels.options import Route
from mlcli.core.model import Model
from mlcli.methods.polychoric import ColumnComponents, Correlations, varying_columns
from mlcli.methods.trials import InputSummary, Trials, single_trial, variant


class PCA(ColumnComponents):
    """The directions in which the points vary most; linear and exact.

    The kernel is that of inner products of centered points, solved on the smaller side: the covariance matrix of the
    columns (direct PCA) or the Gram matrix of the rows (dual PCA). Eigenvalues are variances, over n or n - 1. The
    variance lost by keeping p axes is the sum of the other eigenvalues.

    Always try it first: it is fast, has a unique solution, and is the baseline for nonlinear methods. It fails if the
    points lie on a curved surface. `loadings.csv` holds directions times the roots of their eigenvalues, or the
    directions (`loadings: unit`); of a covariance (`input.kind: covariance`) there is no embedding beside it.

    Answers on short scales (`correlations: polychoric`): loadings and eigenvalues are of polychoric correlations, whose
    normal variables thresholds cut into answers (`polychoric` and `thresholds` in `fit`); scores and new rows are by
    regression on the standardized codes. Source: Pearson, 1901; Hotelling, 1933; Jolliffe, "Principal component
    analysis", 2002; Olsson, 1979 (polychoric).
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
        return super().resolved_stages(data) if self.of_answers(data.kind) else self.of_columns().refuse_void()

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
        found = super().solve(data, compute)
        return found if self.loadings == "scaled" else found.with_directions()

    def chain(self, kind: str = "features") -> Stages | None:
        """Return the chain of inner products of centered columns; None where a covariance is solved instead."""
        return None if kind == "covariance" or self.of_answers(kind) else self.of_columns()

    def of_columns(self) -> Stages:
        """Return the chain of points."""
        return Stages(kernel=Products(route=self.route), centering="columns", eigensolve=self.eigensolve,
                      coordinates=Coordinates(divisor=self.divisor))
