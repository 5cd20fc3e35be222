"""Canonical correlations of two or more views, and the base of the methods that use them.

The eigenvectors of the sum of the projectors on the views' columns: variates of variance one, uncorrelated, each as
well explained by all views as can be. Of m views, an eigenvalue λ is the sum of the shares R² that each view explains
of its variate; (λ - 1) / (m - 1), one where all views agree, is the canonical correlation if there are two.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input, TwoViews
from mlcli.base.values.quantity import Quantity
from mlcli.core.centering import Centering
from mlcli.core.eigen.options import first_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.latent.canonical import ALIKE, canonical_steps, most_pairs
from mlcli.core.linalg import symmetric_eigen
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.core.whitening import Whitening
from mlcli.methods.method import Method


def posterior_means(variates: Sequence[Array], correlations: Array) -> Array:
    """Return posterior means (n x r) of the shared factors, given canonical variates (n x r) of one view or of both.

    `correlations` is an (r,) array.
    """
    if len(variates) == 1:
        return np.sqrt(correlations) * variates[0]
    return np.sqrt(correlations) / (1 + correlations) * (variates[0] + variates[1])


def posterior_variances(correlations: Array, both: bool) -> Array:
    """Return the variances (r) of the posterior means for canonical correlations, an (r,) array."""
    return 2 * correlations / (1 + correlations) if both else correlations


def log_likelihood(views: Sequence[Whitening], correlations: Array) -> Quantity | None:
    """Return the largest log-likelihood of shared factors with canonical correlations, an (r,) array.

    None where it has no limit: a view has dependent columns, or a correlation is 1.
    """
    dependent = any(view.rank < len(view.means) for view in views)
    if dependent or np.any(1 - correlations**2 <= ALIKE):
        note("W-UNBOUNDED", "the likelihood has no limit: " + (
            "the columns of a view are linearly dependent" if dependent else "a canonical correlation is 1"))
        return None
    rows, ranks = len(views[0].points), [view.rank for view in views]
    spread = sum(2 * float(np.linalg.slogdet(view.back)[1]) for view in views)
    shared = float(np.sum(np.log1p(-(correlations**2))))
    return Quantity(-0.5 * rows * (sum(ranks) * (1 + float(np.log(2 * np.pi))) + spread + shared),
                    cells=[rows * rank for rank in ranks])


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


MANY = float("inf")  # views


class TwoViewMethod(Method):
    """The base of methods whose axes are pairs, one of each view, ranked by their canonical correlation."""

    accepts: ClassVar = (TwoViews,)
    judged_by: ClassVar = "correlations"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = "canonical correlations"
    loads: ClassVar = "views"
    variance_shares: ClassVar = False
    rules: ClassVar = ()
    can_resample: ClassVar = True
    unit_free: ClassVar = True

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and the columns of the smaller view, of several of all views but the largest."""
        return most_pairs(data)

    def steps(self, data: TwoViews, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular values of each view, and of what the views share."""
        return canonical_steps(data, compute.thread_count())


def model_of_views(data: TwoViews, views: Sequence[Whitening], embedding: Array, spectrum: Spectrum,
                   turns: Sequence[Array], maps: Sequence[Array] | None = None, **more: Any) -> Model:
    """Return a model with loadings and a projector of each view.

    `turns` (rank x p) are the covariances of each view's white coordinates with what its rows give, which `maps`
    (rank x p, by default the same) compute of them.
    """
    loadings = [(turn.T @ view.back).T for view, turn in zip(views, turns, strict=True)]
    first, *others = [
        Projector(Columns(), Centering(view.means, across=False), view.into @ way, Affine(view.means, weights))
        for view, way, weights in zip(views, turns if maps is None else maps, loadings, strict=True)]
    columns = tuple(name for part in data.views for name in part.columns)
    return Model(embedding=embedding, spectrum=spectrum, projector=first, others=tuple(others),
                 loadings=Loadings(np.vstack(loadings), columns), **more)


def private_loadings(data: TwoViews, views: Sequence[Whitening], noise: Sequence[Array]) -> Loadings:
    """Return the loadings of private factors (columns of all views x q): the principal axes of each view's noise.

    `noise` are covariances (rank x rank) of white coordinates. Ψ = L Lᵀ of a view's rows, whose further columns are 0.
    """
    parts = []
    for view, own in zip(views, noise, strict=True):
        values, vectors = symmetric_eigen(view.back.T @ own @ view.back)
        signs = np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))] < 0, -1.0, 1.0)
        parts.append(vectors * signs * np.sqrt(np.maximum(values, 0.0)))
    widest = max(map(len, parts))
    columns = tuple(name for part in data.views for name in part.columns)
    return Loadings(np.vstack([np.pad(part, ((0, 0), (0, widest - len(part)))) for part in parts]), columns)


def rows_of_views(data: TwoViews, values: Array) -> list[Array]:
    """Split rows of all views' columns (d x p), one below the other, into those of each view."""
    return np.split(values, np.cumsum([part.values.shape[1] for part in data.views])[:-1])
