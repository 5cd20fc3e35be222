"""Projection: training rows get their own coordinates, and the model's options are those of the method."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.scratch import take_rows
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, around_median, count, ratio, skipped
from mlcli.base.values.inputs import Dissimilarities
from mlcli.base.values.scaling import Unit
from mlcli.certify.eigen import worst
from mlcli.certify.subject import WORK, Subject, max_abs
from mlcli.core.check.kernels import NUMBER, PATH, of_similarity
from mlcli.core.check.metrics import CACHED, NARROW, bounded_distances, squared
from mlcli.core.graph.neighbors import FARTHEST
from mlcli.core.kernels.options import KernelOptions
from mlcli.core.metrics import RowMetric
from mlcli.core.metrics.distances import metric_of
from mlcli.core.metrics.gower import RangedGower

MOST = 32  # number of rows to project, unless all are
FEW = 1  # number of rows from which the size of an entry is estimated
ROW = 3e-5  # seconds for a row of few columns
NEARLY = 1e-9  # share of the largest number below which one may be rounding of zero
PAIRS = 400  # points whose distances show whether a rate is one over their median
LOST = 1e-6  # share of the largest coordinate; a larger difference gives a warning
AT_ONE = 2e-8  # distance of a cost from one below which new points have no coordinate
OWN = 1e-9  # relative rounding of coordinates in general
Tolerance = Callable[[Subject, Indices], Array | float]  # rounding of rows' coordinates, one or (p,)


def projector_checks(subject: Subject, own: Iterable[Check] = (), tolerance: Tolerance | None = None, *,
                     more: Iterable[Check] = (), reproduces: bool = True) -> Iterator[Check]:
    """Yield checks of a model's projector, and among them its `own` against the input and `more` of its parts.

    Options that the model holds are those asked for, its points are the input's, its graph is that of neighbors, and
    it places training rows at their coordinates up to a `tolerance`, unless it does not reproduce them by design.
    """
    if not subject.places:
        yield from own
        return
    yield from parameters(subject)
    yield stored_points(subject)
    yield from own
    if subject.similarity.parts.graph is not None:
        from mlcli.certify.graph import graph_checks

        yield from graph_checks(subject, subject.similarity.parts.graph)
    yield from more
    yield projection_check(subject, tolerance or row_tolerance, reproduces=reproduces)


def projection_check(subject: Subject, tolerance: Tolerance, *, reproduces: bool) -> Check:
    """Check that the stored model projects training rows to their coordinates in the embedding."""
    if not subject.similarity.places:
        return skipped("projection", "the points of a given graph have no features by which others could be placed")
    if not reproduces or subject.model.needs_all_views:
        return skipped("projection", "a training row is not projected onto itself, as the method's page says")
    rows = _rows(subject)
    if not len(rows):
        return skipped("projection", "no row is without an equal one, and corrected distances tell those apart")
    coordinates = subject.projector.project(subject.data.values[rows])
    if coordinates.shape != (len(rows), subject.embedding.shape[1]):
        return ratio("projection", float("inf"), 1.0, "there is a coordinate for every axis")
    gap = _gap_to_twin(subject, rows, coordinates) * ~_axes_without_coordinates(subject)
    how = f"{len(rows)} training rows, projected, against their coordinates"
    check = ratio("projection", worst(gap, tolerance(subject, rows)), 1.0, how, exact=len(rows) == subject.size)
    apart, size = float(gap.max(initial=0.0)), max_abs(subject.embedding)
    if tolerance is not row_tolerance or check.verdict != "pass" or apart <= max(
            LOST * size, max_abs(solver_error(subject))):
        return check
    return replace(check, verdict="warn", how=f"{how}; they differ by {apart / (size or apart):.0e} of the largest "
                   "one: a row far from all others, or features that nearly depend on each other, leave no more digits")


def _rows(subject: Subject) -> Indices:
    """Return the indices of a few rows with the first and the last; all rows of a sequence."""
    similarity, values = subject.similarity, subject.data.values
    if not similarity.rowwise:
        return np.arange(subject.size)
    graph = similarity.parts.graph
    cost = ROW + NUMBER * len(subject.projector.axes) * min(values.shape[1], NARROW)
    cost += 0.0 if graph is None else PATH * (graph.size + len(graph.indices))
    held = subject.plan.sample_in_memory(0.2, max(cost, 0.2 * WORK / MOST), subject.size, least=1)
    chosen = np.zeros(subject.size, dtype=bool)
    chosen[[*held, 0, -1]] = True
    rows = np.flatnonzero(chosen)
    correction = similarity.parts.correction
    if correction is None or correction.constant == 0:
        return rows
    # a correction sets two equal points a constant apart, but not a new point
    metric = metric_of(subject.data)
    squares = (values[rows] if isinstance(subject.data, Dissimilarities) else squared(values[rows], values)
               if metric.plain else bounded_distances(metric, values[rows], values).distances)
    return rows[(squares <= EPS * squares.max(initial=0.0)).sum(axis=1) == 1]


def _gap_to_twin(subject: Subject, rows: Indices, coordinates: Array) -> Array:
    """Return the gaps between coordinates and the embedding, for a row with equal ones to the nearest of them."""
    gap = np.abs(coordinates - take_rows(subject.embedding, rows))
    for place in np.flatnonzero(gap.max(axis=1) > 0) if subject.similarity.on_equals else ():
        twins = np.flatnonzero(_equal(subject, int(rows[place])))
        gaps = np.abs(subject.embedding[twins] - coordinates[place])
        gap[place] = gaps[gaps.max(axis=1).argmin()]
    return gap


def _axes_without_coordinates(subject: Subject) -> AnyArray:
    """Return the axes with a cost of one (p), on which Nyström's formula gives new points no coordinate."""
    axes = subject.embedding.shape[1]
    if not subject.spectrum.of_inverse:
        return np.zeros(axes, dtype=bool)
    values = subject.spectrum.solved[:axes]
    ones = np.abs(values - 1) <= AT_ONE
    return np.asarray(ones & ~subject.projector.axes.any(axis=0))


