"""A layout by negative sampling, checked: memberships and curve by other formulas, coordinates by their seed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import Check, ratio, skipped
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Joined, Labeled, WeightedGraph
from mlcli.base.values.missing import is_missing
from mlcli.methods.frame.layouts.stress import centered_axes
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.stress import axes_check
from mlcli.native import available, describe
from mlcli.stages.algebra.metrics.points import is_euclidean
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.neighborhoods import Nearest
from mlcli.stages.layout.curve import target
from mlcli.stages.layout.forces import move_rows
from mlcli.stages.layout.memberships import LEAST
from mlcli.stages.layout.sampling import move_points, phases_of

PAIRS = 1_500  # points whose pairs are all compared, unless everything is checked
STEPS = 20_000_000  # edges times epochs that are repeated, unless everything is checked
FIRST = 3  # epochs that NumPy repeats
FAINT = 1e-250  # membership below which rounding may leave none
SUM = 1e-8  # error of a sum of memberships, relatively: scales are solved to rounding


def sampled_checks(method: Any, data: Joined, model: Model, full: bool) -> list[Check]:
    """Return the checks of graph, curve, axes and seed of a layout (n x p)."""
    points = np.asarray(model.embedding)
    return [axes_check(points), _graph_check(method, data, model, full), curve_check(method, model),
            *_seed_checks(method, data, model, full)]


def curve_check(method: Any, model: Model) -> Check:
    """Check that a and b as stated solve the least squares problem: its gradient vanishes there."""
    a, b = float(model.fit["a"]), float(model.fit["b"])
    distances, memberships = target(method.min_dist, method.spread)
    powers = distances ** (2 * b)
    found = 1 / (1 + a * powers)
    logs = np.log(np.where(distances > 0, distances, 1.0))
    slopes = np.stack([-powers * found**2, -2 * a * powers * logs * found**2])
    errors = found - memberships
    sizes = np.linalg.norm(slopes, axis=1) * np.linalg.norm(errors)
    worst = float(np.max(np.abs(slopes @ errors) / np.where(sizes > 0, sizes, 1.0)))
    return ratio("curve", worst, 1e-5, "a and b of the least squares fit to min_dist and spread")


def _graph_check(method: Any, data: Joined, model: Model, full: bool) -> Check:
    """Check the number of edges and the sum of memberships as stated, by dense matrices and a root of each row."""
    said = "edges and the sum of their memberships, by dense matrices"
    if len(data.values) > PAIRS and not full:
        return skipped("graph", f"more than {PAIRS} points")
    if isinstance(data, AffinityGraph):
        total, least = float(data.weights.sum()), len(data.weights)
        most = least
    else:
        joined, most = dense_memberships(data, method.neighbors.count, method.local_connectivity, method.mix_ratio)
        if method.target_weight is not None and isinstance(data, Labeled):
            joined, most = dense_intersection(joined, data.labels, method.target_weight)
        total, least = float(joined.sum()), int(np.sum(joined > FAINT))
    wrong, edges = abs(total - float(model.fit["membership"])) / max(total, 1e-300), 2 * int(model.fit["edges"])
    return ratio("graph", wrong + max(least - edges, edges - most, 0), SUM, said)


def dense_memberships(data: Joined, count: int, connectivity: float, mix: float) -> tuple[Array, int]:
    """Return the joined memberships (n x n) of the nearest `count` others, or of a graph's lengths, and the most edges.

    Edges are counted both ways; memberships of some may be too small for a number above zero.
    """
    size = len(data.values)
    if isinstance(data, WeightedGraph):
        lengths = np.full((size, size), np.inf)
        lengths[np.repeat(np.arange(size), np.diff(data.starts)), data.indices] = data.weights
    else:
        assert isinstance(data, Features | Dissimilarities)
        lists = Nearest(count).lists(data)  # which of equally near points are neighbors only the search can tell
        lengths = np.full((size, size), np.inf)
        lengths[lists.rows, lists.indices] = _listed_lengths(data, lists)
    np.fill_diagonal(lengths, np.inf)
    there = np.isfinite(lengths)
    overall = float(lengths[there].sum()) / max(int(there.sum()) + size, 1)
    values = np.zeros((size, size))
    for row in range(size):
        values[row, there[row]] = _row(lengths[row, there[row]], connectivity, overall)
    products = values * values.T
    most = int(np.sum(there | there.T if mix > 0 else there & there.T))
    return np.asarray(mix * (values + values.T - products) + (1 - mix) * products), most


def dense_intersection(joined: Array, labels: Sequence[str], weight: float) -> tuple[Array, int]:
    """Return memberships (n x n) intersected with classes at a weight, and the most edges, counted both ways."""
    size, result = len(labels), np.zeros_like(joined)
    for row, own in enumerate(labels):
        there = np.flatnonzero(joined[row]).tolist()
        apart = np.array([1.0 if is_missing(own) or is_missing(labels[other]) else 0.0 if own == labels[other]
                          else np.inf if weight == 1 else 2.5 / (1 - weight) for other in there])
        near = np.array(there, dtype=np.int64)[np.isfinite(apart)]
        if len(near):
            sizes = np.log(joined[row, near]) - apart[np.isfinite(apart)]
            result[row, near] = np.exp(sizes - sizes.max())
    most = int(np.sum((result > 0) | (result.T > 0))) if size else 0
    return np.asarray(1 - (1 - result) * (1 - result.T)), most


def _listed_lengths(data: Features | Dissimilarities, lists: Lists) -> Array:
    """Return the length of each entry by its definition; of other metrics than the Euclidean, as listed."""
    if isinstance(data, Dissimilarities):
        return np.asarray(data.values[lists.rows, lists.indices])
    if not is_euclidean(data):
        return lists.lengths
    return np.sqrt(np.sum((data.values[lists.rows] - data.values[lists.indices]) ** 2, axis=1))


def _row(lengths: Array, connectivity: float, overall: float) -> Array:
    """Return the memberships of one list of lengths (k), the scale by a root of its equation."""
    from scipy.optimize import brentq

    if not len(lengths):
        return lengths
    steps = np.concatenate([[0.0], np.sort(lengths[lengths > 0])])
    nearest = float(np.interp(connectivity, np.arange(len(steps)), steps))
    least = LEAST * (float(lengths.sum()) / (len(lengths) + 1) if nearest > 0 else overall)
    beyond = np.maximum(lengths - nearest, 0.0)
    if not beyond.any():
        return np.ones_like(lengths)
    aim = np.log2(len(lengths) + 1)

    def over(scale: float) -> float:
        return float(np.exp(-beyond / scale).sum() - aim)

    with np.errstate(under="ignore"):
        scale = least if over(least) >= 0 else brentq(over, least, least * 1e9, xtol=1e-300, rtol=1e-14) if (
            over(least * 1e9) > 0) else least * 1e9
        return np.asarray(np.exp(-beyond / scale))


def _seed_checks(method: Any, data: Joined, model: Model, full: bool) -> list[Check]:
    """Check that coordinates follow from the seed, and the first epochs' moves by NumPy instead of the kernel."""
    work = float(model.fit["edges"]) * method.epochs_of(data)
    if work > STEPS and not full:
        return [skipped("seed", "many edges and epochs; `mlcli certify --full` repeats them")]
    if model.fit["kernel"] != describe():
        return [skipped("seed", "another instruction set than that of the run rounds in other places")]
    found = method.layout(data, int(model.fit["seed"]))
    again, points = centered_axes(found.ended.state.points), np.asarray(model.embedding)
    reach = float(np.abs(points).max(initial=0.0))
    checks = [ratio("seed", float(np.abs(again - points).max(initial=0.0)), 1e-9 * max(reach, 1e-300),
                    "coordinates by the same seed again")]
    if not available():
        return checks
    phases, form = phases_of(found.graph, found.sampling.epochs), found.sampling.form(found.curve)
    here, wrong = found.start, 0.0
    for epoch in range(min(FIRST, found.sampling.epochs)):
        draw, rate = found.sampling.draw(epoch), found.sampling.rate_at(epoch)
        for edges in phases:  # each from the same positions, as rounding grows from step to step
            before, here = here, move_points([edges], here, None, curve=form, draw=draw, rate=rate).points
            wrong = max(wrong, float(np.abs(here - move_rows(edges, before, 0, before, form, draw, rate)[0]).max()))
    return [*checks, ratio("epochs", wrong, 1e-9 * float(np.abs(here).max()), f"the steps of {FIRST} epochs, by NumPy")]
