"""Rows of the kernel that a model claims to come from, computed again from the input."""

from collections.abc import Callable

import numpy as np

from mlcli.base.blocks import each
from mlcli.base.check import EPS
from mlcli.base.frozen import frozen
from mlcli.base.inputs import Dissimilarities, Features, Similarities
from mlcli.base.types import Array, Indices
from mlcli.certify.recompute import NARROW, corrected, kernel_diagonal, kernel_values, squared
from mlcli.certify.subject import Subject
from mlcli.stages.graph.graph import Graph
from mlcli.stages.paths.geodesics import dijkstra_rows
from mlcli.stages.similarities import Columns, Distances, Geodesics, GivenDistances, KernelValues

NUMBER = 4e-9  # seconds for one number of one column, summed
PATH = 4e-8  # seconds that a heap takes for one vertex or edge


@frozen
class Witness:
    """A kernel among the points that carried a fit, before it is centered."""

    rows: Callable[[Indices], Array]  # some rows of it (m x n)
    diagonal: Array
    cost: float  # seconds for a row
    how: str
    noise: float = 8 * EPS  # relative rounding of an entry


def witness(subject: Subject) -> Witness | None:
    """The kernel that the projector's similarity describes, or None where it cannot be found again from rows."""
    similarity, data = subject.similarity, subject.data
    if data is None or (subject.fit < 0).any():
        return None
    if isinstance(similarity, Columns) and isinstance(data, Similarities):
        return Witness(lambda s: data.values[s], np.diag(data.values).copy(), NUMBER * subject.size,
                       "rows of the kernel that was given", noise=EPS)
    if isinstance(similarity, KernelValues) and isinstance(data, Features):
        return _of_function(similarity, data.values)
    if isinstance(similarity, Distances) and isinstance(data, Features):
        points = data.values[subject.fit]
        wide = 1 if points.shape[1] <= NARROW else 4
        return _of_squares(lambda s: squared(points[s], points), similarity.correction, points, wide)
    if isinstance(similarity, GivenDistances) and isinstance(data, Dissimilarities):
        chosen = data.values[np.ix_(subject.fit, subject.fit)] if similarity.landmarks is not None else data.values
        return _of_squares(lambda s: chosen[s] ** 2, similarity.correction, chosen[:, :1], 1)
    return _of_paths(similarity, subject) if isinstance(similarity, Geodesics) else None


def _of_function(similarity: KernelValues, values: Array) -> Witness | None:
    function, points = similarity.function, values - similarity.origin
    if kernel_values(function, points[:1], points[:1]) is None:
        return None

    def rows(chosen: Indices) -> Array:
        found = kernel_values(function, points[chosen], points)
        return np.zeros((0, 0)) if found is None else found

    degree = getattr(function, "degree", 1)
    return Witness(rows, kernel_diagonal(function, points), NUMBER * points.size,
                   f"rows of the {function.name} kernel by its formula", noise=8 * degree * EPS)


def _of_squares(squares: Callable[[Indices], Array], correction: object, points: Array, wide: int) -> Witness:
    """-δ²/2 with the correction off the diagonal."""
    rule, constant = getattr(correction, "rule", "none"), float(getattr(correction, "constant", 0.0))

    def rows(chosen: Indices) -> Array:
        found = corrected(squares(chosen), rule if constant else "none", constant)
        found[np.arange(len(chosen)), chosen] = 0.0
        return -0.5 * found

    cost = NUMBER * len(points) * min(points.shape[1], NARROW)
    return Witness(rows, np.zeros(len(points)), cost, "-δ²/2 from the input", noise=8 * wide * EPS)


def _of_paths(similarity: Geodesics, subject: Subject) -> Witness:
    """-δ²/2 with δ proven shortest on the graph that the model holds, and which is checked against the input."""
    graph, fit = similarity.graph, subject.fit

    def rows(chosen: Indices) -> Array:
        paths = (every_path if subject.plan.full else shortest)(graph, fit[chosen])
        return -0.5 * (paths if len(fit) == graph.size else paths[:, fit]) ** 2

    cost = PATH * (graph.size + len(graph.indices))
    return Witness(rows, np.zeros(len(fit)), cost, "-δ²/2 of shortest paths on the model's graph",
                   noise=64 * EPS)


def every_path(graph: Graph, sources: Indices) -> Array:
    """Path lengths from some vertices to all (m x n), by SciPy's Dijkstra."""
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(graph.matrix(), indices=sources))


def shortest(graph: Graph, sources: Indices) -> Array:
    """Path lengths from some vertices to all (m x n), proven: NaN for a source whose lengths are not the shortest.

    Lengths are the shortest where each is the least of its neighbors' with the edge between added (Bellman, 1958).
    """
    found, joined = np.empty((len(sources), graph.size)), np.flatnonzero(np.diff(graph.starts))

    def prove(place: int) -> None:
        source, row = int(sources[place]), found[place]
        row[:] = dijkstra_rows(graph, sources[place : place + 1])[0]
        least = np.full(graph.size, np.inf)
        least[joined] = np.minimum.reduceat(row[graph.indices] + graph.lengths, graph.starts[joined]) if len(
            joined) else np.inf
        least[source] = 0.0
        with np.errstate(invalid="ignore"):  # infinite lengths to other pieces
            if not np.all((np.abs(row - least) <= 8 * EPS * least) | (row == least)):
                row[:] = np.nan

    each(prove, range(len(sources)))
    return found
