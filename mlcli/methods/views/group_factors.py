"""Factors shared by several views, by maximum likelihood: noise has any covariance within a view, none across views.

White coordinates of m views have the covariance C, with I within each view; the model is M = W Wᵀ + Ψ with Ψ block
diagonal. Given Ψ the best W is known: Ψ^½ V (Θ - I)^½ for the leading eigenvectors V of Ψ^-½ C Ψ^-½ (Lawley, 1940), so
that the likelihood is a function of Ψ = ε I + L Lᵀ. Its slope in Ψ is that of M⁻¹(M - C)M⁻¹ within the views. Of two
views the maximum is in closed form (`methods/views/two_views.py`). These are Tucker's inter-battery factors of more
batteries: McDonald, 1970; Browne, 1980.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.quantity import Quantity
from mlcli.core.eigen.options import Axes, first_columns
from mlcli.core.iterate import Iterated
from mlcli.core.latent.canonical import SHARED
from mlcli.core.linalg import symmetric_eigen
from mlcli.core.minimize import Minimize, Point
from mlcli.core.whitening import Whitening
from mlcli.methods.views.two_views import group_variates, joint_covariance

LEAST = 0.005  # smallest variance of noise, as a share of the view's in any direction: the bound of fa's uniquenesses
NEAR = 1.01  # multiple of it that counts as at the bound
USUAL, WORK, COPIES = 250, 60.0, 20.0  # evaluations, operations over R³ of each, and matrices in memory at once
ROOM = 0.9  # share of a view's variance that the start's factors have at most, in any direction


@frozen
class GroupFactors:
    """Loadings and noise of white views; the loadings are the best ones for the noise."""

    loadings: Array  # R x p, W
    noise: Array  # R x R, Ψ
    ratios: Array  # p, Θ: variances in units of noise along the factors, at least 1, descending
    objective: float  # ln |M| + tr M⁻¹C: minus twice the log-likelihood of a row, without constants

    def slope(self, covariance: Array) -> Array:
        """Return M⁻¹(M - C)M⁻¹ (R x R), the slope of the objective in M, given C (R x R)."""
        inverse = np.linalg.inv(self.noise)
        scores = inverse @ self.loadings
        inverse -= (scores / self.ratios) @ scores.T  # of M, as WᵀΨ⁻¹W is diagonal
        return np.asarray(inverse - inverse @ covariance @ inverse)


@frozen
class NoiseShape:
    """The layout of the noise of views as a vector of triangles."""

    places: Sequence[slice]  # of each view's white coordinates

    @property
    def size(self) -> int:
        """The number of white coordinates."""
        return self.places[-1].stop

    def triangles(self, values: Array) -> list[Array]:
        """Return the lower triangle L of each view, from all their numbers in one array."""
        found, start = [], 0
        for place in self.places:
            rows = np.tril_indices(place.stop - place.start)
            triangle = np.zeros((place.stop - place.start,) * 2)
            triangle[rows] = values[start:start + len(rows[0])]
            found.append(triangle)
            start += len(rows[0])
        return found

    def vector(self, triangles: Sequence[Array]) -> Array:
        """Return the numbers of lower triangles in one array."""
        return np.concatenate([triangle[np.tril_indices(len(triangle))] for triangle in triangles])

    def noise(self, triangles: Sequence[Array]) -> Array:
        """Return Ψ = ε I + L Lᵀ (R x R), zero across views."""
        noise = LEAST * np.eye(self.size)
        for place, triangle in zip(self.places, triangles, strict=True):
            noise[place, place] += triangle @ triangle.T
        return noise


@frozen
class SeveralViews:
    """Factors of several white views, and what rows of each view tell of them."""

    best: GroupFactors
    places: Sequence[slice]
    figures: Mapping[str, Any]
    objective: Quantity

    @property
    def loadings(self) -> list[Array]:
        """The loadings (rank x p) of each view."""
        return [self.best.loadings[place] for place in self.places]

    @property
    def noise(self) -> list[Array]:
        """The noise (rank x rank) of each view."""
        return [self.best.noise[place, place] for place in self.places]

    @property
    def maps(self) -> list[Array]:
        """The map (rank x p) from white coordinates of each view alone to posterior means."""
        return [np.asarray(np.linalg.solve(own @ own.T + noise, own))
                for own, noise in zip(self.loadings, self.noise, strict=True)]

    @property
    def precisions(self) -> Array:
        """The precisions (v x p x p) of the factors given each view: I + WᵀΨ⁻¹W."""
        found = [own.T @ np.linalg.solve(noise, own) for own, noise in zip(self.loadings, self.noise, strict=True)]
        return np.eye(self.best.loadings.shape[1]) + np.array([(own + own.T) / 2 for own in found])

    def scores(self, views: Sequence[Whitening], given: int) -> Array:
        """Return posterior means (n x p) of the factors, given the first of the views or all of them."""
        if given == 1:
            return views[0].points @ self.maps[0]
        evidence = sum((view.points @ np.linalg.solve(noise, own) for view, own, noise in zip(
            views, self.loadings, self.noise, strict=True)), np.zeros((len(views[0].points), len(self.best.ratios))))
        return evidence / self.best.ratios


def factors_of_views(views: Sequence[Whitening], axes: Axes, minimize: Minimize) -> SeveralViews:
    """Return the most likely factors of three or more white views, with figures of the fit."""
    variates, rows, many = group_variates(views), len(views[0].points), len(views)
    count = axes.available_count(len(variates.values), SHARED)
    excess = np.sqrt((variates.values - 1) * many / (many - 1))  # of two views the closed form
    start = first_columns(variates.vectors * excess, count)
    best, found = fit_group_factors(joint_covariance(views), variates.places, start, minimize, rows)
    ranks = [view.rank for view in views]
    dependent = any(view.rank < len(view.means) for view in views)
    volume = 0.0 if dependent else sum(2 * float(np.linalg.slogdet(view.back)[1]) for view in views)
    constant = rows / 2 * (sum(ranks) * float(np.log(2 * np.pi)) + volume)
    cells = [rows * rank for rank in ranks]
    if dependent:
        note("W-UNBOUNDED", "the likelihood has no limit: the columns of a view are linearly dependent")
    likelihood = None if dependent else Quantity(-rows / 2 * best.objective - constant, cells=cells)
    return SeveralViews(best, variates.places, {"log_likelihood": likelihood, **found.facts},
                        Quantity(-found.trace - constant, cells=cells))


def fit_group_factors(covariance: Array, places: Sequence[slice], start: Array, minimize: Minimize, rows: int,
                      ) -> tuple[GroupFactors, Iterated[Point]]:
    """Maximize the likelihood of white coordinates with a covariance (R x R), from loadings (R x p) on.

    `places` are those of each view's coordinates, `rows` the number of rows.
    """
    shape, count, half = NoiseShape(places), start.shape[1], rows / 2

    def objective(values: Array) -> tuple[float, Array]:
        triangles = shape.triangles(values)
        state = with_best_loadings(shape.noise(triangles), covariance, count)
        slope = state.slope(covariance)
        return half * state.objective, 2 * half * shape.vector(
            [slope[place, place] @ triangle for place, triangle in zip(places, triangles, strict=True)])

    found = minimize(objective, shape.vector([start_of(start[place]) for place in places]), rows * len(covariance))
    best = with_best_loadings(shape.noise(shape.triangles(found.state.values)), covariance, count)
    least = float(np.linalg.eigvalsh(best.noise).min(initial=1.0))  # of all blocks
    if least <= NEAR * LEAST:
        note("W-HEYWOOD", f"a combination of a view's columns has almost no noise: {LEAST:g} of its variance, the "
             "least that is allowed; fewer factors may fit", least=LEAST)
    return best, found


def iteration_step(rows: int, columns: int, *, limit: int, threads: int) -> Step:
    """Return the step of the iteration for so many rows and columns of all views, with usually USUAL evaluations."""
    seconds = min(limit, USUAL) * WORK * float(columns) ** 3 / product_rate(threads)
    return Step("iterate", f"up to {limit} iterations over covariances of {columns} columns", seconds,
                8.0 * (COPIES * columns**2 + 2.0 * rows * columns))


def start_of(loadings: Array) -> Array:
    """Return L (r x r) of the noise that loadings (r x p) leave of a white view, with some left in every direction."""
    own = loadings @ loadings.T
    top = float(np.linalg.norm(own, 2)) if own.size else 0.0
    return np.asarray(np.linalg.cholesky((1 - LEAST) * np.eye(len(own)) - own * min(1.0, ROOM / top if top else 1.0)))


def with_best_loadings(noise: Array, covariance: Array, count: int) -> GroupFactors:
    """Return the loadings of `count` factors with the largest likelihood for noise (R x R), given C (R x R)."""
    triangle = np.linalg.cholesky(noise)
    half = np.linalg.solve(triangle, covariance)
    values, vectors = symmetric_eigen(np.linalg.solve(triangle, half.T))
    ratios = np.maximum(values[:count], 1.0)
    volume = 2 * float(np.log(np.diag(triangle)).sum()) + float(np.log(ratios).sum())
    trace = float((values[:count] / ratios).sum() + values[count:].sum())
    return GroupFactors(triangle @ (vectors[:, :count] * np.sqrt(ratios - 1)), noise, ratios, volume + trace)
