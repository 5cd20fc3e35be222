"""The base of methods of two or more views: input, number of axes, costs and units, and the model with all views."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.steps import Step, merge_steps
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input, TwoViews
from mlcli.core.centering import Centering
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.linalg import singular_step
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.core.whitening import WHITE, Whitening, whiten
from mlcli.methods.method import Method
from mlcli.methods.views.canonical import most_pairs

MANY = float("inf")  # views


class TwoViewMethod(Method):
    """The base of methods whose axes are pairs, one of each view, ranked by their canonical correlation."""

    accepts: ClassVar = (TwoViews,)
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
        shapes, threads = [part.values.shape for part in data.views], compute.thread_count()
        first, *others = (columns for _, columns in shapes)
        rest = sum(others)
        pairs = 2.0 * len(data.values) * first * rest / product_rate(threads)
        across = 8.0 * first * rest
        if len(shapes) > 2:
            across, pairs = 24.0 * (first + rest) ** 2 + 8.0 * len(data.values) * (first + rest), 2 * pairs
        steps = [merge_steps([singular_step("whitening", shape, threads, 1.4 * WHITE) for shape in shapes]),
                 Step("correlations", f"singular values of {first} x {rest}", pairs, across)]
        minimize = getattr(self, "minimize", None)
        if minimize is None or len(shapes) == 2:
            return steps
        from mlcli.methods.views.group_factors import iteration_step

        return [*steps, iteration_step(len(data.values), first + rest, limit=minimize.limit, threads=threads)]


def whiten_views(data: TwoViews) -> list[Whitening]:
    """Return the whitening of each view's columns, each column first scaled to one length."""
    return [whiten(part.values, equal_columns=True) for part in data.views]


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
    from mlcli.core.linalg import symmetric_eigen

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


