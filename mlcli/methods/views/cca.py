"""Canonical correlation analysis."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TwoViews
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.check.second_moments import correlations_check, covariance_checks, loadings_check, unit_variances
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.latent.canonical import SHARED, canonical, whiten_views
from mlcli.core.model import JointViews, Model
from mlcli.core.whitening import Whitening, whiten
from mlcli.methods.views.check import scores_checks, variates_checks
from mlcli.methods.views.two_views import MANY, TwoViewMethod, group_variates, model_of_views


class CCA(TwoViewMethod):
    """The combinations of the columns of two or more views that are most correlated; each further view is a `--view`.

    It keeps what is correlated between the views, however little variance it has. It fails with many columns and few
    rows: with n rows, two views of d and e columns have d + e - n + 1 correlations of one, whatever the data. Set the
    further views first (`--view`), and reduce views of many columns to a few components beforehand.

    How it works: A weighted sum is made of the columns of each view, with the weights for which both sums correlate
    most. Each further pair of sums is uncorrelated with the pairs before. Changing units, or any invertible linear map
    of a view's columns, changes nothing. The sums are called canonical variates, and the correlations of the pairs
    canonical correlations. Coordinates are the variates of the first view; they have variance one (divisor n) and are
    uncorrelated.

    Three or more views: Coordinates are common variates of all views (MAXVAR): the eigenvectors of the sum of the
    projectors on the views' columns. They have variance one and are uncorrelated. The eigenvalue λ of an axis is the
    sum, over the views, of the share R² of its variance that the view explains.

    New points: New rows are rows of one view: of the first, or with `mlcli project --as-view 2` of the second. In a run
    on three or more views, new rows of all views (`mlcli project RUN FIRST --view SECOND --view THIRD`) are placed as
    the training rows were. New rows of one view get the regression of these coordinates on that view, which lies nearer
    to zero.

    Back to features: `mlcli reconstruct` gives the regression of the first view's columns on its variates.

    Files: `spectrum.csv` holds the canonical correlations, which axes are ranked by. For m views these are (λ - 1) / (m
    - 1): 1 if all views agree, and the canonical correlation if m is 2. `loadings.csv` holds the covariances of the
    columns of the first view with its variates, then those of the second with its own; for three or more views, the
    covariances of all columns with the common variates.

    Source: Hotelling, 1936; Kettenring, 1971; Björck and Golub, 1973.
    """

    axis: ClassVar = "CCA"
    most_views: ClassVar = MANY
    name: Literal["cca"] = "cca"
    axes: PlainAxes = PlainAxes()

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """Compute the SVD of U₁ᵀ U₂, with U₁ and U₂ orthonormal bases of the centered views."""
        views = whiten_views(data)
        if len(views) > 2:
            return self.solve_several(data, views)
        pairs = canonical(*views)
        turns = pairs.turns(self.axes.available_count(len(pairs.correlations), SHARED))
        signs = leading_signs(views[0].points @ turns[0])
        turns = [turn * signs for turn in turns]
        return model_of_views(data, views, views[0].points @ turns[0],
                              Spectrum.of_values(pairs.correlations, complete=True), turns)

    def solve_several(self, data: TwoViews, views: Sequence[Whitening]) -> Model:
        """Compute the eigenvectors of Σ Uₖ Uₖᵀ, by those of the joint covariance of white coordinates."""
        found = group_variates(views)
        count = self.axes.available_count(len(found.values), SHARED)
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
