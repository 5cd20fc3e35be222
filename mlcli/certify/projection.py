"""The way from points to coordinates: training rows return to where they are, and options are as asked for."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mlcli.base.check import EPS, Check, count, ratio, skipped
from mlcli.base.inputs import Dissimilarities, Features
from mlcli.base.scaling import scaled
from mlcli.base.types import Array, Indices
from mlcli.certify.budget import Budget
from mlcli.certify.recompute import NARROW, squared
from mlcli.certify.subject import Subject
from mlcli.certify.witness import NUMBER, PATH
from mlcli.stages.kernels.functions import Gaussian
from mlcli.stages.latent.state_space import seconds_of
from mlcli.stages.similarities import (
    Barycenters,
    Columns,
    Distances,
    Geodesics,
    GivenBarycenters,
    GivenDistances,
    KernelValues,
    Smoother,
)

MOST = 64  # rows that are projected
PAIRS = 400  # points whose distances tell whether a rate is one over their median
MATRIX = 1e-7  # seconds for each edge of a graph that is made into a matrix
LOST = 1e-6  # of the largest coordinate: what differs by more is told
OWN = 1e-9  # relative rounding of coordinates of which nothing is known


def projected(subject: Subject, budget: Budget, largest: float) -> Check:
    """Training rows, projected by the model as it was stored, have the coordinates that the embedding gives them."""
    if not subject.method.reproduces():
        return skipped("projection", "a training row is not projected onto itself, as the method's page says")
    rows = _rows(subject, budget)
    if not len(rows):
        return skipped("projection", "no time for all rows, which hang together"
                       if isinstance(subject.projector.similarity, Smoother) else
                       "no row is without an equal one, and corrected distances tell those apart")
    found = subject.projector.project(subject.data.values[rows])
    expected = subject.embedding[rows]
    if found.shape != expected.shape:
        return ratio("projection", float("inf"), 1.0, "there is a coordinate for every axis")
    gap = np.abs(found - expected)
    if len(subject.fit) != subject.size:  # points may be farther from landmarks than these from each other
        largest = max(largest, float(np.abs(subject.projector.similarity.rows(subject.data.values[rows])).max()))
    if isinstance(subject.projector.similarity, Barycenters | GivenBarycenters):
        gap = _from_any_twin(subject, rows, found, gap)
    error, scale = _error(subject, rows, gap, largest)
    check = ratio("projection", error, scale, f"{len(rows)} training rows, projected, against their coordinates",
                  exact=len(rows) == subject.size)
    return _of_digits(check, gap, subject) if subject.method.proof == "own" else check


def _of_digits(check: Check, gap: Array, subject: Subject) -> Check:
    """The check with a warning where rounding may and does leave no six digits."""
    apart, size = float(gap.max(initial=0.0)), float(np.abs(subject.embedding).max(initial=0.0))
    if check.verdict != "pass" or apart <= LOST * size:
        return check
    return replace(check, verdict="warn", how=f"{check.how}; they differ by {apart / size:.0e} of the largest one: a "
                   "row far from all others, or features that nearly depend on each other, leave no more digits")


def _rows(subject: Subject, budget: Budget) -> Indices:
    """A few rows, the first and the last among them; of a sequence all or none."""
    similarity, values = subject.projector.similarity, subject.data.values
    if isinstance(similarity, Smoother):
        whole = budget.allows(0.5, seconds_of(subject.size, len(subject.projector.axes)))
        return np.arange(subject.size if whole else 0)
    cost = NUMBER * len(subject.projector.axes) * (1 if values.shape[1] > NARROW else max(values.shape[1], 1)) + 2e-5
    if isinstance(similarity, Geodesics):
        cost += PATH * (similarity.graph.size + len(similarity.graph.indices))
        cost += MATRIX * len(similarity.graph.indices) / MOST
    if isinstance(similarity, Barycenters | GivenBarycenters):
        cost += NUMBER * subject.size
    few = min(budget.affordable(0.15, cost, subject.size, least=4), MOST if not budget.full else subject.size)
    chosen = np.random.default_rng(subject.seed + 3).permutation(subject.size)[:few]
    marked = np.zeros(subject.size, dtype=bool)
    marked[chosen] = marked[[0, -1]] = True
    rows = np.flatnonzero(marked)
    correction = getattr(similarity, "correction", None)
    if correction is None or correction.constant == 0:
        return rows
    # under a correction two equal points are a constant apart, and a new point is not
    squares = values[rows] if isinstance(subject.data, Dissimilarities) else squared(values[rows], values)
    return rows[(squares <= EPS * squares.max(initial=0.0)).sum(axis=1) == 1]


def _from_any_twin(subject: Subject, rows: Indices, found: Array, gap: Array) -> Array:
    """A row that has equals is placed on one of them, and each has coordinates of its own."""
    values = subject.data.values
    best = gap.copy()
    for place in np.flatnonzero(gap.max(axis=1) > 0):
        twins = np.flatnonzero((values == values[rows[place]]).all(axis=1))
        gaps = np.abs(subject.embedding[twins] - found[place])
        best[place] = gaps[gaps.max(axis=1).argmin()]
    return best


def _error(subject: Subject, rows: Indices, gap: Array, largest: float) -> tuple[float, float]:
    """The worst gap and the rounding that it may have: that of kernel rows, over the root of the eigenvalue."""
    size = float(np.abs(subject.embedding).max(initial=0.0))
    if subject.method.proof == "weights":
        return float(gap.max(initial=0.0)), 8 * EPS * size
    if subject.method.proof == "latent":
        sizes = np.fmax.reduce(np.abs(subject.data.values), axis=0, initial=0.0)
        return float(gap.max(initial=0.0)), OWN * size + EPS * float((sizes @ np.abs(subject.projector.axes)).max())
    if subject.method.proof != "kernel":
        return float(gap.max(initial=0.0)), OWN * size + subject.projector.rounding(subject.data.values[rows])
    spectrum, allowed = subject.model.spectrum, subject.rounding + subject.model.spectrum.tolerance
    if isinstance(subject.projector.similarity, Columns) and isinstance(subject.data, Features):
        entries = float(np.abs(subject.data.values[:1]).max(initial=0.0))
        return float(gap.max(initial=0.0)), allowed * np.sqrt(subject.top) + EPS * (entries + largest) * np.sqrt(
            subject.data.values.shape[1])
    rounding = subject.rounding * subject.top + (16 * EPS * wide(subject) + spectrum.tolerance) * (
        len(subject.fit) * largest)
    return float((gap * np.sqrt(np.maximum(subject.values, rounding))).max(initial=0.0)), rounding


def wide(subject: Subject) -> float:
    """How much more rounding a kernel entry has than a sum of a few terms."""
    function = getattr(subject.projector.similarity, "function", None)
    degree = float(getattr(function, "degree", 1))
    return degree * (1.0 if subject.data.values.shape[1] <= NARROW else 4.0)


def parameters(subject: Subject) -> Iterator[Check]:
    """The model's kernel function, correction and neighbors are those that were asked for."""
    similarity, method, exponent = subject.projector.similarity, subject.method, subject.data.exponent
    wrong: list[str] = []
    if isinstance(similarity, KernelValues):
        asked = getattr(method, "kernel", similarity.function)
        powers = {"rate": 2 * exponent, "gamma": 2 * exponent}
        for name in type(asked).model_fields:
            value = getattr(asked, name)
            if isinstance(value, float) and name in powers:
                value = float(scaled(np.asarray(value), powers[name]))
            if value is not None and getattr(similarity.function, name, None) != value:
                wrong.append(name)
        if not similarity.function.movable and similarity.origin.any():
            wrong.append("origin")
        if isinstance(asked, Gaussian) and asked.rate is None:
            yield _median(subject, similarity)
    if isinstance(similarity, Geodesics | Barycenters | GivenBarycenters):
        asked_radius = method.neighbors.radius  # type: ignore[attr-defined]
        radius = None if asked_radius is None else float(np.ldexp(asked_radius, -exponent))
        wrong += [name for name, same in (("neighbors", similarity.neighbors == method.neighbors),  # type: ignore[attr-defined]
                                          ("radius", similarity.radius == radius)) if not same]
    if isinstance(similarity, Barycenters | GivenBarycenters) and similarity.ridge != method.ridge:  # type: ignore[attr-defined]
        wrong.append("ridge")
    if isinstance(similarity, Distances | GivenDistances):
        wrong += [] if similarity.correction.rule == method.correction else ["correction"]  # type: ignore[attr-defined]
        if similarity.correction.rule != "none":
            yield _correction(subject, similarity.correction.rule, similarity.correction.constant)
    landmarks = getattr(method, "landmarks", None)
    if landmarks is not None and len(subject.fit) != min(landmarks, subject.size):
        wrong.append("landmarks")
    yield count("parameters", len(wrong), "options that the model does not have as asked: "
                f"{', '.join(wrong) or 'none'}")


