"""The certificate of neighbor embeddings: perplexities, divergences, memberships, epochs and walks computed again."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Joined, Labeled, WeightedGraph
from mlcli.base.values.missing import is_missing
from mlcli.base.values.products import Name
from mlcli.base.values.scaling import Unit
from mlcli.certify.graph import adjacency, check_of_recall, recall_check
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.check.metrics import CACHED, bounded_distances
from mlcli.core.euclidean_distances import squared_distances
from mlcli.core.graph.neighbors import Nearest
from mlcli.core.graph.search import Lists
from mlcli.core.layouts.anchors import Anchors
from mlcli.core.metrics.distances import metric_of
from mlcli.core.model import Model
from mlcli.methods.layout_checks import axes_check, layout_checks, roots_of_pairs, unit_weights
from mlcli.methods.layouts import centered_axes
from mlcli.methods.neighbor_embedding.fuzzy_graph import LEAST, graph_lists
from mlcli.methods.neighbor_embedding.negative_sampling import (
    ALIKE,
    LEAST_RADIUS,
    REPEATED,
    density_moves,
    local_radii,
    move_points,
    move_rows,
    phases_of,
    target,
)
from mlcli.methods.neighbor_embedding.perplexity import ALONE, affinity_lists, reach
from mlcli.methods.neighbor_embedding.repulsion import EXACT_ROWS
from mlcli.methods.neighbor_embedding.walk import by_lists, decay_lists, distance_rows
from mlcli.native import available

ALL_ROWS, SOME_ROWS = 2000, 200  # points up to which all are checked; those of a sample
BLOCK = 2**20  # numbers of a block of pairs
PAIRS = 2**26  # of all points whose kernel is summed for a few added rows: half a second
CLOSE, ROUGH = 1e-9, 1e-3  # error of the divergence by all pairs, and by a grid or a tree
TRUE_ROWS = 10_000  # up to which the stated divergence is by all pairs


def divergence_checks(data: Joined, model: Model, perplexities: Sequence[float], dof: float, *, full: bool,
                      anchors: Anchors | None = None, exact: bool = True) -> list[Check]:
    """Check a layout: its axes, options, the perplexity of each point's affinities, divergence and slope as stated.

    With anchors at former places, axes are as they were, and the slope has that of the penalty. Unless neighbors are
    `exact`, what follows from the nearest is not checked.
    """
    similarity: Any = model.projector.similarity  # type: ignore[union-attr]
    points, size = np.asarray(model.embedding), len(data.values)
    given = isinstance(data, AffinityGraph)
    wrong = [similarity.dof != dof, len(similarity.precisions) != size,
             similarity.precisions.shape[1] != (0 if given else len(perplexities)),
             tuple(getattr(similarity, "perplexities", perplexities)) != tuple(perplexities)]
    checks = [] if anchors is not None else [axes_check(points)]
    checks.append(count("options", sum(wrong), "degrees of freedom and perplexities as asked for"))
    if any(wrong):
        return checks
    if not exact:
        return [*checks, *(skipped(name, "neighbors were searched for approximately") for name in (
            "perplexity", "divergence", "slope"))]
    rows = np.arange(size) if full or size <= ALL_ROWS else np.linspace(0, size - 1, SOME_ROWS).astype(np.int64)
    checks.append(skipped("perplexity", "the affinities are given") if given else perplexity_check(
        data, similarity.precisions, perplexities, rows))
    if size > ALL_ROWS and not full:
        return [*checks, later("divergence"), later("slope")]
    joint = rebuilt(data, similarity.precisions, perplexities)
    attraction, repulsion, divergence = exact_forces(joint, points, dof)
    pull = 0.0 if anchors is None else tied_slope(anchors, points, data, dof)
    slope = float(np.linalg.norm(attraction - repulsion + pull) / np.linalg.norm(attraction)) if attraction.any() else (
        0.0)
    close = CLOSE if size <= TRUE_ROWS else ROUGH
    return [*checks, *product_checks(joint, model),
            ratio("divergence", abs(divergence - model.fit["divergence"]), close * max(1.0, abs(divergence)),
                  "Σ p log (p / q) over all pairs, as stated"),
            ratio("slope", abs(slope - model.fit["slope"]), close * max(1.0, slope),
                  "the gradient over its attraction, as stated")]


def tied_slope(anchors: Anchors, points: Array, data: Joined, dof: float) -> Array:
    """Return a quarter of the gradient of the penalty (n x p) at points (n x p); equal rows have the mean of theirs."""
    known = np.asarray(np.isfinite(anchors.places).all(axis=1))
    former = anchors.places[known]
    radius = float(np.sqrt(np.mean(np.sum((former - former.mean(axis=0)) ** 2, axis=1))))
    pull = np.where(known[:, None], points - anchors.places, 0.0)
    pull *= anchors.weight * np.sqrt(dof) / (2 * radius * len(points))
    if isinstance(data, Features):
        _, groups, sizes = np.unique(np.asarray(data.values), axis=0, return_inverse=True, return_counts=True)
        groups = groups.ravel()
        pull = np.stack([np.bincount(groups, axis) for axis in pull.T], axis=1)[groups] / sizes[groups, None]
    return np.asarray(pull)


def perplexity_check(data: Joined, precisions: Array, perplexities: Sequence[float], rows: Indices) -> Check:
    """Check that affinities of some rows have their perplexity, with distances that are computed again."""
    worst = 0.0
    for some in row_blocks(len(rows), BLOCK, len(data.values)):
        for row, (lengths, errors) in zip(rows[some], lengths_of(data, rows[some], reach(perplexities)), strict=True):
            for place, perplexity in enumerate(perplexities):
                worst = max(worst, off_aim(lengths, errors, float(precisions[row, place]), perplexity))
    return ratio("perplexity", worst, 1.0, "entropies of affinities are logarithms of the perplexity", exact=False)


def lengths_of(data: Joined, rows: Indices, nearest: int) -> Iterator[tuple[Array, Array]]:
    """Yield the lengths of each row's nearest neighbors or edges, in any order, with bounds of their errors."""
    if isinstance(data, WeightedGraph):
        for row in rows:
            lengths = data.weights[data.starts[row] : data.starts[row + 1]]
            yield lengths, EPS * lengths
        return
    distances, errors = distances_from(data, rows)
    distances[np.arange(len(rows)), rows] = np.inf
    for lengths, wrong in zip(distances, errors, strict=True):
        order = np.argpartition(lengths, nearest - 1)[:nearest]
        yield lengths[order], wrong[order]


