"""Canonical correlation analysis."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TwoViews
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.check.second_moments import correlations_check, covariance_checks, loadings_check, unit_variances
from mlcli.core.eigen.options import Axes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.model import JointViews, Model
from mlcli.core.whitening import Whitening, whiten
from mlcli.methods.views.check import scores_checks, variates_checks
from mlcli.methods.views.two_views import MANY, TwoViewMethod, canonical, group_variates, model_of_views, whiten_views


class CCA(TwoViewMethod):
    """The combinations of the columns of two or more views that are most correlated; each further view is a `--view`.

    It keeps what is correlated between the views, however little variance it has. It fails with many columns and few
    rows: of n rows, views with d and e columns have d + e - n + 1 correlations of one whatever the data. Set the
    further views first (`--view`), and reduce views of many columns to a few components before.

    How it works: From the columns of each view a weighted sum is made, and the weights are those for which the sums
    correlate most; each further pair is uncorrelated with those before. Changing units, or any invertible linear map of
    a view's columns, changes nothing. Coordinates are the canonical variates of the first view, of variance one
    (divisor n) and uncorrelated; those of the second view correlate with them by the canonical correlations.

    Three or more views: Coordinates are variates of all views (MAXVAR): the eigenvectors of the sum of the projectors
    on the views' columns, of variance one and uncorrelated. An eigenvalue λ is the sum of the shares of variance R²
    that each view explains.

    New points: New rows are rows of one view: of the first, or with `mlcli project --as-view 2` of the second. Of three
    or more views, new rows of all views (`mlcli project RUN FIRST --view SECOND --view THIRD`) have the coordinates of
    the fit; those of one view their regression on it, nearer to zero.

    Back to features: Reconstruction is the regression of the first view's columns on its variates.

    Files: `spectrum.csv` holds the canonical correlations, which axes are ranked by; of m views (λ - 1) / (m - 1), one
    where all agree, which is the canonical correlation where m is 2. `loadings.csv` holds the covariances of the
    columns with their own view's variates, those of the first view and then of the second; of three or more views those
    of all columns with the variates.

    Source: Hotelling, 1936; Kettenring, 1971; Björck and Golub, 1973.
    """

    axis: ClassVar = "CCA"
    most_views: ClassVar = MANY
    name: Literal["cca"] = "cca"
    axes: Axes = Axes()

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """Compute the SVD of U₁ᵀ U₂, with U₁ and U₂ orthonormal bases of the centered views."""
        views = whiten_views(data)
        if len(views) > 2:
            return self.solve_several(data, views)
        pairs = canonical(*views)
        turns = pairs.turns(self.axes.available_count(len(pairs.correlations)))
        signs = leading_signs(views[0].points @ turns[0])
        turns = [turn * signs for turn in turns]
        return model_of_views(data, views, views[0].points @ turns[0],
                              Spectrum.of_values(pairs.correlations, complete=True), turns)

    def solve_several(self, data: TwoViews, views: Sequence[Whitening]) -> Model:
        """Compute the eigenvectors of Σ Uₖ Uₖᵀ, by those of the joint covariance of white coordinates."""
        found = group_variates(views)
        count = self.axes.available_count(len(found.values))
        turns, weights = found.turns(count), found.weights(count)
        variates = sum(view.points @ turn for view, turn in zip(views, turns, strict=True)) * weights
        signs = leading_signs(variates)
        return model_of_views(data, views, variates * signs, Spectrum.of_values(found.correlations, complete=True),
                              [turn * signs for turn in turns], joint=JointViews(None, weights))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check unit variances, no correlations, and what the other views tell of the axes."""
        yield from super().checks(subject)
        data, model = subject.data, subject.model
        yield from covariance_checks(model.embedding, unit_variances(model.axes))
        yield from loadings_check(data.values, model.embedding, model.directions)
        yield from scores_checks(data, model)
        if len(data.views) > 2:
            yield from variates_checks(data, model)
            return
        second = whiten(data.view.normalized().values, equal_columns=True)
        yield correlations_check(second.points, second.condition, model.embedding, model.ranks.solved)
