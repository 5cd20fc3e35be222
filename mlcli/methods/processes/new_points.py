"""New rows and sequences at their most probable latent points, and the decoder.

Each row y minimizes -log p(y | x) - log p(x) by BFGS from several starts. These are taken from the training points and
from places spread evenly over and around them: the most probable ones and those with the nearest means, local optima
first. Away from the data the variance is larger, so the most probable place of a row unlike all others can lie there.
With almost no noise, every place but the right one is so improbable that the density ranks by variance alone; the
distance of means still ranks them. Source: Lawrence, 2005; Nocedal and Wright, "Numerical Optimization", 2006, chapter
6.

New rows are a sequence of their own. Every row is first placed by its own cells or, without any, by the steps from the
rows before it. Then all points are optimized together by L-BFGS on -Σ log p(yₜ | xₜ) - log p(X), with the means and
variances of steps from the fit.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.centering import uncentered
from mlcli.core.euclidean_distances import BLOCK
from mlcli.core.linalg import threads_for
from mlcli.core.minimize import run_lbfgs
from mlcli.core.row_descent import SMALL, descend
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Decoder, Projector
from mlcli.errors import DataError
from mlcli.methods.processes.dynamics import Motion, Steps
from mlcli.methods.processes.latents import HiddenUnits, RadialRows
from mlcli.methods.processes.process import GaussianProcess, Rbf

PROBABLE, NEAR = 6, 5  # number of starts by density, and by distance of means
SPREAD = 512  # places added to the training points
MARGIN = 0.5  # their margin around the training points, as a share of the extent on each axis
AROUND = 8  # neighbors of a place to compare with, for local optima
POLISH = 3  # Newton's steps from there
STEP = 1e-4  # step of the differences that give their Hessian, as a share of the extent of the training points


@frozen
class NewRows:
    """New rows, in terms of a posterior."""

    posterior: GaussianProcess
    prior: bool  # whether latent points are standard normal
    values: Array  # m x d, centered; zero where missing
    observed: Array  # m x d, 1 where a cell is observed

    @classmethod
    def of(cls, posterior: GaussianProcess, prior: bool, new: Array) -> "NewRows":
        """Return rows (m x d) with NaN where cells are missing; columns that did not vary carry no information."""
        observed = ~np.isnan(new) & posterior.varying
        return cls(posterior, prior, np.where(observed, new - posterior.mean, 0.0), observed.astype(np.float64))

    def take(self, chosen: AnyArray) -> "NewRows":
        """Return some of the rows, by an index or mask of any shape."""
        return NewRows(self.posterior, self.prior, self.values[chosen], self.observed[chosen])

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return the objective of every row (m) at its latent point (m x p), and its gradient (m x p)."""
        model = self.posterior
        covariance, cells = model.covariance, self.observed.sum(axis=1)
        parts = covariance.parts(points, model.places)
        near = np.sum(parts, axis=0)
        reduced = near @ model.known
        variances = covariance.diagonal(points) - np.einsum("ij,ij->i", reduced, near)
        noise = covariance.whole_noise
        within = variances > 0
        variances = np.where(within, variances, 0.0) + noise
        errors = (near @ model.weights - self.values) * self.observed
        squares = np.einsum("ij,ij->i", errors, errors)
        value = 0.5 * (squares / variances + cells * np.log(variances))
        by_variance = np.where(within, 0.5 * (cells - squares / variances) / variances, 0.0)
        weights = (errors / variances[:, None]) @ model.weights.T - 2 * by_variance[:, None] * reduced
        slope = covariance.pull_back(weights, parts, left=points, right=model.places)[1]
        slope += covariance.pull_back_diagonal(by_variance, points)[1]
        if self.prior:
            value, slope = value + 0.5 * np.einsum("ij,ij->i", points, points), slope + points
        return value, slope


