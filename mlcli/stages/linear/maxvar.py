"""Canonical correlations of three or more views: MAXVAR (Kettenring, 1971; Carroll, 1968).

The eigenvectors of the sum of the projectors on the views' columns: variates of variance one, uncorrelated, each as
well explained by all views as can be. Of m views, an eigenvalue λ is the sum of the shares R² that each view explains
of its variate; (λ - 1) / (m - 1), one where all views agree, is the canonical correlation if there are two.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, stage
from mlcli.base.types import Array
from mlcli.stages.algebra.linalg import EPS, symmetric_eigen
from mlcli.stages.eigen.axes import first_columns
from mlcli.stages.linear.whitening import Whitening


@frozen
class GroupVariates:
    """Variates of several white views: eigenvalues above one of their joint covariance, and unit eigenvectors."""

    values: Array  # r, descending, λ
    vectors: Array  # sum of the views' ranks x r
    places: tuple[slice, ...]  # of each view in the vectors' rows

    @property
    def correlations(self) -> Array:
        """The mean correlation of the views along each axis (r): (λ - 1) / (m - 1)."""
        return np.minimum((self.values - 1) / (len(self.places) - 1), 1.0)

    def turns(self, count: int) -> list[Array]:
        """Return for each view the regression (rank x count) of the leading variates on its white coordinates."""
        whole = first_columns(self.vectors * np.sqrt(self.values), count)
        return [whole[place] for place in self.places]

    def weights(self, count: int) -> Array:
        """Return the weights (count) that make variates of the sum of these regressions."""
        return np.pad(1 / self.values[:count], (0, max(count - len(self.values), 0)))


def places_of(views: Sequence[Whitening]) -> tuple[slice, ...]:
    """Return the places of each view's white coordinates, side by side."""
    return tuple(slice(*pair) for pair in pairwise(np.cumsum([0, *(view.rank for view in views)]).tolist()))


def joint_covariance(views: Sequence[Whitening]) -> Array:
    """Return the covariance (R x R) of the white coordinates of views, side by side; exactly one within a view."""
    points = np.hstack([view.points for view in views])
    covariance = points.T @ points / max(len(points), 1)
    for place in places_of(views):
        covariance[place, place] = np.eye(place.stop - place.start)
    return covariance


@stage("correlations")
def group_variates(views: Sequence[Whitening]) -> GroupVariates:
    """Return the variates of three or more views (MAXVAR), by the eigenvectors of their joint covariance."""
    rows, ranks = len(views[0].points), [view.rank for view in views]
    spare = sum(ranks) - (len(views) - 1) * (rows - 1)
    if spare > 0:
        note("W-SATURATED", f"with {', '.join(map(str, ranks))} independent columns in {rows} rows, {spare} "
             "variates are common to all views for any data", correlations=spare)
    values, vectors = symmetric_eigen(joint_covariance(views)) if sum(ranks) else (np.zeros(0), np.zeros((0, 0)))
    shared = values > 1 + 8 * EPS * max(len(values), 1)
    return GroupVariates(values[shared], vectors[:, shared], places_of(views))