def distances_from(data: Features | Dissimilarities, rows: Indices) -> tuple[Array, Array]:
    """Return distances (m x n) from some rows to all points, with bounds of their errors."""
    if isinstance(data, Dissimilarities):
        distances = data.values[rows]
        return distances, EPS * distances
    found = bounded_distances(metric_of(data), data.values[rows], data.values)
    return found.distances.copy(), found.errors


def off_aim(lengths: Array, errors: Array, precision: float, perplexity: float) -> float:
    """Return the difference of an entropy from the perplexity's logarithm, over what rounding explains."""
    aim, unit = np.log(perplexity), scale_of(lengths)
    if precision == 0:
        return 0.0 if len(lengths) <= perplexity * (1 + EPS) else np.inf
    slack = float(errors.max())
    if precision == ALONE:  # so many nearest ones tie that their entropy is higher
        ties = int(np.sum(lengths <= lengths.min() + 2 * slack))
        return 0.0 if np.log(ties) >= aim - CLOSE else np.inf
    gaps = precision * ((lengths - lengths.min()) / unit) * ((lengths + lengths.min()) / unit)
    shares = np.exp(-np.minimum(gaps, 700.0))
    shares = shares / shares.sum()
    entropy = -float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    near = shares > 0
    slips = precision * 8 * (errors[near] / unit) * (lengths[near] / unit) + EPS * gaps[near]
    return abs(entropy - aim) / (CLOSE + float(slips.max()) * len(lengths))


def rebuilt(data: Joined, precisions: Array, perplexities: Sequence[float]) -> Any:
    """Return joint affinities by SciPy (n x n, sparse) from neighbors and precisions, or from given affinities."""
    from scipy import sparse

    size = len(data.values)
    if isinstance(data, AffinityGraph):
        shares, lists = data.weights, Lists(data.starts, data.indices, data.weights)
    else:
        lists = affinity_lists(data, tuple(perplexities))
        shares = np.concatenate([np.mean([softmax(lengths, each) for each in precisions[row]], axis=0)
                                 for row, lengths in enumerate(np.split(lists.lengths, lists.starts[1:-1]))])
    rows = sparse.coo_array((shares, (lists.rows, lists.indices)), shape=(size, size)).tocsr()
    both = (rows + rows.T).tocoo()
    return sparse.coo_array((both.data / both.data.sum(), (both.row, both.col)), shape=both.shape)