@frozen
class Candidates:
    """Latent points from which rows may start, with the posterior there."""

    points: Array  # c x p
    means: Array  # c x d, centered; zero for columns that do not vary
    variances: Array  # c
    around: Indices  # c x AROUND, the candidates next to each

    @classmethod
    def of(cls, posterior: GaussianProcess) -> "Candidates":
        """Return the training points (or inducing ones), and places over and around them."""
        from scipy.spatial import cKDTree

        points = np.vstack([posterior.places, spread(posterior.places, SPREAD)])
        extent = np.ptp(posterior.places, axis=0)
        scaled = points / np.where(extent > 0, extent, 1.0)
        around = cKDTree(scaled).query(scaled, min(AROUND + 1, len(points)))[1][:, 1:]
        means = (posterior.means(points) - posterior.mean) * posterior.varying
        return cls(points, means, posterior.variances(points), around)

    def starts(self, rows: NewRows) -> Indices:
        """Return the numbers of the candidates to start from (m x s): the most probable ones, then those with near
        means.
        """
        squares = rows.observed @ (self.means**2).T - 2 * rows.values @ self.means.T
        squares += np.einsum("ij,ij->i", rows.values, rows.values)[:, None]
        values = 0.5 * (squares / self.variances + rows.observed.sum(axis=1)[:, None] * np.log(self.variances))
        if rows.prior:
            values += 0.5 * np.einsum("ij,ij->i", self.points, self.points)
        return np.hstack([self.lowest(values, PROBABLE), self.lowest(squares, NEAR)])

    def lowest(self, values: Array, count: int) -> Indices:
        """Return the `count` candidates with the lowest values in each row (m x c), local minima first."""
        lower = np.ones(values.shape, dtype=bool)
        for others in self.around.T:
            lower &= values <= values[:, others]
        return np.lexsort((values, ~lower), axis=1)[:, :count]


def spread(places: Array, count: int) -> Array:
    """Return points (count x p) spread evenly over a box somewhat larger than that of `places`.

    They follow an additive recurrence with steps that are powers of the root of x^(p+1) = x + 1 (Roberts, 2018),
    without randomness.
    """
    axes = places.shape[1]
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (axes + 1))
    shares = (0.5 + np.arange(1, count + 1)[:, None] * root ** -np.arange(1.0, axes + 1)) % 1.0
    extent = np.ptp(places, axis=0)
    return places.min(axis=0) + extent * ((1 + 2 * MARGIN) * shares - MARGIN)


def place(posterior: GaussianProcess, prior: bool, new: Array, candidates: Candidates | None = None) -> Array:
    """Return the latent points (m x p) of new rows (m x d; NaN where missing); the origin for a row without any cell.

    For many batches, compute the `candidates` of the posterior once and pass them.
    """
    points = np.zeros((len(new), posterior.places.shape[1]))
    if not len(posterior.places) or not len(new):
        return points
    candidates = candidates or Candidates.of(posterior)
    for block in row_blocks(len(new), BLOCK, (PROBABLE + NEAR) * max(candidates.means.shape)):
        with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite reject a step
            points[block] = _place(NewRows.of(posterior, prior, new[block]), candidates)
    return points


def _place(rows: NewRows, candidates: Candidates) -> Array:
    """Return the best of several starts, for a few rows."""
    starts = candidates.starts(rows)
    count, tries = starts.shape
    points, values = descend(rows.take(np.repeat(np.arange(count), tries)), candidates.points[starts.ravel()],
                             extent_of(rows))
    best = polish(rows, points.reshape(count, tries, -1)[np.arange(count), values.reshape(count, tries).argmin(axis=1)])
    best[rows.observed.sum(axis=1) == 0] = 0.0
    return best


def extent_of(rows: NewRows) -> float:
    """Return the root of the variance of the training points over all axes; 1 if there is none."""
    return float(np.sqrt(rows.posterior.places.var(axis=0).sum())) or 1.0


def polish(rows: NewRows, points: Array) -> Array:
    """Return minima (m x p) with the digits of their slope: the objective is flat there, and has half as many.

    Newton's steps, by differences of the slope, are taken where they shorten it.
    """
    size, step = points.shape[1], STEP * extent_of(rows)
    points, slopes = points.copy(), rows(points)[1]
    for _ in range(POLISH):
        hessians = np.stack([rows(points + step * axis)[1] - rows(points - step * axis)[1]
                             for axis in np.eye(size)], axis=1) / (2 * step)
        hessians = np.nan_to_num(hessians + hessians.transpose(0, 2, 1), posinf=0.0, neginf=0.0) / 2
        moved = points - np.einsum("ijk,ik->ij", np.linalg.pinv(hessians, hermitian=True), np.nan_to_num(slopes))
        found = rows(moved)[1]
        shorter = np.linalg.norm(found, axis=1) < np.linalg.norm(slopes, axis=1)
        shorter &= np.linalg.norm(moved - points, axis=1) <= step  # one minimum is not left for another
        if not shorter.any():
            break
        points[shorter], slopes[shorter] = moved[shorter], found[shorter]
    return points