def _median(subject: Subject, similarity: KernelValues) -> Check:
    """Half of the squared distances between different points are below one over the default rate."""
    points, rate = subject.data.values, float(getattr(similarity.function, "rate", 0.0) or 0.0)
    whole = len(points) <= PAIRS
    chosen = points if whole else points[np.random.default_rng(subject.seed + 4).choice(len(points), PAIRS, False)]
    found = squared(chosen, chosen)[np.triu_indices(len(chosen), 1)]
    found = found[found > 0]
    if not len(found):
        return count("rate", int(rate != 1.0), "the rate of points that are all equal is one")
    below, upto = float(np.mean(found * rate < 1 - 1e-9)), float(np.mean(found * rate <= 1 + 1e-9))
    slack = 1.0 / len(found) if whole else 0.1
    wrong = not (below <= 0.5 + slack and upto >= 0.5 - slack)
    return count("rate", int(wrong), f"{below:.3f} of the squared distances are below one over the rate", exact=whole)


def _correction(subject: Subject, rule: str, constant: float) -> Check:
    """A correction leaves no negative eigenvalue, and no constant smaller than it would do."""
    spectrum = subject.model.spectrum
    if not spectrum.complete:
        return skipped("correction", "only the top of the spectrum was computed")
    solved = spectrum.solved
    error = max(-float(solved[-1]), 0.0)
    if constant > 0 and len(solved) > 2:  # one zero is the constant vector's, the other says that no less would do
        error = max(error, float(np.sort(np.abs(solved))[1]))
    power = 1 if rule == "lingoes" else 2
    scale = 10 * subject.rounding * (subject.top + len(solved) * constant**power)
    return ratio("correction", error, scale if rule == "lingoes" else 1e4 * scale,
                 "the smallest eigenvalue is zero, twice where a constant was added")
