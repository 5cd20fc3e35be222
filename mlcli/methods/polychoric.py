"""Polychoric correlations of answers in place of the columns' own, and principal components of such matrices."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance, Features, Input
from mlcli.base.values.scaling import all_finite
from mlcli.core.centering import uncentered
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.kernels.forms import Dense
from mlcli.core.model import Loadings, Model, Powers
from mlcli.errors import ConfigError, GeometryError
from mlcli.methods.method import Method

Correlations = Literal["pearson", "polychoric"]


def require_answers(method: Any, data: Input) -> None:
    """Raise ConfigError for polychoric correlations of rows with gaps, and where the correlations are given.

    Raises GeometryError where no column varies.
    """
    if isinstance(data, Covariance):
        method.refuse_unused("the correlations are given", "correlations")
    if method.correlations == "pearson":
        return
    if not all_finite(data.values):
        raise ConfigError("GAPS-OPTION", "polychoric correlations need complete answers", where="method.correlations",
                          hint="leave rows with missing answers out ({prepare.missing=drop})")
    require_varying(varying_columns(data.values))


class ColumnComponents(Method):
    """The parts of principal component analysis that decompose a covariance, given or of answers (polychoric)."""

    if TYPE_CHECKING:
        correlations: Correlations

    def of_answers(self, kind: str) -> bool:
        """Whether such an input is answers, whose polychoric correlations are decomposed."""
        return kind == "features" and self.correlations == "polychoric"

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for options of points, where correlations are solved."""
        require_answers(self, data)
        return self.refuse_unused("polychoric correlations are solved", "route", "divisor") if self.of_answers(
            data.kind) else {}

    def streams(self, kind: str) -> bool:
        """Whether the input is features whose columns are taken as they are."""
        return super().streams(kind) and not self.of_answers(kind)

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

    def solve(self, data: Any, compute: Compute) -> Model:
        """Compute the components of a covariance or of polychoric correlations, or a chain."""
        if isinstance(data, Covariance):
            spectrum = self.eigensolve(Dense(data.values, uncentered(len(data.values))), self.limit(data), compute)
            return Model.of_covariance(spectrum, data)
        if not self.of_answers(data.kind):
            return super().solve(data, compute)
        return component_model(data, self.eigensolve, self.limit(data), compute)


def of_answers(method: Method, kind: str) -> bool:
    """Whether a method decomposes the polychoric correlations of such an input."""
    return isinstance(method, ColumnComponents) and method.of_answers(kind)


def varying_columns(points: Array) -> Indices:
    """Return the columns of points (n x d) that are not constant."""
    return np.flatnonzero(points.max(axis=0) > points.min(axis=0))


def require_varying(varying: Indices) -> None:
    """Raise GeometryError where no column varies, of a table or of resampled rows of one."""
    if not len(varying):
        raise GeometryError("AXES", "no column varies: nobody answers otherwise than the others", where="input",
                            hint="choose other columns with {input.columns}")


def polychoric_columns(data: Features, varying: Indices, results: str) -> tuple[Array, Mapping[str, Any]]:
    """Return the polychoric correlations (m x m) of the columns that vary, and figures: the pairs, and thresholds.

    A note says which `results` are of these. Raises DataError for a column of more than ten values, and GeometryError
    where no column varies.
    """
    require_varying(varying)
    from mlcli.core.latent.polychoric import polychoric_correlations

    names = [data.columns[column] for column in varying.tolist()]
    found = polychoric_correlations(np.asarray(data.values)[:, varying], names)
    note("N-POLYCHORIC", f"{results} are of polychoric correlations; scores are by regression on the standardized "
         "codes of the answers")
    cuts = found.answers.thresholds
    return found.matrix, {"polychoric": found.pairs.tolist(), "thresholds": [
        row[: size - 1].tolist() for row, size in zip(cuts, found.answers.counts.tolist(), strict=True)]}


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