LIMIT = 500  # iterations


def track(posterior: GaussianProcess, motion: Motion, new: Array) -> Array:
    """Return the latent points (m x p) of rows in time order (m x d; NaN where missing)."""
    start = place(posterior, True, new)
    if not len(posterior.places) or not len(new):
        return start
    rows = NewRows.of(posterior, False, new)
    start = extrapolate(motion, start, np.flatnonzero(~rows.observed.any(axis=1)))
    with threads_for(len(motion.known)), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return lowest(sequence_objective(rows, motion), start)


def extrapolate(motion: Motion, points: Array, unseen: Indices) -> Array:
    """Return the points (m x p), with those of rows `unseen`, a (u,) array, predicted from the rows before them."""
    points, order, posterior = points.copy(), motion.order, motion.posterior
    for row in unseen[unseen >= order].tolist():
        points[row] = posterior.means(points[row - order : row].reshape(1, -1))[0]
    return points


def sequence_objective(rows: NewRows, motion: Motion) -> Callable[[Array], tuple[float, Array]]:
    """Return -Σ log p(yₜ | xₜ) - log p(X) up to a constant, with its gradient, as a function of all points."""
    posterior, order = motion.posterior, motion.order

    def function(values: Array) -> tuple[float, Array]:
        points = values.reshape(len(rows.values), -1)
        steps = Steps.of(points, min(order, len(points)))
        value, slope = rows(points)
        whole, first = float(value.sum()) + 0.5 * float(np.sum(steps.first**2)), steps.first
        if not len(steps.after):
            return whole, (slope + first).ravel()
        moved, by_before = NewRows.of(posterior, False, steps.after)(steps.before)
        off = (steps.after - posterior.means(steps.before)) / posterior.variances(steps.before)[:, None]
        return whole + float(moved.sum()), (slope + steps.gather(first, by_before, off)).ravel()

    return function


def lowest(function: Callable[[Array], tuple[float, Array]], start: Array) -> Array:
    """Return the best point of a minimization from `start`, an (m, p) array; the start if its objective is not finite.
    """
    best, least = start, function(start.ravel())[0]
    if not np.isfinite(least):
        return start
    first = least

    def after(values: Array, objective: float) -> None:
        nonlocal best, least
        if not objective < least - SMALL * abs(least):
            raise StopIteration
        best, least = values.reshape(start.shape), objective

    def finite_function(values: Array) -> tuple[float, Array]:
        value, slope = function(values)
        if np.isfinite(value) and np.isfinite(slope).all():
            return value, slope
        return 2 * first - least + 1.0, np.zeros(len(values))

    run_lbfgs(finite_function, start.ravel(), after, LIMIT)
    return best


UNLIKE = 1e-3  # share of rows of the process itself that may be flagged
KNOWN = 0.5  # share of the prior variance above which a place is far from all data


@stored("latent-points")
@frozen
class LatentPoints(Similarity):
    """The most probable latent point of each row, given its observed cells.

    Models of one view store it; the tag of those of several, with their further processes, is that of the class below.
    """

    posterior: GaussianProcess
    prior: bool  # whether latent points are standard normal

    def rows(self, new: Array) -> Array:
        """Return the latent points (m x p) of an (m, d) array of new rows."""
        return place(self.posterior, self.prior, new, self.candidates)

    @cached_property
    def candidates(self) -> Candidates | None:
        """Starting points for all batches of new rows; None for a process without points."""
        return Candidates.of(self.posterior) if len(self.posterior.places) else None

    def width(self, given: int) -> int:
        """Return the number of axes."""
        return int(self.posterior.places.shape[1])


@stored("view-process", places="vp", weights="ve", known="vv", mean="e")
@frozen
class ViewProcess(GaussianProcess):
    """The process of a further view, with columns of its own."""

    @classmethod
    def of(cls, posterior: GaussianProcess) -> "ViewProcess":
        """Return the process of a posterior."""
        return cls(posterior.covariance, places=posterior.places, weights=posterior.weights, known=posterior.known,
                   mean=posterior.mean)