def _equal(subject: Subject, row: int) -> AnyArray:
    """Return marks of the points at distance zero from one of them, up to the metric's rounding (n)."""
    values, metric = subject.data.values, metric_of(subject.data)
    if isinstance(subject.data, Dissimilarities):
        return np.asarray(values[row] == 0)
    if metric.plain:
        return np.asarray(((values - values[row]) ** 2).sum(axis=1) == 0)  # or so near that squares vanish
    found = bounded_distances(metric, values[row : row + 1], values)
    return np.asarray((found.distances <= found.errors)[0])


def row_tolerance(subject: Subject, rows: Indices) -> Array | float:
    """Return the rounding of rows (m,) times axes, for coordinates that are not eigenvectors: one number or (p,)."""
    size = max_abs(subject.embedding)
    return OWN * size + subject.projector.rounding(subject.data.values[rows]) + solver_error(subject)


def solver_error(subject: Subject) -> Array:
    """Return how far a row of a graph may be from its neighbors' mean over 1 - λ, by the residual of its axes (p).

    An iterative solver's residual of K v = v / λ, relative to the largest 1 / λ, is one of L v = λ v that is as large
    relative to λ (the norm of L is 2 at most); it may lie in one of n rows, whose coordinates have unit variance.
    """
    spectrum, axes = subject.spectrum, subject.embedding.shape[1]
    if not spectrum.of_inverse or spectrum.complete:
        return np.zeros(axes)
    costs = 1 / spectrum.solved[:axes]
    relative = 2 * spectrum.tolerance * costs / costs[0]
    return np.asarray(relative * np.sqrt(subject.size) / np.maximum(np.abs(1 - costs), relative))


def weight_tolerance(subject: Subject, rows: Indices) -> Array | float:
    """Return a few roundings of the largest coordinate, for rows (m,): a row's own weight is one."""
    return 8 * EPS * max_abs(subject.embedding)


def column_tolerance(subject: Subject, rows: Indices) -> Array | float:
    """Return the rounding of an eigenproblem of the columns, and of centering them; `rows` is an (m,) array."""
    allowed, columns = subject.precision, subject.data.values.shape[1]
    return float(allowed * np.sqrt(subject.top) + 2 * EPS * subject.largest * np.sqrt(columns))


def score_tolerance(subject: Subject, rows: Indices) -> Array | float:
    """Return the rounding of columns times weights; `rows` is an (m,) array of row numbers."""
    sizes = subject.sizes
    rounding = EPS * float((sizes @ np.abs(subject.projector.axes)).max())
    return OWN * max_abs(subject.embedding) + rounding


