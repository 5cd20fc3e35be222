"""The moments that factor analysis needs, and the model of its factors, with scores where there are points."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.values.inputs import Covariance, Features
from mlcli.base.values.scaling import all_finite
from mlcli.base.values.signs import sum_signs
from mlcli.methods.frame.model import Loadings, Model
from mlcli.methods.frame.polychoric import Correlations, polychoric_columns
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.kernels.row_factor import AnyFactor, factor_of
from mlcli.stages.latent.factor_analysis import Whole
from mlcli.stages.latent.factor_model import Factors, Observed, covariance_moments, point_moments
from mlcli.stages.latent.factor_scores import score_points
from mlcli.stages.latent.gaps import GappedPoints, Gaps, estimate_moments
from mlcli.stages.similarities.decoders import Affine
from mlcli.stages.similarities.explained import complete_factor
from mlcli.stages.similarities.projector import OF_COVARIANCE, NoProjection, Projector

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
        return replace(observed, moments=Whole(matrix * np.sqrt(np.outer(scale, scale)))), kernel, shown
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
        points, similarity = complete_factor(points, found.covariance(observed))
        embedding = score_points(points, found.axes)
        figures = points.figures if isinstance(points, GappedPoints) else figures
        projector = Projector(similarity, points.centering, found.axes,
                              Affine(points.centering.means, found.loadings))
    return Model(embedding=embedding, spectrum=spectrum, projector=projector, fit={**found.fit, **figures},
                 objective=found.trace, loadings=Loadings(found.loadings, columns))