def softmax(lengths: Array, precision: float) -> Array:
    """Return affinities (k) of one row by a precision."""
    if precision == ALONE:
        shares = (lengths == lengths.min()).astype(np.float64)
    else:
        unit, least = scale_of(lengths), lengths.min()
        gaps = np.minimum((lengths - least) / unit * ((lengths + least) / unit), 1e300)
        shares = np.exp(-np.minimum(precision * gaps, 750.0))
    return np.asarray(shares / shares.sum())


def scale_of(lengths: Array) -> float:
    """Return the length that precisions of a row are relative to: the middle one, or the largest where that is zero."""
    middle = float(np.partition(lengths, len(lengths) // 2)[len(lengths) // 2])
    return middle or float(lengths.max()) or 1.0


def exact_forces(joint: Any, points: Array, dof: float) -> tuple[Array, Array, float]:
    """Return attraction and repulsion over its sum (n x p each), and the divergence, by distances of SciPy."""
    from scipy.spatial.distance import cdist

    total, repulsion = 0.0, np.zeros_like(points)
    for some in row_blocks(len(points), BLOCK, len(points)):
        bases = 1 + cdist(points[some], points, "sqeuclidean") / dof
        kernel = bases**-dof
        kernel[np.arange(len(kernel)), np.arange(some.start, some.stop)] = 0.0
        total += float(kernel.sum())
        weights = kernel / bases
        repulsion[some] = weights.sum(axis=1)[:, None] * points[some] - weights @ points
    gaps = points[joint.row] - points[joint.col]
    bases = 1 + np.sum(gaps**2, axis=1) / dof
    pulls: AnyArray = (joint.data / bases)[:, None] * gaps
    attraction = np.column_stack([np.bincount(joint.row, column, len(points)).astype(float) for column in pulls.T])
    shares = joint.data[joint.data > 0]
    divergence = np.sum(shares * np.log(shares)) + dof * np.sum(joint.data * np.log(bases)) + np.log(total)
    return attraction, repulsion / total, float(divergence)


def product_checks(joint: Any, model: Model) -> Iterator[Check]:
    """Check the affinities of the fit, where they are at hand: symmetric, of sum one, and as they are found again."""
    made = model.products.get("weights")
    if made is None:
        return
    from scipy import sparse

    rounding = float(np.finfo(made.values.dtype).eps)  # type: ignore[union-attr]
    held = sparse.csr_array((made.values.astype(float), made.indices, made.starts),  # type: ignore[union-attr]
                            shape=joint.shape)
    yield ratio("symmetry", float(abs(held - held.T).max()), EPS, "affinities are the same in both directions")
    yield ratio("sum", abs(float(held.sum()) - 1), max(EPS * held.nnz, rounding),
                "affinities of all pairs have sum one")
    yield ratio("affinities", float(abs(held - joint).max()), max(CLOSE, rounding) * float(joint.data.max()),
                "affinities, by neighbors and precisions")


CLOSE_CORRELATION = 1e-6  # error of a correlation, whose radii may differ by as little as ALIKE
BESIDE = 1e-9  # relative distance from the least membership of an edge that is due, in which rounding decides


def radii_check(method: Any, data: Joined, model: Model, joined: Any) -> Check:
    """Check the correlation of local radii as stated, by distances of another library.

    `joined` are the memberships (n x n), dense or sparse.
    """
    from scipy import sparse

    said = "the correlation of local radii in data and layout, by sums over the edges"
    every = sparse.coo_array(joined)
    least = every.data.max() / method.epochs_of(data)
    if (np.abs(every.data / least - 1) <= BESIDE).any():
        return skipped("radii", "an edge is due in one epoch but for rounding")
    kept = every.data >= least
    rows, columns, weights = (part[kept] for part in (*every.coords, every.data))
    order = np.argsort(rows, kind="stable")
    rows, columns, weights = rows[order], columns[order], weights[order]
    points, squares, lengths = np.asarray(model.embedding), np.zeros(len(rows)), np.zeros(len(rows))
    for some in row_blocks(len(points), CACHED, len(points)):
        inside = slice(*np.searchsorted(rows, [some.start, some.stop]))
        here, there = rows[inside], columns[inside]
        if isinstance(data, WeightedGraph):
            lengths[inside] = sparse.csr_array((data.weights, data.indices, data.starts))[here, there]
        else:
            lengths[inside] = distances_from(data, np.arange(some.start, some.stop))[0][here - some.start, there]
        squares[inside] = ((points[here] - points[there]) ** 2).sum(axis=1)
    near = 1 / (1 + float(model.fit["a"]) * squares ** float(model.fit["b"]))
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    own, placed = (np.add.reduceat(values * weighing, starts) / np.add.reduceat(weighing, starts)
                   for values, weighing in ((lengths**2, weights), (squares, near)))
    middle = np.median(own[own > 0]) if own.any() else 1.0
    logs = np.log(own / middle + LEAST_RADIUS), np.log(placed + LEAST_RADIUS)
    stated = model.fit.get("radius_correlation")
    if stated is None:
        return ratio("radii", float(min(values.std() for values in logs)), 2 * ALIKE, "local radii are equal")
    return ratio("radii", abs(float(np.corrcoef(*logs)[0, 1]) - stated), CLOSE_CORRELATION, said)


def density_check(found: Any) -> Check:
    """Check the pulls and the steps of an epoch from the last positions of a layout, by NumPy instead of the kernel."""
    points, form, epochs = found.ended.state.points, found.sampling.form(found.curve), found.sampling.epochs
    draw, rate = found.sampling.draw(epochs - 1), found.sampling.rate
    pulls, other = found.term.pulls(points, form), found.term.pulls(points, form, local_radii)
    wrong = max_abs(pulls - other) / max(max_abs(other), 1e-300)
    for edges in phases_of(found.graph, epochs):
        plain, kept = (move_points([edges], points, None, curve=form, draw=draw, rate=rate, pulls=some).points
                       for some in (None, pulls))
        expected = plain.copy()
        density_moves(edges, 0, points, pulls=pulls, curve=form, epoch=draw.epoch, rate=rate, moved=expected)
        wrong = max(wrong, max_abs(kept - expected))
    return ratio("density", wrong, 1e-9 * max(max_abs(points), 1.0),
                 "pulls and steps that keep local radii, by NumPy")


PAIRS = 1_500  # points whose pairs are all compared, unless everything is checked
FIRST = 3  # epochs that NumPy repeats
FAINT = 1e-250  # membership below which rounding may leave none
SUM = 1e-8  # error of a sum of memberships, relatively: scales are solved to rounding


def sampled_checks(method: Any, data: Joined, model: Model, full: bool) -> list[Check]:
    """Return the checks of graph, radii, curve, axes and seed of a layout (n x p)."""
    points = np.asarray(model.embedding)
    return [axes_check(points), *_graph_checks(method, data, model, full), curve_check(method, model),
            *_seed_checks(method, data, model, full)]


def listed_recall_check(subject: Subject, count: int, name: Name = "graph") -> Check:
    """Check the recall of an approximate search by a matrix of neighbors, where the model has it."""
    made = subject.model.products.get(name)
    if made is None:
        return skipped("neighbors", "the graph was not kept: the run's own certificate checked it")
    return recall_check(subject, adjacency(subject, made.starts, made.indices), "union", count)  # type: ignore[union-attr]


def tied_edge_checks(method: Any, data: Joined, model: Model, *, full: bool) -> list[Check]:
    """Return the checks of graph, radii and curve of a layout whose points are tied to former places."""
    return [*_graph_checks(method, data, model, full), curve_check(method, model)]


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
    if size > PAIRS and (not full or (isinstance(data, Features) and method.neighbors.search == "approximate")):
        names = ["graph"] if method.density is None else ["graph", "radii"]
        return [skipped(name, f"more than {PAIRS} points") for name in names]
    if isinstance(data, AffinityGraph):
        total, farther, least = float(data.weights.sum()), 0.0, len(data.weights)
        most = least
    else:
        lists = graph_lists(data, Nearest(method.neighbors.count))
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
    unit = Unit.of(lengths)  # of lengths near the smallest double the root would be found to no digit
    lengths, overall = unit.measured(lengths), (unit**-1).number(overall)
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
    found = method.composition(data, Compute(seed=int(model.fit["seed"]))).layout
    again, points = centered_axes(found.ended.state.points), np.asarray(model.embedding)
    reach = max_abs(points)
    checks = [ratio("seed", max_abs(again - points), 1e-9 * max(reach, 1e-300),
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


SEARCHED, SPARED = 50, 8  # rows whose affinities are compared with those of all pairs, by so many blocks at once
SMALL = 1500  # nodes whose distances and singular values are computed by slower libraries without `full`
ROWS = 64  # training rows whose own probabilities are compared
SHORT = 64  # steps of a walk that are taken one by one
NOISE = 1e-13  # of potential distances, relative to the size of potentials
KNEE = 1e-6  # error of entropies, relative to the largest: squares of singular values lose half of the digits


def potential_checks(method: Any, data: Any, model: Any, *, full: bool, exact: bool = True) -> list[Check]:
    """Check a fit of PHATE: axes, probabilities, coordinates of all points, time, stress, and that no step moves.

    Unless neighbors are `exact`, affinities are those of the lists that the fit found, whose recall is checked.
    """
    similarity, layout, points = model.projector.similarity, model.projector.axes, np.asarray(model.embedding)
    listed = by_lists(data) and not (full and exact)
    kernel = kernel_of_lists(method, data) if listed else kernel_by_definition(
        method, data, full or len(data.values) <= SMALL)
    searches = [search_check(method, data, kernel, exact=exact)] if listed else []
    kernel = (kernel + kernel.T) / 2
    clusters = similarity.clusters
    steps, entries = walk_by_definition(kernel, clusters)
    exact = full or steps.shape[0] <= SMALL
    placed = layout if clusters is None else entries @ layout
    checks = [axes_check(points), *searches, *transition_checks(method, data, similarity),
              ratio("walk", float(np.abs(np.asarray(steps.sum(axis=1)).ravel() - 1).max()), EPS * len(layout),
                    "the probabilities of a step sum to one"),
              ratio("placement", float(np.abs(points - placed).max()), EPS * len(points) * float(np.abs(layout).max()),
                    "points are the means of their clusters, by the probabilities to reach them")
              if placed.shape == points.shape else count("placement", 1, "there is a coordinate for every axis")]
    checks += time_checks(method, model, steps) if exact else [later("time")]
    potentials = potentials_of(steps, int(model.fit["time"]), method.gamma)
    noise = NOISE * float(np.linalg.norm(potentials, axis=1).max())
    lengths = condensed_distances(potentials, exact)
    lengths[lengths <= noise] = 0.0
    return [*checks, *layout_checks(layout, lengths, model, weights=unit_weights(lengths), squared=False,
                                    tolerance=method.iterate.tolerance, noise=noise)]


def kernel_by_definition(method: Any, data: Any, exact: bool) -> Any:
    """Return exp(-(d/σ)^α) with σ of the row's point (n x n, sparse), by SciPy's distances if `exact`.

    Of a graph it is its affinities, with the largest on the diagonal.
    """
    from scipy import sparse

    size = len(data.values)
    if isinstance(data, AffinityGraph):
        given = sparse.csr_array((data.weights, data.indices, data.starts), shape=(size, size))
        return given + (data.weights.max(initial=0.0) or 1.0) * sparse.eye_array(size)
    return sparse.vstack([sparse.csr_array(affinities(method, lengths, 1)) for _, lengths in blocks_of_lengths(
        data, exact)], "csr")


def kernel_of_lists(method: Any, data: Any) -> Any:
    """Return exp(-(d/σ)^α) with σ of the row's point (n x n, sparse), by the lists of neighbors that the fit found."""
    from scipy import sparse

    lists, size = decay_lists(data, method.affinity, method.search), len(data.values)
    widths = lists.lengths[lists.starts[:-1] + np.minimum(method.nearest, lists.counts) - 1]
    for row in np.flatnonzero(widths == 0):
        some = lists.lengths[lists.starts[row] : lists.starts[row + 1]]
        widths[row] = np.min(some, where=some > 0, initial=np.inf)
    found = np.exp(-np.power(lists.lengths / np.repeat(widths, lists.counts), method.decay))
    found[found < method.threshold] = 0.0
    return sparse.csr_array((found, lists.indices, lists.starts), shape=(size, size)) + sparse.eye_array(size)


def search_check(method: Any, data: Any, kernel: Any, *, exact: bool) -> Check:
    """Check the affinities of a kernel (n x n, sparse) in some rows by the distances of these to all points.

    Of a search that is not `exact`, check the share of the points with an affinity that it found.
    """
    size, rows_of, wrong, shares = len(data.values), distance_rows(data), 0.0, list[Array]()
    rows = np.linspace(0, size - 1, SEARCHED).astype(np.int64)
    for some in (rows[part] for part in row_blocks(SEARCHED, BLOCK * SPARED, size)):
        asked, held = affinities(method, rows_of(some), 1), kernel[some].toarray()
        wrong = max(wrong, float(np.abs(asked - held).max()))
        near = asked > 0
        near[np.arange(len(some)), some] = False
        counts = near.sum(axis=1)
        shares.append(np.where(counts > 0, (near & (held > 0)).sum(axis=1) / np.maximum(counts, 1), 1.0))
    if not exact:
        return check_of_recall(np.concatenate(shares), exact=False)
    return ratio("neighbors", wrong, 1e-9, f"affinities of {SEARCHED} points, by their distances to all others",
                 exact=False)


def affinities(method: Any, lengths: Array, own: int) -> Array:
    """Return affinities (m x n) of distances (m x n), the first `own` of which are the point itself."""
    place = min(method.nearest + own, lengths.shape[1]) - 1
    widths = np.partition(lengths, place, axis=1)[:, place].copy()
    for row in np.flatnonzero(widths == 0):
        widths[row] = np.min(lengths[row], where=lengths[row] > 0, initial=np.inf)
    widths[np.isinf(widths)] = 1.0
    ratios, found = lengths / widths[:, None], np.zeros(lengths.shape)
    near = ratios <= (np.e * -np.log(method.threshold)) ** (1 / method.decay)  # beyond, affinities are far below it
    found[near] = np.exp(-np.power(ratios[near], method.decay))
    found[found < method.threshold] = 0.0
    return found


def blocks_of_lengths(data: Any, exact: bool) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of rows with their distances to all points (m x n), of plain features by SciPy if `exact`."""
    from scipy.spatial.distance import cdist

    plain, size = exact and isinstance(data, Features) and metric_of(data).plain, len(data.values)
    rows_of = distance_rows(data)
    step = max(1, BLOCK // max(data.values.shape))
    for start in range(0, size, step):
        rows = slice(start, min(start + step, size))
        yield rows, cdist(data.values[rows], data.values) if plain else rows_of(rows)


def walk_by_definition(kernel: Any, clusters: Indices | None) -> tuple[Any, Any]:
    """Return the probabilities between points (n x n, sparse), or clusters (c x c), and those to reach them (n x c)."""
    from scipy import sparse

    if clusters is None:
        return sparse.csr_array(sparse.diags_array(1 / kernel.sum(axis=1)) @ kernel), None
    ones = sparse.csr_array((np.ones(len(clusters)), (np.arange(len(clusters)), clusters)))
    joint = sparse.csr_array(kernel @ ones)
    entries = sparse.csr_array(sparse.diags_array(1 / joint.sum(axis=1)) @ joint)
    return (sparse.diags_array(1 / joint.sum(axis=0)) @ joint.T @ entries).toarray(), entries


def transition_checks(method: Any, data: Any, similarity: Any) -> list[Check]:
    """Check the probabilities that the model gives to some training rows, as if these were new."""
    if isinstance(data, AffinityGraph):
        return [skipped("transitions", "the points of a given graph have no features by which others could be placed")]
    rows, lengths = next(blocks_of_lengths(data, True))
    lengths = lengths[:ROWS]
    found = similarity.rows(np.asarray(data.values[rows][:ROWS]))
    asked = affinities(method, lengths, 0)
    if similarity.clusters is not None:
        asked = np.array([np.bincount(similarity.clusters, row, minlength=similarity.nodes) for row in asked])
    asked /= asked.sum(axis=1, keepdims=True)
    wrong = float(np.abs(found - asked).max()) if found.shape == asked.shape else float("inf")
    return [ratio("transitions", wrong, 1e-9, f"probabilities of {len(lengths)} training rows, by distances of SciPy",
                  exact=len(lengths) == len(data.values))]


def time_checks(method: Any, model: Any, steps: Any) -> list[Check]:
    """Check that the time is the one asked for, or the knee of the entropies by LAPACK's singular values."""
    if method.time is not None:
        return [count("time", int(model.fit["time"] != method.time), "the time that was asked for")]
    from scipy.linalg import svdvals

    values = svdvals(steps if isinstance(steps, np.ndarray) else steps.toarray())
    powers = values ** np.arange(1, 101)[:, None]
    shares = powers / powers.sum(axis=1, keepdims=True)
    curve = -np.sum(np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1.0)), 0.0), axis=1)
    scale, place = KNEE * max(float(curve.max()), 1.0), int(model.fit["time"])
    errors = [misfit(curve[: corner + 1], 0) + misfit(curve[corner - 1:], 1) for corner in range(1, len(curve) - 1)]
    checks = [ratio("time", errors[place - 1] - min(errors) if 1 <= place <= len(errors) else float("inf"), scale,
                    "the place in the curve of entropies where two lines fit best")]
    if model.entropy is not None:
        checks.append(ratio("entropy", float(np.abs(model.entropy - curve).max()), scale,
                            "entropies of the shares of LAPACK's singular values"))
    return checks


def misfit(values: Array, first: int) -> float:
    """Return the sum of absolute errors, from the `first` on, of the line of least squares through values (m)."""
    places = np.arange(len(values))
    return float(np.abs(np.polyval(np.polyfit(places, values, 1), places) - values)[first:].sum())


def potentials_of(steps: Any, time: int, gamma: float) -> Array:
    """Return the potentials after `time` steps (n x n), taken one by one where they are few."""
    if isinstance(steps, np.ndarray):
        ends = np.linalg.matrix_power(steps, time)
    elif time > SHORT:
        ends = np.linalg.matrix_power(steps.toarray(), time)
    else:
        ends = steps.toarray()
        for _ in range(time - 1):
            ends = steps @ ends
    power = (1 - gamma) / 2
    return np.asarray(ends**power / power if power else -np.log(ends + 1e-7))


def condensed_distances(points: Array, exact: bool) -> Array:
    """Return the distances of pairs i < j (n (n - 1) / 2), by SciPy if `exact`."""
    from scipy.spatial.distance import pdist

    if exact:
        return np.asarray(pdist(points))
    return roots_of_pairs(squared_distances(points, points))


def added_rows(data: Features, points: Array, moving: Indices) -> tuple[Indices, Array, int]:
    """Return the added rows that equal no fixed one (m), their distances to all (m x n), and how many twins are apart.

    Rows that equal a fixed one lie on one that they equal.
    """
    distances, errors = distances_from(data, moving)
    fixed = np.setdiff1d(np.arange(len(points)), moving)
    equal = distances[:, fixed] <= errors[:, fixed]
    on = equal.any(axis=1)
    apart = sum(int(not (points[fixed[near]] == points[row]).all(axis=1).any())
                for row, near in zip(moving[on], equal[on], strict=True))
    return moving[~on], distances[~on], apart


def nearest_of(distances: Array, rows: Indices, count: int) -> tuple[Indices, Array]:
    """Return the `count` nearest others of some rows (m x k), by distances from them to all (m x n), and these."""
    others = distances.copy()
    others[np.arange(len(rows)), rows] = np.inf
    order = np.argsort(others, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(others, order, axis=1)


def added_divergence_checks(data: Features, model: Model, moving: Indices, perplexities: Sequence[float], dof: float, *,
                            full: bool) -> Iterator[Check]:
    """Yield checks of rows that were added to a layout: perplexities, and divergence and slope of their pairs."""
    similarity: Any = model.required_projector.similarity
    points, size = np.asarray(model.embedding), len(data.values)
    if not full and (len(moving) * size > BLOCK or size**2 > PAIRS):
        some = np.linspace(0, len(moving) - 1, min(max(BLOCK // size, 1), len(moving))).astype(np.int64)
        yield perplexity_check(data, similarity.precisions, perplexities, moving[some])
        yield later("divergence")
        yield later("slope")
        return
    rows, distances, apart = added_rows(data, points, moving)
    yield count("twins", apart, "added rows that equal a fixed one and are not on it")
    yield perplexity_check(data, similarity.precisions, perplexities, rows)
    if not len(rows):
        return
    near, lengths = nearest_of(distances, rows, reach(tuple(perplexities)))
    shares = np.zeros((len(rows), size))
    np.put_along_axis(shares, near, np.array([np.mean(
        [softmax(own, each) for each in similarity.precisions[row]], axis=0)
        for row, own in zip(rows.tolist(), lengths, strict=True)]), axis=1)
    shares[:, rows] = (shares[:, rows] + shares[:, rows].T) / 2
    attraction, repulsion, divergence = added_forces(shares, points, rows, dof)
    slope = float(np.linalg.norm(attraction - repulsion) / (np.linalg.norm(attraction) or 1.0))
    close = CLOSE if size - len(rows) <= EXACT_ROWS else ROUGH
    yield ratio("divergence", abs(divergence - model.fit["divergence"]), close * max(1.0, abs(divergence)),
                "what added rows add to Σ p log (p / q), as stated")
    yield ratio("slope", abs(slope - model.fit["slope"]), max(close * max(1.0, slope), CLOSE),
                "the gradient of added rows over its attraction, as stated")


def added_forces(shares: Array, points: Array, rows: Indices, dof: float) -> tuple[Array, Array, float]:
    """Return attraction and repulsion of added rows (m x p each), and what they add to the divergence, by SciPy.

    Shares are n times the affinities of the rows (m x n).
    """
    from scipy.spatial.distance import cdist

    size, old = len(points), np.delete(points, rows, axis=0)
    total, among = (sum(float(((1 + cdist(every[some], every, "sqeuclidean") / dof) ** -dof).sum())
                        for some in row_blocks(len(every), BLOCK, len(every))) - len(every) for every in (points, old))
    bases = 1 + cdist(points[rows], points, "sqeuclidean") / dof
    kernel = bases**-dof
    kernel[np.arange(len(rows)), rows] = 0.0
    pulls, pushes = shares / bases, kernel / bases * (size / total)
    attraction, repulsion = (weights.sum(axis=1)[:, None] * points[rows] - weights @ points
                             for weights in (pulls, pushes))
    both = 2 * shares / size
    both[:, rows] /= 2
    there = shares > 0
    logs = np.log(shares[there] / size * total) + dof * np.log(bases[there])
    return attraction, repulsion, float(np.sum(both[there] * logs) + (1 - both.sum()) * np.log(total / (among or 1.0)))


def added_edge_checks(method: Any, data: Features, model: Model, moving: Indices, *, full: bool) -> Iterator[Check]:
    """Yield checks of rows that were added to a layout: the curve, their memberships, and that they follow from it."""
    points, size = np.asarray(model.embedding), len(data.values)
    yield curve_check(method, model)
    if not full and len(moving) * size > BLOCK:
        yield later("graph")
        yield later("seed")
        return
    rows, distances, apart = added_rows(data, points, moving)
    yield count("twins", apart, "added rows that equal a fixed one and are not on it")
    if not len(rows):
        return
    near, lengths = nearest_of(distances, rows, method.neighbors.count)
    ways = np.zeros((len(rows), size))
    np.put_along_axis(ways, near, np.array([_row(own, method.local_connectivity, float(own.sum()) / (len(own) + 1))
                                            for own in lengths]), axis=1)
    own, mix = ways[:, rows], method.mix_ratio
    ways[:, rows] = mix * (own + own.T - own * own.T) + (1 - mix) * own * own.T
    total, stated = float(ways.sum()), float(model.fit["membership"])
    yield ratio("graph", abs(total - stated) / max(total, 1e-300), SUM, "memberships of added rows have the sum stated")
    if "scale" not in model.fit:
        yield skipped("seed", "it is one of the first such runs, which placed rows from other starts, in fewer epochs, "
                      "and at the scale 1")
        return
    places = points.copy()
    again = method.layout_among(data, places, moving, model.required_projector, Compute(seed=int(model.fit["seed"])))
    moved = max_abs(again.embedding - points) if again.fit["scale"] == model.fit["scale"] else float("inf")
    yield ratio("seed", moved, 1e-9 * max(max_abs(points), 1e-300), "coordinates by the same seed again, and the scale")
