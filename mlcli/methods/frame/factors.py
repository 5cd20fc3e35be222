"""What factor analysis starts from, and the model that its factors make: with points also their scores."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.rows.scratch import by_rows
from mlcli.base.stages.stage import note
from mlcli.base.values.inputs import Covariance, Features
from mlcli.base.values.scaling import all_finite
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.model import Loadings, Model
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.kernels.row_factor import AnyFactor, factor_of
from mlcli.stages.latent.factor_model import Factors, Observed, of_covariance, of_points
from mlcli.stages.latent.factor_scores import scored
from mlcli.stages.latent.gaps import Gapped, Gaps, with_gaps
from mlcli.stages.similarities import OF_COVARIANCE, Affine, NoProjection, Projector, complete_points

Points = AnyFactor | Gapped | None


def moments_of(data: Features | Covariance, gaps: Gaps, iterate: Iterate, *, equal: bool) -> tuple[Observed, Points]:
    """The moments of the columns, with the points that they are of, where there are any."""
    if isinstance(data, Covariance):
        return of_covariance(data.values, data.observations, equal), None
    if all_finite(data.values):
        kernel = factor_of(data.values)
        return of_points(kernel, equal), kernel
    points = with_gaps(data.values, gaps, iterate)
    note("N-GAPS", f"the covariance that {gaps} gives is taken for that of {points.observations} complete rows: "
         "chi-square and what follows from it are a little too sure", rows=points.observations)
    return of_covariance(points.moments.covariance, points.observations, equal), points


def model_of(found: Factors, observed: Observed, points: Points, columns: Sequence[str]) -> Model:
    """The model of these factors, turned so that the largest score of each, or loading, is positive."""
    spectrum = Spectrum.given(found.squares, observed.total)
    projector: Projector | NoProjection = OF_COVARIANCE
    embedding, figures = np.zeros((0, len(found.squares))), {}
    if points is None:
        found = found.turned(leading_signs(found.loadings))
    else:
        points, similarity = complete_points(points, found.covariance(observed))
        embedding = scored(points, found.axes)
        found = found.turned(signs := leading_signs(embedding))
        embedding = by_rows(lambda some: some * signs, embedding)
        figures = points.figures if isinstance(points, Gapped) else {}
        projector = Projector(similarity, points.centering, found.axes,
                              Affine(points.centering.means, found.loadings))
    return Model(embedding=embedding, spectrum=spectrum, projector=projector, fit={**found.fit, **figures},
                 objective=found.trace, loadings=Loadings(found.loadings, columns))
