"""Neighbors in a model's graph or lists, against distances computed again from the input."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, Verdict, count, ratio, skipped
from mlcli.base.values.inputs import Dissimilarities, WeightedGraph
from mlcli.certify.eigen import worst
from mlcli.certify.subject import Subject
from mlcli.core.check.kernels import NUMBER, shortest
from mlcli.core.check.metrics import NARROW, bounded_distances, bounded_pair_distances, squared
from mlcli.core.graph.approximate import Recall
from mlcli.core.graph.graph import Graph
from mlcli.core.metrics.distances import metric_of

EDGE = 1e-7  # seconds for the length of one edge
MISSING, SPARSE_LISTS = 0.1, 0.25  # shares of the nearest that an approximate search may miss: passed, and not failed
ROOM = 2**22  # distances in memory at a time
Rule = Literal["lists", "union", "mutual"]  # how neighbors are joined
Joined = Callable[[Indices], AnyArray]  # embedded rows (m) to marks of the input's rows that are their neighbors (m, n)
Squares = Callable[[Subject, Indices], tuple[Array, Array | float]]  # see squares_of


def graph_checks(subject: Subject, graph: Graph) -> Iterator[Check]:
    """Yield the checks of the neighbor graph that the model holds, against the input and the options asked for."""
    yield _shape(graph, subject.size)
    if graph.size == subject.size and isinstance(subject.data, WeightedGraph):
        yield edge_check(subject.data, graph.starts, graph.indices, graph.lengths)
    elif graph.size == subject.size:
        yield _lengths(subject, graph)
        if subject.asked.neighbors is None:
            yield skipped("neighbors", "the method has no option of the neighbors")
            return
        yield neighbor_check(subject, adjacency(subject, graph.starts, graph.indices), subject.asked.rule)


def _shape(graph: Graph, size: int) -> Check:
    """Check that the graph has a vertex for every row, is undirected, without loops, and connected."""
    narrow = np.min_scalar_type(graph.size)  # numbers that are sorted in less time, and held in less memory
    ends, rows = graph.indices.astype(narrow), np.repeat(np.arange(graph.size, dtype=narrow), np.diff(graph.starts))
    turned = np.argsort(ends, kind="stable")  # stable: edges of a row stay in the order of their indices
    wrong = abs(graph.size - size) + int(np.sum(rows == ends)) + int(np.sum(graph.lengths != graph.lengths[turned]))
    wrong += int(np.sum((rows != ends[turned]) | (ends != rows[turned])))
    wrong += int(np.sum(~np.isfinite(shortest(graph, np.zeros(1, dtype=np.int64))))) if graph.size else 0
    return count("graph", wrong, "edges that go one way, loops, vertices without a row, and those in other pieces")


def edge_check(data: WeightedGraph, starts: Indices, indices: Indices, numbers: Array) -> Check:
    """Check that the edges and their numbers are those of the input graph.

    `starts`, `indices` and `numbers` are compressed rows: (n + 1,), (m,) and (m,) arrays.
    """
    given, held = matrix_positions(data.starts, data.indices), matrix_positions(starts, indices)
    same, first, second = np.intersect1d(given, held, return_indices=True)
    wrong = len(given) + len(held) - 2 * len(same) + int(np.sum(data.weights[first] != numbers[second]))
    return count("edges", wrong, "edges of the model that are not the input's, with their numbers")


def matrix_positions(starts: Indices, indices: Indices) -> Indices:
    """Return the positions of the entries of compressed rows in a square matrix, row after row, an (m,) array."""
    size = len(starts) - 1
    return np.repeat(np.arange(size), np.diff(starts)) * size + indices


def _lengths(subject: Subject, graph: Graph) -> Check:
    """Check that the length of an edge is the distance of its ends in the input."""
    wide = 1 if isinstance(subject.data, Dissimilarities) else subject.data.values.shape[1]
    chosen = subject.plan.sample(0.1, EDGE + 4e-9 * wide, len(graph.indices), least=64)
    rows = np.searchsorted(graph.starts, chosen, side="right") - 1
    (distances, errors), lengths = pair_distances(subject, rows, graph.indices[chosen]), graph.lengths[chosen]
    gap = np.abs(distances - lengths)
    scale = np.maximum(EPS * (8 + np.sqrt(wide)) * np.maximum(distances, lengths), errors)
    return ratio("edge lengths", worst(gap, scale), 1.0, "lengths of edges are distances in the input",
                 exact=len(chosen) == len(graph.indices))


def pair_distances(subject: Subject, left: Indices, right: Indices) -> tuple[Array, Array | float]:
    """Return distances in the input of pairs of embedded rows, and their errors beyond the usual rounding.

    `left` and `right` are (m,) arrays of rows; returns an (m,) array, and an (m,) array or zero. NaN for a pair without
    an edge where the input is a graph.
    """
    values, metric = subject.data.values, metric_of(subject.data)
    if isinstance(subject.data, WeightedGraph):
        known, asked = matrix_positions(subject.data.starts, subject.data.indices), left * len(values) + right
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


def adjacency(subject: Subject, starts: Indices, indices: Indices) -> Joined:
    """Return a function from embedded rows to marks of their neighbors.

    `starts` and `indices` are compressed rows, (n + 1,) and (m,) arrays.
    """
    size = len(subject.given.values)

    def marks_of(rows: Indices) -> AnyArray:
        """Return marks of the neighbors of embedded rows, an (m, n) array."""
        marks = np.zeros((len(rows), size), dtype=bool)
        columns = np.concatenate([indices[starts[i] : starts[i + 1]] for i in rows])
        marks[np.repeat(np.arange(len(rows)), np.diff(starts)[rows]), _input_rows(subject, columns)] = True
        return marks

    return marks_of


def neighbor_check(subject: Subject, joined: Joined, rule: Rule) -> Check:
    """Check that every near point is joined, and every joined point is near, among all pairs of a sample of rows.

    A near point is no farther than the k-th nearest, or than the radius: of the row itself (`lists`), of one of the two
    (`union`), or of both (`mutual`). Of an approximate search, the share of the nearest that it found is checked.
    """
    if subject.neighbors.search == "approximate":
        return recall_check(subject, joined, rule, subject.neighborhood.usual)
    (size, columns), asked = subject.given.values.shape, subject.neighborhood
    wide = 1 if isinstance(subject.given, Dissimilarities) else min(columns, NARROW)
    rows = subject.plan.sample(0.3, (2 * NUMBER * wide + 2e-8) * size, subject.size, least=4)
    blocks = [rows[block] for block in row_blocks(len(rows), ROOM, size)]
    of_sample = _shared_squares if len(blocks) == 1 else squares_of
    bounds, missing, extra = _bounds(subject, joined, rule, blocks, of_sample), 0, 0
    for block in blocks:
        places = _input_rows(subject, block)
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
    if subject.neighbors.pieces == "connect":
        extra = 0  # links between pieces are longer than any neighbor
    return count("neighbors", missing + extra, f"neighbors that are not joined: {missing}; joined points that are not "
                 f"neighbors: {extra}; every pair of {len(rows)} rows", exact=len(rows) == subject.size)


def recall_check(subject: Subject, joined: Joined, rule: Rule, count: int) -> Check:
    """Check the share of the `count` nearest of a sample of rows, by their distances to all, that an approximate search
    has joined: it passes if no more than a tenth is missing, and fails from a quarter on.

    By the rule `mutual` these are the points nearer than the last neighbor of either.
    """
    (size, columns), k = subject.given.values.shape, min(count, len(subject.given.values) - 1)
    rows = subject.plan.sample(0.3, (2 * NUMBER * min(columns, NARROW) + 2e-8) * size, subject.size, least=32)
    blocks = [rows[block] for block in row_blocks(len(rows), ROOM, size)]
    of_sample = _shared_squares if len(blocks) == 1 else squares_of
    bounds = _bounds(subject, joined, rule, blocks, of_sample) if rule == "mutual" else np.zeros(0)
    shares = []
    for block in blocks:
        places = _input_rows(subject, block)
        (squares, rough), there = of_sample(subject, places), joined(block)
        if rule == "mutual":
            near = (squares < bounds[places, None] - rough) & (squares < bounds - rough)
            wanted = near.sum(axis=1)
        else:
            near, wanted = squares <= np.partition(squares, k - 1, axis=1)[:, k - 1 : k] + rough, np.full(len(block), k)
        found = (near & there).sum(axis=1)
        shares.append(np.where(found < wanted, found / np.maximum(wanted, 1), 1.0))
    return check_of_recall(np.concatenate(shares), exact=len(rows) == subject.size)


def check_of_recall(shares: Array, *, exact: bool) -> Check:
    """Check the shares of their nearest that a search has found of some rows (m); `exact` if these are all rows."""
    found = Recall.of_rows(shares)
    missing = 1 - found.share
    verdict: Verdict = "pass" if missing <= MISSING else "warn" if missing <= SPARSE_LISTS else "fail"
    return Check("neighbors", missing, MISSING, verdict, f"share of the nearest that an approximate search missed, of "
                 f"{found.rows} rows; 95 % interval of those found: {found.low:.2%} to {found.high:.2%}", exact=exact)


def _bounds(subject: Subject, joined: Joined, rule: Rule, blocks: Sequence[Indices], of_sample: Squares) -> Array:
    """Return the largest squared distance of a neighbor for each row of the input (n); NaN for one not checked."""
    size, asked = len(subject.given.values), subject.neighborhood
    k = min(asked.least, size - 1)
    bounds = np.full(size, np.nan if k else asked.farthest**2)
    for block in blocks if k else ():
        places = _input_rows(subject, block)
        squares = of_sample(subject, places)[0]
        bounds[places] = np.partition(squares, k - 1, axis=1)[:, k - 1]
        if rule != "lists" and len(blocks) == 1:  # a sample: also bounds of a few other ends, where they decide
            matter = joined(block) | (squares <= bounds[places, None] if rule == "mutual" else False)
            few = np.flatnonzero(matter.any(axis=0) & np.isnan(bounds))[: max(4, 2 * len(block))]
            bounds[few] = np.partition(squares_of(subject, few)[0], k - 1, axis=1)[:, k - 1]
    return bounds


def _input_rows(subject: Subject, rows: Indices) -> Indices:
    """Return the indices among the input's rows of some embedded rows."""
    return rows if subject.model.kept is None else subject.model.kept[rows]


def _shared_squares(subject: Subject, places: Indices) -> tuple[Array, Array | float]:
    """Return `squares_of`, shared with the next run of a sweep where the metric is Euclidean."""
    if not metric_of(subject.given).plain:
        return squares_of(subject, places)
    given = subject.given.values, places, type(subject.given).__name__
    return memoize("checked squares", given, lambda: squares_of(subject, places))


def squares_of(subject: Subject, places: Indices) -> tuple[Array, Array | float]:
    """Return squared distances from rows of the input to all of them, and how far two formulas may differ.

    `places` is an (m,) array of rows; returns an (m, n) array, infinite from a row to itself, and an array or a number.
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
