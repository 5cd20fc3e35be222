"""The fuzzy graph of neighbors: memberships by scales of points, their union, classes, and the start of its layout."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import one_by_one, row_blocks
from mlcli.base.stages.stage import running, stage
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import AffinityGraph, Features, Joined, Labeled, WeightedGraph
from mlcli.base.values.missing import classes_of
from mlcli.core.arithmetic import binary_logarithm, exponential, logarithm, normal_numbers, sum_of_all
from mlcli.core.graph.graph import Graph, symmetrize
from mlcli.core.graph.neighbors import Nearest
from mlcli.core.graph.search import Lists, sort_lists
from mlcli.core.layouts.first_coordinates import eigenmap_start, principal_start
from mlcli.errors import ConfigError, GeometryError

LEAST = 1e-3  # scale of a point relative to the mean length of its list, itself included
WIDEST = 1e9  # scale relative to the least, beyond which all memberships of a list are one
HALVINGS = 85  # bisections of a scale: to the digits of a number, and the same in every unit of powers of two
BLOCK = 2**18  # numbers of a block of lists
UNKNOWN, APART = 1.0, 2.5  # distance to a point without class, and between classes at weight zero, as in umap-learn


@result("scales")
@frozen
class Scales:
    """The length of each list up to which membership is one, ρ (m), and the scale of its fall beyond, σ (m)."""

    nearest: Array
    widths: Array


def smooth_lengths(lists: Lists, connectivity: float, alone: bool = False) -> Scales:
    """Return ρ and σ of each list, so that Σ exp(-max(d - ρ, 0) / σ) = log₂(k + 1) over its k lengths d.

    ρ is the length at rank `connectivity` among those above zero, interpolated between ranks; of fewer, the largest.
    Where more lengths than the sum allows are at most ρ, σ is LEAST times the mean length of the list, or of all
    lists where ρ is zero, unless each counts `alone`; a point itself is a length of zero, as in the authors' code.
    """
    counts = lists.counts
    size, widest = len(counts), int(counts.max(initial=0))
    table = np.full((size, max(widest, 1)), np.inf)
    places = np.arange(len(lists.indices)) - lists.starts[lists.rows]
    table[lists.rows, places] = lists.lengths
    nearest = _nearest(table, counts, connectivity)
    sums = np.asarray(np.bincount(lists.rows, lists.lengths, size), dtype=np.float64)
    means = sums / (counts + 1)
    overall = means if alone else sum_of_all(sums) / max(int(counts.sum()) + size, 1)
    floor = LEAST * np.where(nearest > 0, means, overall)
    widths = np.empty(size)
    for rows in one_by_one(row_blocks(size, BLOCK, table.shape[1])):
        beyond = np.maximum(table[rows] - nearest[rows, None], 0.0)
        widths[rows] = _solve(beyond, binary_logarithm(counts[rows].astype(float) + 1), floor[rows])
    return Scales(nearest, widths)


def _solve(beyond: Array, target: Array, floor: Array) -> Array:
    """Return σ (m) of lengths beyond ρ (m x k) by bisection from `floor`, which stays where the sum is larger there."""
    low, high = floor.copy(), floor * WIDEST
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            ratios = np.divide(beyond, middle[:, None], out=np.zeros_like(beyond), where=beyond > 0)
            over = exponential(-ratios).sum(axis=1) > target
            high, low = np.where(over, middle, high), np.where(over, low, middle)
    return np.asarray(low)


def _nearest(table: Array, counts: Indices, connectivity: float) -> Array:
    """Return ρ of ascending lengths (m x k, infinite beyond each list)."""
    zeros = (table == 0).sum(axis=1)
    connectivity = min(connectivity, float(table.shape[1]))
    there, index = counts - zeros, int(np.floor(connectivity))
    part = connectivity - index
    rows = np.arange(len(table))

    def at(rank: int) -> Array:  # the length above zero at a rank from 1; zero at rank zero
        place = np.minimum(zeros + rank - 1, np.maximum(counts - 1, 0))
        return np.where(rank > 0, table[rows, np.maximum(place, 0)], 0.0)

    enough = there >= connectivity
    largest = np.where(there > 0, table[rows, np.maximum(counts - 1, 0)], 0.0)
    low = at(index)
    found = low + part * (at(index + 1) - low) if part > 0 else low
    return np.asarray(np.where(enough & (counts > 0), found, largest))


def memberships_of(lists: Lists, scales: Scales) -> Array:
    """Return the membership of each entry (e): one up to ρ, then exp(-(d - ρ) / σ)."""
    beyond = np.maximum(lists.lengths - scales.nearest[lists.rows], 0.0)
    widths = scales.widths[lists.rows]
    return exponential(-np.divide(beyond, widths, out=np.zeros_like(beyond), where=widths > 0))


@stage("weights")
def fuzzy_graph(lists: Lists, connectivity: float, mix: float) -> Graph:
    """Return the graph whose lengths are memberships v + w - v w of both directions, v and w (mix 1), or v w (mix 0).

    Between these, the mean with weights `mix` and 1 - `mix`. Edges of membership zero are left out.
    """
    values = memberships_of(lists, smooth_lengths(lists, connectivity))
    starts, columns, joined = symmetrize(Lists(lists.starts, lists.indices, values), "mixture", mix=mix)
    return Graph(starts, columns.astype(np.int64), joined)


def with_lengths(graph: Graph, lists: Lists) -> Graph:
    """Return a graph of memberships with the lengths of the lists, of which it has all edges or some, in their place.
    """
    _, columns, whole = symmetrize(lists, "larger")
    if len(columns) == len(graph.indices):
        return Graph(graph.starts, graph.indices, whole)
    size = graph.size
    keys = np.repeat(np.arange(size), np.diff(graph.starts)) * size + graph.indices
    lengths = np.zeros(len(keys))
    for way in (lists.rows * size + lists.indices, lists.indices * size + lists.rows):
        places = np.minimum(np.searchsorted(keys, way), len(keys) - 1)
        there = keys[places] == way
        lengths[places[there]] = np.maximum(lengths[places[there]], lists.lengths[there])
    return Graph(graph.starts, graph.indices, lengths)


def class_distance(weight: float) -> float:
    """Return the distance between classes, in widths of a membership, at a weight from 0 to 1: infinite at 1."""
    return APART / (1 - weight) if weight < 1 else np.inf


@stage("weights")
def intersect_classes(graph: Graph, classes: Indices, weight: float) -> Graph:
    """Return the intersection of a graph of memberships with that of classes (n, -1 where unknown), joined again.

    A membership w between classes becomes w exp(-`class_distance`), and w exp(-UNKNOWN) where a class is unknown. Those
    of a point are divided by its largest, and both directions join to v + w - v w. Edges of membership zero are left
    out. Rows of the graph are in the order of their columns. Source: umap-learn's categorical intersection.
    """
    size, starts = graph.size, graph.starts
    rows = np.repeat(np.arange(size), np.diff(starts))
    own, other = classes[rows], classes[graph.indices]
    apart = np.where((own < 0) | (other < 0), UNKNOWN, np.where(own == other, 0.0, class_distance(weight)))
    logs = logarithm(graph.lengths) - apart  # a product might be zero in a row where all are small
    largest = np.full(size, -np.inf)
    np.maximum.at(largest, rows, logs)
    values = exponential(logs - np.where(np.isfinite(largest), largest, 0.0)[rows])
    back = values[np.searchsorted(rows * size + graph.indices, graph.indices * size + rows)]
    with np.errstate(under="ignore"):
        joined = values + back - values * back
    kept = joined > 0
    counts = np.bincount(rows[kept], minlength=size)
    return Graph(np.concatenate([[0], np.cumsum(counts)]), graph.indices[kept], joined[kept])


REACH, JITTER = 10.0, 1e-4  # extent of a start on each axis, and noise that parts equal points, as in umap-learn


def fuzzy_graph_of(data: Joined, lists: Lists, connectivity: float, mix: float) -> Graph:
    """Return the graph of memberships of the data, by its lists of neighbors or of edges, or its given affinities."""
    return Graph(data.starts, data.indices, data.weights) if isinstance(data, AffinityGraph) else fuzzy_graph(
        lists, connectivity, mix)


def graph_lists(data: Joined, neighbors: Nearest) -> Lists:
    """Return the nearest neighbors of every point, or those to which a graph has edges.

    Raises GeometryError for a graph without edges, and where all points are equal.
    """
    if isinstance(data, WeightedGraph) and not len(data.indices):
        raise GeometryError("NO-EDGES", f"the graph of {len(data.values)} points has no edge, so none is near another",
                            hint="check that the right column or matrix was read")
    if not isinstance(data, WeightedGraph):
        return neighbors.lists(data)
    rows = np.repeat(np.arange(len(data.values)), np.diff(data.starts))
    return sort_lists(len(data.values), rows, data.indices, data.weights)


def known_classes(labels: Sequence[str]) -> Indices:
    """Return the class of each row from 0 (n), in alphabetical order, and -1 for a row without label.

    Raises GeometryError for fewer than two classes.
    """
    names, classes = classes_of(labels)
    if len(names) < 2:
        raise GeometryError("ONE-CLASS", "the labels name one class only" if len(names) else "no row has a label",
                            where="input.label_columns", hint="name two classes, or leave target_weight out")
    return classes


def class_graph(graph: Graph, data: Labeled, weight: float) -> Graph:
    """Return the graph of memberships intersected with the classes of the data, at a weight from 0 to 1.

    Raises GeometryError for fewer than two classes, and where no edge is left.
    """
    found = intersect_classes(graph, known_classes(data.labels), weight)
    if not found.edges:
        raise GeometryError("NO-EDGES", "no neighbors share a class, so their graph has no edge",
                            hint="choose a target_weight below 1, or labels that name classes")
    return found


def start_points(data: Joined, graph: Graph, kind: str, axes: int, generator: np.random.Generator,
                 given: Array | None = None) -> Array:
    """Return first coordinates (n x axes), from 0 to REACH on each axis: of this kind, or those `given` (n x axes).

    Raises ConfigError for principal components without features.
    """
    size = graph.size
    if given is not None:
        points = given - given.mean(axis=0)
    elif kind == "pca":
        if not isinstance(data, Features):
            raise ConfigError("START", "principal components need features", where="method.start",
                              hint="choose spectral or random")
        scores = principal_start(data.values, axes)
        points = np.pad(scores, ((0, 0), (0, axes - scores.shape[1])))
    elif kind == "spectral":
        points = eigenmap_start(graph, axes, int(generator.integers(2**62)))
    else:
        points = 2 * REACH * generator.random((size, axes)) - REACH
    with running("prepare"):
        top = float(np.abs(points).max(initial=0.0))
        points = points * (REACH / top if top > 0 else 0.0) + JITTER * normal_numbers(generator, points.shape)
        low = points.min(axis=0)
        extent = points.max(axis=0) - low
        return np.asarray(REACH * (points - low) / np.where(extent > 0, extent, 1.0))