@stored("shared-latent-points")
@frozen
class SharedLatentPoints(LatentPoints):
    """The most probable latent point of each row of the first view; further views have processes of these points."""

    others: tuple[ViewProcess, ...]

    def __post_init__(self) -> None:
        """Raise ValueError for a view with data whose kernel is not one with a length scale for each axis."""
        for process in (self.posterior, *self.others):
            terms, axes = process.covariance.terms, process.places.shape[1]
            if len(process.places) and not (len(terms) == 1 and isinstance(terms[0], Rbf)
                                            and len(terms[0].lengths) == axes):
                raise ValueError("a view's kernel has other terms")


@stored("latent-sequence")
@frozen
class LatentSequence(Similarity):
    """The most probable latent points of successive rows, given their observed cells."""

    rowwise: ClassVar[bool] = False  # a point depends on the rows before and after it
    posterior: GaussianProcess
    motion: Motion

    def rows(self, new: Array) -> Array:
        """Return the latent points (m x p) of an (m, d) array of new rows."""
        return track(self.posterior, self.motion, new)

    def width(self, given: int) -> int:
        """Return the number of axes."""
        return int(self.posterior.places.shape[1])


@stored("back-constraint")
@frozen
class BackConstrained(Similarity):
    """Values of a map from features to latent points; coordinates are linear functions of them."""

    map: RadialRows | HiddenUnits

    def rows(self, new: Array) -> Array:
        """Return the map's values (m x c) for an (m, d) array; raises DataError where a cell is missing."""
        if (gaps := np.isnan(new).any(axis=1)).any():
            raise DataError("MISSING", "a back constraint needs all cells, and one is missing",
                            hint="fit with method.constraint=none, or complete the rows",
                            row=int(np.flatnonzero(gaps)[0]))
        return self.map(new)

    def width(self, given: int) -> int:
        """Return the number of values of the map."""
        return self.map.width


@stored("gaussian-process-decoder")
@frozen
class ProcessMeans(Decoder):
    """The posterior means of the features."""

    posterior: GaussianProcess

    def __call__(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p)."""
        return self.posterior.means(embedding)

    def variance(self, coordinates: Array) -> Array:
        """Return the variance of each feature at (m, p) coordinates, an (m,) array, noise included."""
        return self.posterior.variances(coordinates)

    def unexplained(self, new: Array, coordinates: Array) -> AnyArray:
        """Return an (m,) mask of the rows (m x d) that the process does not explain at (m x p) coordinates.

        These are rows whose squared error, in variances, is beyond the 99.9% quantile of χ², and rows far from all
        data, where the posterior variance is more than half of the prior variance.
        """
        from scipy.special import chdtrc

        posterior = self.posterior
        seen = ~np.isnan(new) & posterior.varying
        variances = posterior.variances(coordinates)
        squares = np.sum(np.where(seen, new - posterior.means(coordinates), 0.0) ** 2, axis=1)
        before = posterior.covariance.diagonal(coordinates) + posterior.covariance.whole_noise
        wrong = ~(chdtrc(np.maximum(seen.sum(axis=1), 1), squares / variances) >= UNLIKE)
        return (wrong | (variances > KNOWN * before)) & seen.any(axis=1)


def projector_of(posterior: GaussianProcess, prior: bool,
                 mapped: tuple[RadialRows | HiddenUnits, Array] | None) -> Projector:
    """Return the projector of a fitted process: by a map and its axes (c x p) if any, or else by probability."""
    if mapped is None:
        return latent_projector(LatentPoints(posterior, prior))
    return Projector(BackConstrained(mapped[0]), uncentered(len(mapped[1])), mapped[1], ProcessMeans(posterior))


def latent_projector(similarity: LatentPoints | LatentSequence) -> Projector:
    """Return the projector of a process whose rows of similarity are latent points."""
    axes = similarity.posterior.places.shape[1]
    return Projector(similarity, uncentered(axes), np.eye(axes), ProcessMeans(similarity.posterior))


def projector_of_views(processes: Sequence[GaussianProcess]) -> Projector:
    """Return the projector of rows of the first view, with the processes of all views."""
    first, *others = processes
    return latent_projector(SharedLatentPoints(first, True, tuple([ViewProcess.of(other) for other in others])))
