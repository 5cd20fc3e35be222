"""What second and further views tell of coordinates, by each view's own columns."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, ratio, skipped
from mlcli.base.values.inputs import Features, TwoViews
from mlcli.methods.frame.model import Loadings, Model
from mlcli.methods.frame.two_views import rows_of_views
from mlcli.methods.identities.second_moments import covariance_checks, loadings_check
from mlcli.methods.identities.shared_factors import SOLID, OrthonormalView, largest
from mlcli.stages.linear.whitening import whiten
from mlcli.stages.similarities.projector import require_projector

SLOPE = 1e-3  # largest slope of the likelihood in the noise, relative to it, where the iteration has converged
ABSENT = "the columns of a view depend on each other, or a file of the run is not at hand"


def normalized_views(data: TwoViews) -> list[Features]:
    """Return each view in a unit of its own."""
    return [Features(part.values, part.ids, part.columns, unit=part.unit).normalized() for part in data.views]


def measured_rows(data: TwoViews, stated: Loadings | None) -> list[Array] | None:
    """Return plain loadings of all views' columns as one array for each view, in the units of `normalized_views`."""
    if stated is None:
        return None
    return [part.unit.measured(rows) for part, rows in zip(normalized_views(data), rows_of_views(data, stated.values),
                                                           strict=True)]


def scores_of_each(data: TwoViews, model: Model) -> list[Array]:
    """Return the coordinates (n x p) that the rows of each view alone have, by the model's projectors."""
    first = require_projector(model.projector).project(data.values)
    return [first, *(other.project(part.values) for other, part in zip(model.others, data.views[1:], strict=True))]


def rounding_of_each(data: TwoViews, model: Model) -> list[float]:
    """Return a bound of the rounding errors of the coordinates that each view alone gives."""
    return [model.rounding(data), *(other.rounding(other.input_unit.measured(part.values))
                                    for other, part in zip(model.others, data.views[1:], strict=True))]


def scores_checks(data: TwoViews, model: Model) -> list[Check]:
    """Check that the loadings of second and further views are the covariances with the coordinates that they give."""
    stated = measured_rows(data, model.loadings)
    if stated is None or not model.others:
        return [skipped("views", ABSENT)]
    error, allowed, rows = 0.0, 1.0, max(len(data.values), 1)
    parts, roundings = normalized_views(data), rounding_of_each(data, model)
    for part, scores, weights, rounding in [*zip(parts, scores_of_each(data, model), stated, roundings,
                                                 strict=True)][1:]:
        centered = part.values - part.values.mean(axis=0)
        size = float(np.abs(part.values).max(initial=0.0))
        bound = EPS * max(*part.values.shape, 10) * size * (1 + largest(scores)) + largest(centered) * rounding
        gap = largest(centered.T @ scores / rows - weights)
        error = max(error, gap / bound if bound else np.inf if gap else 0.0)
    return [ratio("views", error, allowed, "loadings of further views are covariances with the coordinates that rows "
                  "of these views alone have")]


def variates_checks(data: TwoViews, model: Model) -> list[Check]:
    """Check that coordinates are eigenvectors of the sum of the views' projectors, and follow from all projectors."""
    parts = [whiten(part.values, equal_columns=True) for part in normalized_views(data)]
    count, rows = model.embedding.shape[1], max(len(data.values), 1)
    values = np.pad(1 + (len(parts) - 1) * model.ranks.solved[:count], (0, max(count - len(model.ranks.solved), 0)))
    shares = [part.points.T @ model.embedding / rows for part in parts]
    images = sum((part.points @ share for part, share in zip(parts, shares, strict=True)),
                 np.zeros_like(model.embedding))
    wrong = EPS * max(*(part.points.shape[1] for part in parts), rows, 10) * max(part.condition for part in parts)
    scores, roundings = scores_of_each(data, model), rounding_of_each(data, model)
    gathered = model.joint.combine(scores, range(len(parts)), len(parts)) if model.joint else np.inf + model.embedding
    return [ratio("correlations", largest(images - model.embedding * values), wrong * (1 + largest(model.embedding)),
                  "coordinates are eigenvectors of the sum of projectors on the views, with eigenvalues "
                  "1 + (m - 1) times the correlations"),
            ratio("all views", largest(gathered - model.embedding), sum(roundings) + wrong * (
                1 + largest(model.embedding)), "rows of all views, projected, have the coordinates of the fit")]


