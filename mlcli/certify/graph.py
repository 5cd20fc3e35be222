"""Neighbors that a model holds, in a graph or in lists, against distances computed again from the input."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mlcli.base.rows.memo import recalled
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, count, ratio
from mlcli.base.values.inputs import Dissimilarities, WeightedGraph
from mlcli.certify.eigen import worst
from mlcli.certify.subject import Subject
from mlcli.stages.algebra.metrics.points import metric_of
from mlcli.stages.graph.graph import Graph
from mlcli.stages.similarities.metric_witness import bounded_distances, bounded_pair_distances
from mlcli.stages.similarities.squares import NARROW, squared
from mlcli.stages.similarities.witness import NUMBER, shortest

EDGE = 1e-7  # seconds for the length of one edge
ROOM = 2**22  # numbers of the distances held at once
Joined = Callable[[Indices], AnyArray]  # which of all rows given some of those embedded are joined to (m x n)
Squares = Callable[[Subject, Indices], tuple[Array, Array | float]]  # see squares_of


def graph_checks(subject: Subject, graph: Graph) -> Iterator[Check]:
    """All checks of this page."""
    yield _shape(graph, subject.size)
    if graph.size == subject.size and isinstance(subject.data, WeightedGraph):
        yield given_edges(subject.data, graph.starts, graph.indices, graph.lengths)
    elif graph.size == subject.size:
        yield _lengths(subject, graph)
        yield neighbors(subject, joined_in(subject, graph.starts, graph.indices), subject.chain.graph.rule)


def _shape(graph: Graph, size: int) -> Check:
    """The graph has a vertex for every row, is undirected, without loops, and connected."""
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    there, back = rows * graph.size + graph.indices, graph.indices * graph.size + rows
    ends = graph.indices.astype(np.min_scalar_type(graph.size))  # narrow numbers are sorted in less time
    turned = np.argsort(ends, kind="stable")  # those of a row stand in the order of their indices
    wrong = abs(graph.size - size) + int(np.sum(rows == graph.indices))
    wrong += int(np.sum(there != back[turned])) + int(np.sum(graph.lengths != graph.lengths[turned]))
    wrong += int(np.sum(~np.isfinite(shortest(graph, np.zeros(1, dtype=np.int64))))) if graph.size else 0
    return count("graph", wrong, "edges that go one way, loops, vertices without a row, and those in other pieces")


def given_edges(data: WeightedGraph, starts: Indices, indices: Indices, numbers: Array) -> Check:
    """The edges are those that were given, with their numbers."""
    given, held = places(data.starts, data.indices), places(starts, indices)
    same, first, second = np.intersect1d(given, held, return_indices=True)
    wrong = len(given) + len(held) - 2 * len(same) + int(np.sum(data.weights[first] != numbers[second]))
    return count("edges", wrong, "edges of the model that are not the input's, with their numbers")


def places(starts: Indices, indices: Indices) -> Indices:
    """The place of each entry of compressed rows in a square matrix, row after row."""
    size = len(starts) - 1
    return np.repeat(np.arange(size), np.diff(starts)) * size + indices


def _lengths(subject: Subject, graph: Graph) -> Check:
    """The length of an edge is the distance of its ends in the input."""
    wide = 1 if isinstance(subject.data, Dissimilarities) else subject.data.values.shape[1]
    chosen = subject.plan.sample(0.1, EDGE + 4e-9 * wide, len(graph.indices), least=64)
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))[chosen]
    (distances, errors), lengths = apart(subject, rows, graph.indices[chosen]), graph.lengths[chosen]
    gap = np.abs(distances - lengths)
    scale = np.maximum(EPS * (8 + np.sqrt(wide)) * np.maximum(distances, lengths), errors)
    return ratio("edge lengths", worst(gap, scale), 1.0, "lengths of edges are distances in the input",
                 exact=len(chosen) == len(graph.indices))


def apart(subject: Subject, left: Indices, right: Indices) -> tuple[Array, Array | float]:
    """How far apart pairs of the rows embedded are in the input, and what a metric's rounding adds to any other."""
    values, metric = subject.data.values, metric_of(subject.data)
    if isinstance(subject.data, WeightedGraph):
        known, asked = places(subject.data.starts, subject.data.indices), left * len(values) + right
        place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        return np.where(known[place] == asked, subject.data.weights[place], np.nan), 0.0
    if isinstance(subject.data, Dissimilarities):
        return np.asarray(values[left, right]), 0.0
    if not metric.plain:
        found = bounded_pair_distances(metric, values[left], values[right])
        return found.distances, found.errors
    distances, step = np.empty(len(left)), max(1, ROOM // max(values.shape[1], 1))
    for start in range(0, len(left), step):
        gaps = values[left[start : start + step]] - values[right[start : start + step]]
        distances[start : start + step] = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
    return distances, 0.0


def joined_in(subject: Subject, starts: Indices, indices: Indices) -> Joined:
    """Who is joined to whom in compressed rows."""
    size = len(subject.given.values)

    def joined(rows: Indices) -> AnyArray:
        marks = np.zeros((len(rows), size), dtype=bool)
        columns = np.concatenate([indices[starts[i] : starts[i + 1]] for i in rows])
        marks[np.repeat(np.arange(len(rows)), np.diff(starts)[rows]), _given(subject, columns)] = True
        return marks

    return joined


def neighbors(subject: Subject, joined: Joined, rule: str) -> Check:
    """Every near point is joined, and every joined point is near, among all pairs of some rows.

    A near point is no farther than the k-th nearest, or than the radius: of the row itself (`lists`), of one of the
    two (`union`), or of both (`mutual`).
    """
    (size, columns), asked = subject.given.values.shape, subject.similarity.parts.neighbors
    wide = 1 if isinstance(subject.given, Dissimilarities) else min(columns, NARROW)
    rows = subject.plan.sample(0.3, (2 * NUMBER * wide + 2e-8) * size, subject.size, least=4)
    blocks = [rows[start : start + max(1, ROOM // size)] for start in range(0, len(rows), max(1, ROOM // size))]
    of_sample = _recalled_squares if len(blocks) == 1 else squares_of
    bounds, missing, extra = _bounds(subject, joined, rule, blocks, of_sample), 0, 0
    for block in blocks:
        places = _given(subject, block)
        (squares, rough), there = of_sample(subject, places), joined(block)
        surely, perhaps = squares < bounds[places, None] - rough, squares <= bounds[places, None] + rough
        if rule == "union":
            missing += int(np.maximum(min(asked.least, size - 1) - (there & perhaps).sum(axis=1), 0).sum())
        if rule != "lists":
            others, possibly = squares < bounds - rough, np.isnan(bounds) | (squares <= bounds + rough)
            surely, perhaps = (surely & others, perhaps & possibly) if rule == "mutual" else (
                surely | others, perhaps | possibly)
        missing += int(np.sum(surely & ~there))
        extra += int(np.sum(there & ~perhaps))
    if subject.chain.graph.neighbors.pieces == "connect":
        extra = 0  # links between pieces are longer than any neighbor
    return count("neighbors", missing + extra, f"neighbors that are not joined: {missing}; joined points that are not "
                 f"neighbors: {extra}; every pair of {len(rows)} rows", exact=len(rows) == subject.size)


def _bounds(subject: Subject, joined: Joined, rule: str, blocks: Sequence[Indices], of_sample: Squares) -> Array:
    """How far the neighbors of each row given may be, squared; NaN for one that was not checked."""
    size, asked = len(subject.given.values), subject.similarity.parts.neighbors
    k = min(asked.least, size - 1)
    bounds = np.full(size, np.nan if k else asked.farthest**2)
    for block in blocks if k else ():
        places = _given(subject, block)
        squares = of_sample(subject, places)[0]
        bounds[places] = np.partition(squares, k - 1, axis=1)[:, k - 1]
        if rule != "lists" and len(blocks) == 1:  # of a sample: the other side's as well, for a few where it matters
            matter = joined(block) | (squares <= bounds[places, None] if rule == "mutual" else False)
            few = np.flatnonzero(matter.any(axis=0) & np.isnan(bounds))[: max(4, 2 * len(block))]
            bounds[few] = np.partition(squares_of(subject, few)[0], k - 1, axis=1)[:, k - 1]
    return bounds


def _given(subject: Subject, rows: Indices) -> Indices:
    """Where some of the rows embedded are among those given."""
    return rows if subject.model.kept is None else subject.model.kept[rows]


def _recalled_squares(subject: Subject, places: Indices) -> tuple[Array, Array | float]:
    """The same as `squares_of`, which the next run of a sweep asks of the same rows again."""
    if not metric_of(subject.given).plain:
        return squares_of(subject, places)
    given = subject.given.values, places, type(subject.given).__name__
    return recalled("checked squares", given, lambda: squares_of(subject, places))


def squares_of(subject: Subject, places: Indices) -> tuple[Array, Array | float]:
    """Squared distances from some of the rows given to all of them, and how far two ways to compute them may differ.

    To themselves they are infinite.
    """
    values, metric = subject.given.values, metric_of(subject.given)
    given = isinstance(subject.given, Dissimilarities)
    themselves = np.arange(len(places)), places
    if not metric.plain:
        found = bounded_distances(metric, values[places], values)
        found.distances[themselves] = np.inf
        with np.errstate(invalid="ignore"):
            rough = np.where(np.isinf(found.distances), 0.0, (2 * found.distances + found.errors) * found.errors)
        return found.distances**2, rough
    squares = values[places] ** 2 if given else squared(values[places], values)
    squares[themselves] = np.inf
    if given or values.shape[1] <= NARROW:
        return squares, 64 * EPS * squares
    return squares, 256 * EPS * float(squares[np.isfinite(squares)].max(initial=0.0))
