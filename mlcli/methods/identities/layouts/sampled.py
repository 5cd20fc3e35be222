"""A layout by negative sampling, checked: memberships and curve by other formulas, coordinates by their seed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array
from mlcli.base.values.check import Check, ratio, skipped
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Joined, Labeled, WeightedGraph
from mlcli.base.values.missing import is_missing
from mlcli.methods.frame.layouts.layout import centered_axes
from mlcli.methods.frame.layouts.sampled import REPEATED
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.layouts.density import density_check, radii_check
from mlcli.methods.identities.layouts.divergence import distances_from
from mlcli.methods.identities.layouts.stress import axes_check
from mlcli.native import available, describe
from mlcli.stages.chain.sampling import lists_of
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.neighborhoods import Nearest
from mlcli.stages.layout.curve import target
from mlcli.stages.layout.forces import move_rows
from mlcli.stages.layout.memberships import LEAST
from mlcli.stages.layout.sampling import move_points, phases_of
from mlcli.stages.similarities.squares import CACHED

PAIRS = 1_500  # points whose pairs are all compared, unless everything is checked
FIRST = 3  # epochs that NumPy repeats
FAINT = 1e-250  # membership below which rounding may leave none
SUM = 1e-8  # error of a sum of memberships, relatively: scales are solved to rounding


def sampled_checks(method: Any, data: Joined, model: Model, full: bool) -> list[Check]:
    """Return the checks of graph, radii, curve, axes and seed of a layout (n x p)."""
    points = np.asarray(model.embedding)
    return [axes_check(points), *_graph_checks(method, data, model, full), curve_check(method, model),
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


def _graph_checks(method: Any, data: Joined, model: Model, full: bool) -> list[Check]:
    """Check the number of edges and the sum of memberships as stated, by a root of each row's equation; and radii.

    Where neighbors tie, any choice among them is right: the neighbors are those of the run, and their distances must
    be the least ones.
    """
    said = "neighbors by other distances, edges and the sum of their memberships, by a root for each row"
    size = len(data.values)
    if size > PAIRS and not full:
        names = ["graph"] if method.density is None else ["graph", "radii"]
        return [skipped(name, f"more than {PAIRS} points") for name in names]
    if isinstance(data, AffinityGraph):
        total, farther, least = float(data.weights.sum()), 0.0, len(data.weights)
        most = least
    else:
        lists = lists_of(data, Nearest(method.neighbors.count))
        joined = joined_memberships(lists, method.local_connectivity, method.mix_ratio)
        least, most = int(np.sum(joined.data > FAINT)), joined.nnz
        if method.target_weight is not None and isinstance(data, Labeled):
            joined, most = dense_intersection(joined.toarray(), data.labels, method.target_weight)
            least = int(np.sum(joined > FAINT))
        total = float(joined.sum())
        farther = 0.0 if isinstance(data, WeightedGraph) else excess(data, lists)
    wrong, edges = abs(total - float(model.fit["membership"])) / max(total, 1e-300), 2 * int(model.fit["edges"])
    checks = [ratio("graph", max((wrong + max(least - edges, edges - most, 0)) / SUM, farther), 1.0, said)]
    return checks if method.density is None else [*checks, radii_check(method, data, model, joined)]


def excess(data: Features | Dissimilarities, lists: Lists) -> float:
    """Return by how much lengths of neighbors differ from distances to them, or from the least ones, over rounding."""
    worst = 0.0
    for some in row_blocks(len(lists.counts), CACHED, len(data.values)):
        rows = np.arange(some.start, some.stop)
        distances, errors = distances_from(data, rows)
        distances[rows - some.start, rows] = np.inf
        for row, (far, slack) in enumerate(zip(distances, errors, strict=True), some.start):
            entries = slice(lists.starts[row], lists.starts[row + 1])
            places, lengths = lists.indices[entries], lists.lengths[entries]
            least = np.argsort(far, kind="stable")[: len(places)]
            gaps = np.maximum(np.abs(lengths - far[places]), np.abs(lengths - far[least]))
            allowed = slack[places] + slack[least]
            over = np.divide(gaps, allowed, out=np.where(gaps > 0, np.inf, 0.0), where=allowed > 0)
            worst = max(worst, float(over.max(initial=0.0)), np.inf if len({*places}) < len(places) else 0.0)
    return worst


def joined_memberships(lists: Lists, connectivity: float, mix: float) -> Any:
    """Return the joined memberships (n x n, sparse) of lists of neighbors; some may be too small to be above zero."""
    from scipy import sparse

    size = len(lists.counts)
    overall = float(lists.lengths.sum()) / max(len(lists.lengths) + size, 1)
    values = [_row(lengths, connectivity, overall) for lengths in np.split(lists.lengths, lists.starts[1:-1])]
    ways = sparse.coo_array((np.concatenate(values), (lists.rows, lists.indices)), shape=(size, size)).tocsr()
    products = ways * ways.T
    return mix * (ways + ways.T - products) + (1 - mix) * products


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
    if work > REPEATED and not full:
        return [skipped("seed", "many edges and epochs, which mlcli verify --full repeats")]
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
    checks.append(ratio("epochs", wrong, 1e-9 * float(np.abs(here).max()), f"the steps of {FIRST} epochs, by NumPy"))
    return checks if found.term is None else [*checks, density_check(found)]