def private_check(data: TwoViews, model: Model) -> list[Check]:
    """Check that the noise of two views is what the shared factors leave of their covariances."""
    private, shared = measured_rows(data, model.private), measured_rows(data, model.loadings)
    if private is None or shared is None:
        return [skipped("private", ABSENT)]
    error, rows = 0.0, max(len(data.values), 1)
    for part, own, common in zip(normalized_views(data), private, shared, strict=True):
        centered = part.values - part.values.mean(axis=0)
        size = float(np.abs(part.values).max(initial=0.0)) ** 2
        gap = largest(centered.T @ centered / rows - common @ common.T - own @ own.T)
        error = max(error, gap / size if size else gap)
    return [ratio("private", error, EPS * max(*data.values.shape, 10) * 10,
                  "noise is the covariance of the columns of a view less that of its shared factors")]


def group_factor_checks(data: TwoViews, model: Model, *, first: bool) -> list[Check]:
    """Check scores, likelihood and its slopes at the stated loadings and noise of three or more views."""
    shared, private = model.loadings, model.private
    own = [] if shared is None or private is None else [
        OrthonormalView.of(part, rows) for part, rows in zip(data.views, rows_of_views(
            data, np.hstack([shared.values, private.values])), strict=True)]
    views = [view for view in own if view is not None]
    if len(views) < len(data.views):
        return [skipped("log-likelihood", ABSENT)]
    wrong, count = sum(view.wrong for view in views), model.embedding.shape[1]
    whole = np.hstack([view.rows for view in views])
    loadings, rows = np.vstack([view.loadings[:, :count] for view in views]), len(whole)
    noise = [view.loadings[:, count:] @ view.loadings[:, count:].T for view in views]
    places, covariance = places_in(noise), whole.T @ whole / rows
    total = loadings @ loadings.T
    for place, part in zip(places, noise, strict=True):
        total[place, place] += part
    condition = float(np.linalg.cond(total))
    if not wrong * condition < SOLID:
        return [skipped("log-likelihood", "the noise of a view vanishes")]
    weights = np.linalg.solve(total, loadings)
    expected, reach = whole @ weights, float(np.linalg.norm(whole, axis=1).max())
    alone = [view.rows @ np.linalg.solve(total[place, place], loadings[place])
             for view, place in zip(views, places, strict=True)]
    constant = len(total) * np.log(2 * np.pi) + 2 * sum(view.volume for view in views)
    terms = np.array([constant, np.linalg.slogdet(total)[1], np.trace(np.linalg.solve(total, covariance))])
    stated = model.fit["log_likelihood"]
    allowed = wrong * condition * max(reach, 1.0)
    scores = alone[0] if first else expected
    checks = [
        *(() if first else covariance_checks(model.embedding, model.ranks.solved)),
        *loadings_check(data.values, expected, model.directions),
        ratio("posterior", largest(scores - model.embedding), allowed, "coordinates are the factors' expectations"),
        ratio("log-likelihood", np.inf if stated is None else abs(rows / 2 * float(terms.sum()) + stated),
              rows * (len(total) * wrong * condition + EPS * float(np.abs(terms).sum())),
              "that of the normal distribution of all views, by their loadings and noise"),
        ratio("stationarity", largest(covariance @ weights - loadings), wrong * condition,
              "the likelihood has no slope in the loadings: C M⁻¹W = W"),
        ratio("variances", largest(loadings.T @ weights - np.diag(model.ranks.solved[:count])), wrong * condition,
              "WᵀM⁻¹W is diagonal and holds the variances of the posterior means")]
    if model.others and model.joint:
        found = [*scores_of_each(data, model)]
        gathered = model.joint.combine(found, range(len(found)), len(found))
        gap = max(largest(gathered - expected), *map(largest, map(np.subtract, found, alone)))
        checks.append(ratio("views", gap, allowed * condition, "rows of each view alone, and of all, have the factors' "
                            "expectations given these"))
    return [*checks, noise_check(total, covariance, noise, places, converged=bool(model.fit.get("converged")))]


def noise_check(total: Array, covariance: Array, noise: Sequence[Array], places: Sequence[slice], *,
                converged: bool) -> Check:
    """Check that the likelihood has no slope in the noise above its bound, given M and C (R x R)."""
    from mlcli.stages.latent.group_factors import LEAST

    if not converged:
        return skipped("noise", "the iteration stopped before it converged")
    inverse = np.linalg.inv(total)
    slope = inverse - inverse @ covariance @ inverse
    gaps = [largest(slope[place, place] @ (part - LEAST * np.eye(len(part))))
            for place, part in zip(places, noise, strict=True)]
    return ratio("noise", max(gaps), SLOPE, "the likelihood has no slope in the noise of a view, above its bound")


def places_in(parts: Sequence[Array]) -> list[slice]:
    """Return the places of square blocks along a diagonal."""
    return [slice(*pair) for pair in pairwise(np.cumsum([0, *map(len, parts)]).tolist())]