def kernel_tolerance(subject: Subject, rows: Indices) -> Array | float:
    """Return the rounding of kernel rows (m,), for each axis over the root of its eigenvalue, a (p,) array."""
    similarity, values, precision = subject.similarity, subject.data.values, subject.spectrum.tolerance
    degree = float(similarity.roundings)
    precision += 16 * EPS * degree * (1.0 if values.shape[1] <= NARROW else 4.0)
    largest = max(subject.largest, max_abs(similarity.rows(values[rows[:FEW]])))
    rounding = subject.rounding * subject.top + precision * subject.fit_size * largest
    return np.asarray(rounding / np.sqrt(np.maximum(subject.values, rounding)))


def parameters(subject: Subject) -> Iterator[Check]:
    """Check that the model's kernel function, correction, neighbors, metric and divisor are the options asked for."""
    parts, chain, asked, unit, wrong = subject.similarity.parts, subject.chain, subject.asked, subject.data.unit, []
    if subject.base.places and (chain is not None or None not in (asked.ridge, parts.ridge)):
        wrong += ["ridge"] if parts.ridge != asked.ridge else []
    if parts.neighbors is not None and asked.neighbors is not None:
        radius, held = asked.neighbors.radius, parts.neighbors
        farthest = np.inf if radius is None else min((unit**-1).number(radius), FARTHEST)
        wrong += ["neighbors"] if (held.least, held.farthest) != (asked.neighbors.count or 0, farthest) else []
    function, correction = parts.function, parts.correction
    if function is not None and asked.kernel is not None and function.name != "sum":  # whose tables have their own
        wrong += [name for name, value in _in_units(asked.kernel, unit).items()
                  if value is not None and getattr(function, name, None) != value]
        wrong += ["origin"] if parts.origin is not None and not function.movable and parts.origin.any() else []
        if dict(asked.kernel).get("rate", 0.0) is None:
            yield _median(subject, function.rate or 0.0, asked.kernel.exponent)
    if correction is not None:
        wrong += [] if correction.rule == asked.correction else ["correction"]
        if correction.rule != "none":
            yield _correction(subject, correction.rule, correction.constant)
    if chain is not None:
        rows = subject.fit_size
        asked_divisor = {"none": 1, "n": rows, "n-1": max(rows - 1, 1)}[chain.coordinates.divisor]
        wrong += ["divisor"] if subject.spectrum.divisor != asked_divisor else []
    if parts.affinity is not None and asked.weights is not None:
        options, held_options = dict(asked.weights), dict(parts.affinity)
        wrong += [] if options.keys() == held_options.keys() else ["weights"]
        rate, heat = options.get("rate"), held_options.get("rate")
        wrong += ["rate of the weights"] if None not in (rate, heat) and (unit**2).number(rate) != heat else []
        if heat is not None and rate is None and parts.graph is not None:
            yield _heat(heat, parts.graph.lengths)
        wrong += [] if options.get("nearest") == held_options.get("nearest") else ["rank of the weights' scales"]
    if isinstance(asked_metric := metric_of(subject.given), RangedGower):
        yield _ranges(subject.given, asked_metric)
    asked_metric = metric_of(subject.data)
    wrong += [] if same_metric(parts.metric or asked_metric, asked_metric) else ["metric"]
    landmarks = None if chain is None else chain.landmarks
    wrong += ["landmarks"] if landmarks is not None and subject.fit_size != min(landmarks, subject.size) else []
    yield count("parameters", len(wrong), f"options that are not as asked in the model: {', '.join(wrong) or 'none'}")


def same_metric(metric: RowMetric, other: RowMetric) -> bool:
    """Whether two metrics are equal, with the values that they took from the training points."""
    return metric.name == other.name and all(
        np.array_equal(getattr(metric, name), known) for name, known in vars(other).items())


def _in_units(kernel: KernelOptions, unit: Unit) -> dict[str, Any]:
    """Return a kernel function's options in the units of the computation: `rate` and `gamma` carry the data's unit."""
    return {name: (unit**kernel.exponent).number(value) if name in ("rate", "gamma") and value is not None
            else value for name, value in kernel if name != "route"}


