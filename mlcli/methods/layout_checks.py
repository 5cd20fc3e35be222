"""The stress of a layout, computed again from distances of another library, and its stationarity."""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, ratio, skipped
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.core.check.stationarity import UNCONVERGED
from mlcli.core.metrics.distances import squares
from mlcli.core.model import Model

ROUNDING = 1e-10  # error of a metric stress
LOOSE = 10.0  # times the tolerance: estimates of the distance from the limit are rough


def condensed(data: Spatial) -> Array:
    """Return the dissimilarities of pairs i < j, an (n (n - 1) / 2,) array.

    Given ones are not squared: beside a huge one, the squares of all others are zero, and have no order.
    """
    return entries_of_pairs(data.values) if isinstance(data, Dissimilarities) else roots_of_pairs(squares(data))


def entries_of_pairs(matrix: Array) -> Array:
    """Return the entries i < j of a matrix (n x n), without the memory of their places."""
    size, place = len(matrix), 0
    entries = np.empty(size * (size - 1) // 2)
    for row in range(size - 1):
        entries[place:(place := place + size - 1 - row)] = matrix[row, row + 1:]
    return entries


def roots_of_pairs(squares: Array) -> Array:
    """Return the square roots of the entries i < j of a matrix (n x n)."""
    entries = entries_of_pairs(squares)
    return np.sqrt(entries, out=entries)


def distances_of(points: Array) -> Array:
    """Return the distances of pairs i < j of coordinates (n x p) by SciPy."""
    from scipy.spatial.distance import pdist

    return np.asarray(pdist(points))


def times(pairs: Array, points: Array) -> Array:
    """Return the product (n x p) of a symmetric matrix, of condensed pairs, with points (n x p).

    The matrix itself, which would take twice the memory, is not made.
    """
    size, place = len(points), 0
    products = np.zeros(points.shape)
    for row in range(size - 1):
        right, rest = pairs[place:(place := place + size - 1 - row)], slice(row + 1, size)
        products[row] += right @ points[rest]
        products[rest] += right[:, None] * points[row]
    return products


def row_sums(pairs: Array, count: int) -> Array:
    """Return the sums (n x 1) of the rows of a symmetric matrix of n = `count` rows, of condensed pairs."""
    return times(pairs, np.ones((count, 1)))


def axes_check(points: Array) -> Check:
    """Check that coordinates (n x p) are centered, uncorrelated, and in the order of their variances."""
    products = points.T @ points
    variances = np.diag(products)
    wrong = np.abs(products - np.diag(variances)).max(initial=0.0) + np.maximum(np.diff(variances), 0).max(initial=0.0)
    size, reach = float(variances.max(initial=0.0)), float(np.abs(points).max(initial=0.0))
    errors = float(wrong) + float(np.abs(points.sum(axis=0)).max(initial=0.0)) * reach
    return ratio("axes", errors, EPS * len(points) * max(size, reach**2),
                 "axes are centered, uncorrelated and in the order of their variances")


def goodness_check(stated: Array, squares: Array, count: int, *, size: float, errors: float) -> Check:
    """Check the stress of `count` points, of condensed squares and the sum by which they are divided, Σ w δ² or Σ d².

    The square of a point's is half its share of the squared stress; `errors` bounds those of the squares.
    """
    found = row_sums(squares, count)[:, 0] / (2 * size if size else 1.0)
    wrong = np.abs(stated**2 - found).max(initial=0.0) if stated.shape == found.shape else np.inf
    return ratio("goodness", float(wrong), errors, "the stress of each point, by distances of SciPy, in stress.csv")


def stress_checks(data: Spatial, model: Model, *, power: float, squared: bool, tolerance: float) -> list[Check]:
    """Check a metric layout: axes, stress Σ w (δ - d)² / Σ w δ² as stated, also by point, and that no step moves one.

    Weights are powers of dissimilarities.
    With all but one point fixed, majorization moves it to Σ w (xⱼ + δ (x - xⱼ) / d) / Σ w.
    """
    lengths = condensed(data)
    top = float(lengths.max(initial=0.0)) or 1.0
    weights = np.power(lengths / top, power, out=np.zeros_like(lengths), where=lengths > 0) if power else unit_weights(
        lengths)
    points = np.asarray(model.embedding)
    return [axes_check(points), *layout_checks(points, lengths, model, weights=weights, squared=squared,
                                               tolerance=tolerance)]


def unit_weights(lengths: Array) -> Array:
    """Return a weight of 1 for every pair, which takes no memory."""
    return np.broadcast_to(1.0, lengths.shape)


def layout_checks(points: Array, lengths: Array, model: Model, *, weights: Array, squared: bool, tolerance: float,
                  noise: float = 0.0) -> list[Check]:
    """Check the stress of points (n x p) and that a step moves none, for condensed dissimilarities and weights.

    Dissimilarities have errors up to `noise`. The model states the stress, also by point where it has that.
    """
    stated, distances = model.fit, distances_of(points)
    size = float(np.sum(weights * lengths**2))
    squares = weights * (lengths - distances) ** 2
    share = float(np.sum(squares)) / size if size else 0.0  # points that are all equal
    found = share if squared else np.sqrt(share)
    rounding = noise * np.sqrt(np.sum(weights) / size) if size else 0.0
    checks = [ratio("stress", float(abs(found - stated["stress"])), ROUNDING + rounding,
                    "the stress, by distances of SciPy, as stated")]
    if model.goodness is not None:
        checks.append(goodness_check(model.goodness.points, squares, len(points), size=size,
                                     errors=ROUNDING + rounding))
    del squares
    if not stated["converged"]:
        return [*checks, skipped("stationarity", UNCONVERGED)]
    extent = float(np.linalg.norm(points - points.mean(axis=0)) / np.sqrt(len(points)))
    return [*checks, ratio("stationarity", largest_step(points, lengths, distances=distances, weights=weights),
                           LOOSE * tolerance * extent + noise,
                           "the largest step of a single point that would lower the stress")]


def largest_step(points: Array, lengths: Array, *, distances: Array, weights: Array) -> float:
    """Return the largest length of a single point's step of majorization, for condensed pairs."""
    force = np.divide(lengths, distances, out=np.ones_like(lengths), where=distances > 0)
    np.subtract(1, force, out=force)
    force *= weights
    steps, totals = row_sums(force, len(points)) * points - times(force, points), row_sums(weights, len(points))
    return float(np.linalg.norm(steps / np.where(totals > 0, totals, 1.0), axis=1).max(initial=0.0))


def rank_checks(data: Spatial, model: Model, *, ties: str, tolerance: float) -> list[Check]:
    """Check a non-metric layout: axes, size, stress-1 as stated, also by point, and that no direction lowers it."""
    points, stated = np.asarray(model.embedding), model.fit
    lengths, distances = condensed(data), distances_of(points)
    spread = float(distances @ distances)
    fitted = monotone(lengths, distances, ties) if spread else distances  # of points that are all equal
    stress = float(np.sqrt(np.sum((distances - fitted) ** 2) / spread)) if spread else 0.0
    size = float(lengths @ lengths)
    checks = [axes_check(points),
              ratio("size", abs(spread - size), 1e-12 * size, "Σ d² is that of the dissimilarities"),
              ratio("stress", abs(stress - stated["stress"]), 1e-9, "stress-1, by distances of SciPy, as stated")]
    if model.goodness is not None:
        checks.append(goodness_check(model.goodness.points, (distances - fitted) ** 2, len(points), size=spread,
                                     errors=1e-9))
    if not stated["converged"]:
        return [*checks, skipped("stationarity", UNCONVERGED)]
    if not spread:
        return [*checks, skipped("stationarity", "all points are equal")]
    force = np.divide((distances - fitted) - stress**2 * distances, distances, out=np.zeros_like(distances),
                      where=distances > 0)
    slope = 2 / spread * (row_sums(force, len(points)) * points - times(force, points))
    # the curvature of squared stress is at most about 2 n / Σ d² along any direction of coordinates
    promised = float(np.sum(slope**2)) * spread / (4 * len(points))
    return [*checks, ratio("stationarity", promised, max(tolerance, 1e-9),
                           "the fall of squared stress that its slope promises")]


def monotone(lengths: Array, distances: Array, ties: str) -> Array:
    """Return disparities of condensed pairs by pooling adjacent violators, with ties in order or as one."""
    from scipy.optimize import isotonic_regression

    if ties == "primary":
        order = np.lexsort((distances, lengths))
        fitted = np.empty_like(distances)
        fitted[order] = isotonic_regression(distances[order]).x
        return fitted
    _, places, counts = np.unique(lengths, return_inverse=True, return_counts=True)
    means = np.bincount(places, distances) / counts
    return np.asarray(isotonic_regression(means, weights=counts.astype(np.float64)).x[places])


def metric_stress(lengths: Array, distances: Array, *, power: float, squared: bool) -> float:
    """Return Σ w (δ - d)² / Σ w δ² of condensed pairs, whose weights are powers of dissimilarities, or its root."""
    top = float(lengths.max(initial=0.0)) or 1.0
    weights = np.power(lengths / top, power, out=np.zeros_like(lengths), where=lengths > 0) if power else unit_weights(
        lengths)
    size = float(np.sum(weights * lengths**2))
    share = float(np.sum(weights * (lengths - distances) ** 2)) / size if size else 0.0
    return share if squared else float(np.sqrt(share))


def rank_stress(lengths: Array, distances: Array, ties: str) -> float:
    """Return stress-1 of condensed dissimilarities and distances."""
    spread = float(distances @ distances)
    fitted = monotone(lengths, distances, ties) if spread else distances
    return float(np.sqrt(np.sum((distances - fitted) ** 2) / spread)) if spread else 0.0


def tied_stress_checks(data: Spatial, model: Model, former: Array, *, power: float, weight: float, tolerance: float,
                       stress: Callable[[Array, Array], float]) -> list[Check]:
    """Check a layout whose points are tied to `former` places (n x p, NaN of none): stress, and that no step moves one.

    Points in one place move as one. A point moves to (Σ w (xⱼ + δ (x - xⱼ) / d) + ρ a) / (Σ w + ρ), with ρ the sum of
    its weights times the penalty's where it has a former place a.
    """
    points = np.asarray(model.embedding)
    lengths, distances = condensed(data), distances_of(points)
    checks = [ratio("stress", abs(stress(lengths, distances) - float(model.fit["stress"])), ADDED,
                    "the stress of all rows, by distances of SciPy, as stated")]
    if not model.fit["converged"]:
        return [*checks, skipped("stationarity", UNCONVERGED)]
    top = float(lengths.max(initial=0.0)) or 1.0
    weights = np.power(lengths / top, power, out=np.zeros_like(lengths), where=lengths > 0) if power else (
        lengths > 0).astype(float)
    force = weights * (1 - np.divide(lengths, distances, out=np.ones_like(lengths), where=distances > 0))
    totals = row_sums(weights, len(points))
    steps = row_sums(force, len(points)) * points - times(force, points)
    return [*checks, rest_check(points, steps, totals=totals, former=former, weight=weight,
                                tolerance=LOOSE * tolerance)]


def rest_check(points: Array, steps: Array, *, totals: Array, former: Array, weight: float,
               tolerance: float) -> Check:
    """Check that points (n x p) rest, for half the slope of their stress (n x p) and the sums of weights (n x 1)."""
    tied = np.where(np.isfinite(former).all(axis=1, keepdims=True), weight * totals, 0.0)
    pulled = steps + tied * (points - np.where(tied > 0, former, 0.0))
    _, groups = np.unique(points, axis=0, return_inverse=True)
    groups = groups.ravel()
    moves = np.stack([np.bincount(groups, axis) for axis in pulled.T], axis=1) / np.maximum(
        np.bincount(groups, (totals + tied)[:, 0]), 1e-300)[:, None]
    extent = float(np.linalg.norm(points - points.mean(axis=0)) / np.sqrt(len(points)))
    return ratio("stationarity", float(np.linalg.norm(moves, axis=1).max(initial=0.0)), tolerance * extent,
                 "the largest step of a single point that would lower stress and penalty")


def tied_rank_checks(data: Spatial, model: Model, former: Array, *, weight: float, ties: str, tolerance: float,
                     ) -> list[Check]:
    """Check a non-metric layout whose points are tied to `former` places: stress-1, and that no direction lowers it.

    The slope is that of stress-1 squared and the penalty over Σ δ².
    """
    points, stated = np.asarray(model.embedding), model.fit
    lengths, distances = condensed(data), distances_of(points)
    spread, size = float(distances @ distances), float(lengths @ lengths)
    fitted = monotone(lengths, distances, ties) if spread else distances
    stress = float(np.sqrt(np.sum((distances - fitted) ** 2) / spread)) if spread else 0.0
    checks = [ratio("stress", abs(stress - stated["stress"]), 1e-9, "stress-1, by distances of SciPy, as stated")]
    if not stated["converged"] or not spread:
        return [*checks, skipped("stationarity", UNCONVERGED if spread else "all points are equal")]
    force = np.divide((distances - fitted) - stress**2 * distances, distances, out=np.zeros_like(distances),
                      where=distances > 0)
    tied = np.where(np.isfinite(former).all(axis=1, keepdims=True), weight, 0.0) * row_sums(
        (lengths > 0).astype(float), len(points))
    slope = 2 / spread * (row_sums(force, len(points)) * points - times(force, points))
    slope += 2 / size * tied * (points - np.where(tied > 0, former, 0.0))
    _, groups = np.unique(points, axis=0, return_inverse=True)
    slope = np.stack([np.bincount(groups.ravel(), axis) for axis in slope.T], axis=1)
    bend = 2 * len(points) / spread + 2 * float(tied.max(initial=0.0)) / size
    return [*checks, ratio("stationarity", float(np.sum(slope**2)) / (2 * bend), max(tolerance, 1e-9),
                           "the fall of squared stress and penalty that their slope promises")]


ADDED = 1e-9  # error of a stress that a model states for all rows


def added_stress_checks(data: Spatial, model: Model, moving: Indices, *, power: float, tolerance: float,
                        stress: Callable[[Array, Array], float]) -> list[Check]:
    """Check a layout that rows were added to: its stress as stated, and that no step moves an added row (m).

    With all other points fixed, majorization moves one to Σ w (xⱼ + δ (x - xⱼ) / d) / Σ w; of ranks, δ is the length
    that the former run gives a dissimilarity. Rows that equal one of the former map lie on it and do not move. Added
    rows that equal each other lie in one place: their pair has δ = d = 0, where its stress has no slope.
    """
    from scipy.spatial.distance import cdist, squareform

    points, similarity = np.asarray(model.embedding), model.required_projector.similarity
    lengths, distances = condensed(data), distances_of(points)
    checks = [ratio("stress", abs(stress(lengths, distances) - float(model.fit["stress"])), ADDED,
                    "the stress of all rows, by distances of SciPy, as stated")]
    if not model.fit["converged"]:
        return [*checks, skipped("stationarity", UNCONVERGED)]
    square = squareform(lengths)
    fixed = np.setdiff1d(np.arange(len(points)), moving)
    apart = moving[~((square[np.ix_(moving, fixed)] == 0)
                     & (cdist(points[moving], points[fixed]) == 0)).any(axis=1)]
    given = square[apart]
    top = float(given[given > 0].min(initial=np.inf)) if power < 0 else float(given.max(initial=0.0))
    weights = np.where(given > 0, np.power(np.where(given > 0, given, 1.0) / (top or 1.0), power), 0.0)
    disparities = getattr(similarity, "disparities", None)
    asked = given if disparities is None else disparities(given)
    gaps = cdist(points[apart], points)
    force = weights * (1 - np.divide(asked, gaps, out=np.ones_like(gaps), where=gaps > 0))
    force[np.arange(len(apart)), apart] = 0.0
    steps = force.sum(axis=1)[:, None] * points[apart] - force @ points
    sizes = np.linalg.norm(steps / weights.sum(axis=1)[:, None], axis=1)
    extent = float(np.linalg.norm(points - points.mean(axis=0)) / np.sqrt(len(points)))
    return [*checks, ratio("stationarity", float(sizes.max(initial=0.0)), LOOSE * tolerance * extent,
                           "the largest step of a single added row that would lower the stress")]
