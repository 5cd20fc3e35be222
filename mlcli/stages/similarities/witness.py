"""Witnesses: rows of the kernel that a similarity stands for, computed again from the input.

They check the fit, so they share nothing with it: distances, kernel values and corrections have
formulas of their own, and paths are proven.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.stages.algebra.metrics import Fitted
from mlcli.stages.graph.graph import Graph
from mlcli.stages.kernels.corrections import Correction
from mlcli.stages.kernels.functions import Function
from mlcli.stages.paths.geodesics import dijkstra_rows
from mlcli.stages.similarities.metric_witness import apart
from mlcli.stages.similarities.squares import CACHED, NARROW, squared

NUMBER = 4e-9  # seconds for one number of one column, summed
PATH = 4e-8  # seconds that a heap takes for one vertex or edge
SOME, TINY = 8, 1e-300  # rows by which the rounding of distances is estimated, and a distance above zero
COLUMN = 3  # times as long as a Euclidean distance that one of another metric takes for each column


@frozen
class Witness:
    """A kernel among the points that carried a fit, before it is centered."""

    rows: Callable[[Indices], Array]  # some rows of it (m x n)
    diagonal: Array
    cost: float  # seconds for a row
    how: str
    noise: float = 8 * EPS  # relative rounding of an entry


def of_matrix(kernel: Array) -> Witness:
    """A kernel that was given."""
    return Witness(lambda chosen: kernel[chosen], np.diag(kernel).copy(), NUMBER * len(kernel),
                   "rows of the kernel that was given", noise=EPS)


def of_function(function: Function, points: Array) -> Witness:
    """The kernel of a function, by its formula."""
    return Witness(lambda chosen: kernel_values(function, points[chosen], points), kernel_diagonal(function, points),
                   NUMBER * points.size, f"rows of the {function.name} kernel by its formula",
                   noise=8 * getattr(function, "degree", 1) * EPS)


def of_radial(metric: Fitted, rate: float, points: Array) -> Witness:
    """The gaussian kernel of a metric's distances."""
    some = apart(metric, points[:SOME], points)
    noise = 2 * rate * float((some.distances * some.errors).max(initial=0.0))
    return Witness(lambda chosen: np.exp(-rate * apart(metric, points[chosen], points).distances ** 2),
                   np.ones(len(points)), NUMBER * COLUMN * points.size, "rows of the gaussian kernel by its formula",
                   noise=8 * EPS + noise)


def of_points(points: Array, correction: Correction) -> Witness:
    """-δ²/2 of the distances between points."""
    wide, columns = 1 if points.shape[1] <= NARROW else 4, min(points.shape[1], NARROW)
    return _of_squares(lambda chosen: squared(points[chosen], points), correction, len(points), columns, wide)


def of_metric(metric: Fitted, points: Array, correction: Correction) -> Witness:
    """-δ²/2 of the distances between points under a metric."""
    some = apart(metric, points[:SOME], points)
    noise = 2 * float(some.errors.max(initial=0.0)) / max(float(some.distances.max(initial=0.0)), TINY)
    found = _of_squares(lambda chosen: apart(metric, points[chosen], points).distances ** 2, correction, len(points),
                        COLUMN * points.shape[1], 1)
    return replace(found, noise=max(found.noise, noise))


def of_dissimilarities(values: Array, correction: Correction) -> Witness:
    """-δ²/2 of dissimilarities that were given."""
    return _of_squares(lambda chosen: values[chosen] ** 2, correction, len(values), 1, 1)


def _of_squares(squares: Callable[[Indices], Array], correction: Correction, size: int, columns: int,
                wide: int) -> Witness:
    """-δ²/2 with the correction off the diagonal."""

    def rows(chosen: Indices) -> Array:
        squared = corrected(squares(chosen), correction.rule if correction.constant else "none", correction.constant)
        squared[np.arange(len(chosen)), chosen] = 0.0
        return -0.5 * squared

    return Witness(rows, np.zeros(size), NUMBER * size * columns, "-δ²/2 from the input", noise=8 * wide * EPS)


def of_paths(graph: Graph, fit: Indices, full: bool) -> Witness:
    """-δ²/2 of shortest paths on the graph that the model holds, and which is itself checked against the input."""

    def rows(chosen: Indices) -> Array:
        paths = (every_path if full else shortest)(graph, fit[chosen])
        return -0.5 * (paths if len(fit) == graph.size else paths[:, fit]) ** 2

    cost = PATH * (graph.size + len(graph.indices))
    return Witness(rows, np.zeros(len(fit)), cost, "-δ²/2 of shortest paths on the model's graph", noise=64 * EPS)


OF_PRODUCTS: dict[str, Callable[[Any, Array], Array]] = {
    "linear": lambda function, products: products,
    "polynomial": lambda function, products: (function.gamma * products + function.coef0) ** function.degree,
    "sigmoid": lambda function, products: np.tanh(function.gamma * products + function.coef0)}
OF_POINTS: dict[str, Callable[[Any, Array, Array], Array]] = {  # one from a point to itself
    "gaussian": lambda function, left, right: np.exp(-function.rate * squared(left, right)),
    "cosine": lambda function, left, right: (left @ right.T) / np.outer(lengths(left), lengths(right))}


def lengths(points: Array) -> Array:
    """The length of each row."""
    return np.asarray(np.sqrt(np.sum(points**2, axis=1)))


def kernel_values(function: Function, left: Array, right: Array) -> Array:
    """Values of a kernel function from its formula."""
    if function.name in OF_PRODUCTS:
        return OF_PRODUCTS[function.name](function, left @ right.T)
    return OF_POINTS[function.name](function, left, right)


def kernel_diagonal(function: Function, points: Array) -> Array:
    """The same of every point with itself."""
    if function.name in OF_PRODUCTS:
        return OF_PRODUCTS[function.name](function, np.einsum("ij,ij->i", points, points))
    return np.ones(len(points))


def corrected(values: Array, rule: str, constant: float) -> Array:
    """Squared dissimilarities with a constant added: to the squares (Lingoes), or to the roots (Cailliez)."""
    if rule == "lingoes":
        return values + 2 * constant
    return values if rule == "none" else (np.sqrt(values) + constant) ** 2


def every_path(graph: Graph, sources: Indices) -> Array:
    """Path lengths from some vertices to all (m x n), by SciPy's Dijkstra."""
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(graph.matrix(), indices=sources))


def shortest(graph: Graph, sources: Indices) -> Array:
    """Path lengths from some vertices to all (m x n), proven: NaN for a source whose lengths are not the shortest.

    Lengths are the shortest where each is the least of its neighbors' with the edge between added (Bellman, 1958).
    """
    paths, joined = np.empty((len(sources), graph.size)), np.flatnonzero(np.diff(graph.starts))

    def prove(part: slice) -> None:
        rows = paths[part] = dijkstra_rows(graph, sources[part])
        least = np.full(rows.shape, np.inf)
        if len(joined):
            least[:, joined] = np.minimum.reduceat(rows[:, graph.indices] + graph.lengths, graph.starts[joined], axis=1)
        least[np.arange(len(rows)), sources[part]] = 0.0
        with np.errstate(invalid="ignore"):  # infinite lengths to other pieces
            proven = np.all((np.abs(rows - least) <= 8 * EPS * least) | (rows == least), axis=1)
        paths[part][~proven] = np.nan

    each(prove, row_blocks(len(sources), CACHED, len(graph.indices)))
    return paths