def _median(subject: Subject, rate: float, power: int) -> Check:
    """Check that the default rate is one over the median of d, or d², between points; of a sample, about that."""
    size, whole = subject.fit_size, subject.fit_size <= PAIRS
    generator = np.random.default_rng(subject.plan.seed + 4)
    chosen = np.arange(size) if whole else generator.choice(size, PAIRS, replace=False)
    pairs = np.triu_indices(len(chosen), 1)
    lengths, errors = (found[pairs] for found in _lengths(subject, chosen))
    lengths, errors = lengths[lengths > 0] ** power, errors[lengths > 0] * power
    if not len(lengths):
        return count("rate", int(rate != 1.0), "the rate of points that are all equal is one")
    near = 1e-9 + errors + subject.spectrum.tolerance  # paths may be in single precision
    below, wrong = around_median(lengths * rate, near, whole=whole)
    if whole and lengths.min() > NEARLY * lengths.max():  # else rounding decides which points are apart
        wrong = wrong or abs(float(np.median(lengths)) * rate - 1) > float(near.max())
    of = "distances" if power == 1 else "squared distances"
    return count("rate", int(wrong), f"{below:.3f} of the {of} are below one over the rate", exact=whole)


def _heat(rate: float, lengths: Array) -> Check:
    """Check that the default rate of heat weights is one over the median squared length of an edge."""
    gap = abs(float(np.median(lengths[lengths > 0] ** 2)) * rate - 1)
    return ratio("rate", gap, OWN, "rate times the median squared length of an edge is one")


def _ranges(given: Any, metric: RangedGower) -> Check:
    """Check that the ranges of Gower's coefficient are those of the columns; constant ones and texts have none."""
    low, high = given.values.min(axis=0), given.values.max(axis=0)
    halves = high / 2 - low / 2
    numeric = np.setdiff1d(np.flatnonzero(halves), list(given.categories))
    wrong = len(np.setxor1d(numeric, metric.numeric)) or int(
        np.sum((metric.lows != low[numeric]) | (metric.halves != halves[numeric])))
    return count("ranges", wrong, "columns whose ranges in Gower's coefficient are not the input's")


def _lengths(subject: Subject, chosen: Indices) -> tuple[Array, Array]:
    """Return the distances of some points that a kernel is a function of, and their relative errors beyond 1e-9."""
    if subject.base is not subject.similarity:
        source = of_similarity(subject.base, subject.data, subject.fit, subject.plan.full)
        assert source is not None  # it is one of distances
        found = -2 * source.rows(chosen)[:, chosen]
        noise = source.noise * found.max(initial=0.0)  # rounding of a squared distance
        return np.sqrt(found), np.divide(noise, 2 * found, out=np.zeros_like(found), where=found > 0)
    points, metric = subject.data.values[chosen], metric_of(subject.data)
    if metric.plain:
        found = np.sqrt(squared(points, points))
        return found, np.zeros_like(found)
    under = bounded_distances(metric, points, points)
    return under.distances, np.divide(under.errors, under.distances, out=np.zeros_like(under.errors),
                                      where=under.distances > 0)


def _correction(subject: Subject, rule: str, constant: float) -> Check:
    """Check that a correction leaves no negative eigenvalue, and that no smaller constant would suffice."""
    spectrum = subject.spectrum
    if not spectrum.complete:
        return skipped("correction", "only the top of the spectrum was computed")
    solved = spectrum.solved
    error = max(-float(solved[-1]), 0.0)
    if constant > 0 and len(solved) > 2:  # one zero is the constant vector's, the other shows a minimal constant
        error = max(error, float(np.sort(np.abs(solved))[1]))
    power = 1 if rule == "lingoes" else 2
    scale = 10 * subject.rounding * (subject.top + len(solved) * constant**power)
    return ratio("correction", error, scale if rule == "lingoes" else 1e4 * scale,
                 "the smallest eigenvalue is zero, twice where a constant was added")


def stored_points(subject: Subject) -> Check:
    """Check that the model's training points are rows of the input."""
    points, origin = subject.similarity.parts.points, subject.similarity.parts.origin
    if points is None:
        return skipped("points", "the model holds no points")
    own = subject.data.values[subject.fit] if len(points) == subject.fit_size != subject.size else subject.data.values
    own = own if origin is None or not origin.any() else own - origin
    wrong = _unlike(points, own) if points.shape == own.shape else len(points)
    return count("points", wrong + int(np.sum(subject.fit < 0)), "points in the model that are not the input's")


def _unlike(points: Array, others: Array) -> int:
    """Return the number of rows in which two arrays of one shape differ."""
    pairs = ((points[rows], others[rows]) for rows in row_blocks(len(points), CACHED, points.shape[1]))
    return sum(int(np.sum((one != other).any(axis=1))) for one, other in pairs if not np.array_equal(one, other))
