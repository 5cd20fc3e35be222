"""Canonical correlation analysis."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TwoViews
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.model import Loadings, Model
from mlcli.methods.frame.two_views import TwoViewMethod
from mlcli.methods.identities.second_moments import (
    correlations_check,
    covariance_checks,
    loadings_check,
    unit_variances,
)
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.linear.canonical import canonical
from mlcli.stages.linear.whitening import whiten
from mlcli.stages.similarities.columns import Columns
from mlcli.stages.similarities.decoders import Affine
from mlcli.stages.similarities.projector import Projector


class CCA(TwoViewMethod):
    """The combinations of the columns of two views that are most correlated; takes a second view, `--view`.

    Coordinates are the canonical variates of the first view, of variance one (divisor n) and
    uncorrelated; those of the second view correlate with them by the canonical correlations,
    which `spectrum.csv` holds and axes are ranked by. `loadings.csv` holds the covariances of the
    columns with their own view's variates, those of the first view and then of the second. New
    rows are rows of the first view alone: the second view cannot be projected. Reconstruction is
    the regression of the first view's columns on its variates.

    Changing units, or any invertible linear map of a view's columns, changes nothing. It fails with many columns and
    few rows: of n rows, views with d and e columns have d + e - n + 1 correlations of one whatever the data. Source:
    Hotelling, 1936; Björck and Golub, 1973.
    """

    axis: ClassVar = "CCA"
    name: Literal["cca"] = "cca"
    axes: Axes = Axes()

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """Compute the SVD of U₁ᵀ U₂, with U₁ and U₂ orthonormal bases of the centered views."""
        views = [whiten(part.values, equal_columns=True) for part in (data, data.view)]
        pairs = canonical(*views)
        count = self.axes.available_count(len(pairs.correlations))
        turns = pairs.turns(count)
        signs = leading_signs(views[0].points @ turns[0])
        turns = [turn * signs for turn in turns]
        loadings = [(turn.T @ view.back).T for view, turn in zip(views, turns, strict=True)]
        means = views[0].means
        spectrum = Spectrum.of_values(pairs.correlations, complete=True)
        return Model(embedding=views[0].points @ turns[0], spectrum=spectrum,
                     projector=Projector(Columns(), Centering(means, across=False), views[0].into @ turns[0],
                                         Affine(means, loadings[0])),
                     loadings=Loadings(np.vstack(loadings), (*data.columns, *data.view.columns)))

    def identities(self, data: TwoViews, model: Model, full: bool = False) -> list[Check]:
        """Check unit variances, no correlations, and the canonical ones with the second view."""
        second = whiten(data.view.normalized().values, equal_columns=True)
        return [*covariance_checks(model.embedding, unit_variances(model.axes)),
                *loadings_check(data.values, model.embedding, model.directions),
                correlations_check(second.points, second.condition, model.embedding, model.ranks.solved)]
