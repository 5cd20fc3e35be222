"""Witnesses: rows of a similarity's kernel, computed again from the input.

They check the fit, so they share no code with it: distances, kernel values and corrections have formulas of their own,
and paths are proven shortest.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.memo import recall
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Dissimilarities, Features, Given, Similarities
from mlcli.core.check.metrics import CACHED, NARROW, bounded_distances, squared
from mlcli.core.graph.graph import Graph
from mlcli.core.kernels.corrections import Correction
from mlcli.core.metrics import RowMetric
from mlcli.core.paths.geodesics import dijkstra_rows
from mlcli.core.similarities.base import Similarity

if TYPE_CHECKING:
    from mlcli.core.kernels.functions import Function, Gaussian, LaplacianKernel
    from mlcli.core.kernels.sums import KernelSum

NUMBER = 4e-9  # seconds for one number of one column, summed
PROVABLE = 1e-9  # share of the longest path that each edge exceeds where the lengths of the fit are proven
PATH = 4e-8  # seconds that a heap takes for one vertex or edge
SOME, TINY = 8, 1e-300  # rows from which the rounding of distances is estimated, and a distance above zero
COLUMN = 3  # time of another metric per column, over that of a Euclidean distance


@frozen
class Witness:
    """A kernel among the points that were fitted, before it is centered."""

    rows: Callable[[Indices], Array]  # rows by number (m x n)
    diagonal: Array
    cost: float  # seconds for a row
    how: str
    noise: float = 8 * EPS  # relative rounding of an entry


def of_similarity(similarity: Similarity, data: Given, fit: Indices, full: bool) -> Witness | None:
    """Return the kernel that a similarity has rows of, among the rows of the data in an (n,) array `fit`.

    None where it is none of the data's kernels. With `full` every row is checked, so speed matters.
    """
    from mlcli.core.similarities.base import Columns
    from mlcli.core.similarities.kernels import Distances, GivenDistances, KernelValues

    if isinstance(similarity, Columns):
        return of_matrix(data.values) if isinstance(data, Similarities) else None
    if isinstance(similarity, KernelValues):
        if not isinstance(data, Features):
            return None
        function: Any = similarity.function
        points = data.values - similarity.origin
        return of_function(function, points) if similarity.metric.plain else of_radial(
            similarity.metric, function.rate, points)
    if isinstance(similarity, Distances):
        if not isinstance(data, Features):
            return None
        points = data.values[fit]
        return (of_points(points, similarity.correction) if similarity.metric.plain
                else of_metric(similarity.metric, points, similarity.correction))
    if isinstance(similarity, GivenDistances):
        if not isinstance(data, Dissimilarities):
            return None
        values = data.values if similarity.landmarks is None else data.values[np.ix_(fit, fit)]
        return of_dissimilarities(values, similarity.correction)
    from mlcli.core.similarities.path_lengths import PathLengths

    if isinstance(similarity, PathLengths):
        return of_paths(similarity.graph, fit, full)
    from mlcli.core.similarities.of_distances import OfDistances

    if isinstance(similarity, OfDistances):
        source = of_similarity(similarity.base, data, fit, full)
        return None if source is None else of_other_distances(similarity.function, source)
    return None


def of_other_distances(function: "Gaussian | LaplacianKernel", source: Witness) -> Witness:
    """Return the witness of a kernel function of distances, by its formula of the witness of -δ²/2."""
    rate, power = function.rate or 0.0, function.exponent

    def rows(chosen: Indices) -> Array:
        return np.exp(-rate * np.sqrt(-2 * source.rows(chosen)) ** power)

    return replace(source, rows=rows, diagonal=np.ones(len(source.diagonal)), noise=8 * source.noise,
                   how=f"{function.name} kernel by its formula: {source.how}")


def of_matrix(kernel: Array) -> Witness:
    """Return the witness of a given (n, n) kernel."""
    return Witness(lambda chosen: kernel[chosen], np.diag(kernel).copy(), NUMBER * len(kernel),
                   "rows of the kernel that was given", noise=EPS)


def of_function(function: "Function | KernelSum", points: Array) -> Witness:
    """Return the witness of a kernel function over an (n, d) array of points, by its formula."""
    from mlcli.core.kernels.sums import KernelSum

    if isinstance(function, KernelSum):
        return of_sum(function, points)
    return Witness(lambda chosen: kernel_values(function, points[chosen], points), kernel_diagonal(function, points),
                   NUMBER * points.size, f"rows of the {function.name} kernel by its formula",
                   noise=8 * getattr(function, "degree", 1) * EPS)


def of_sum(function: "KernelSum", points: Array) -> Witness:
    """Return the witness of a sum of kernels over an (n, d) array of points, by the formula of each."""
    parts = [(float(weight), of_table(function, number, points))
             for number, weight in enumerate(function.weights) if weight]
    few = np.arange(min(len(points), SOME))
    sizes = [abs(weight) * max(float(np.abs(part.rows(few)).max(initial=0.0)),
                               float(np.abs(part.diagonal).max(initial=0.0))) for weight, part in parts]
    whole = max(float(np.abs(sum(weight * part.rows(few) for weight, part in parts)).max(initial=0.0)), TINY)
    noise = sum(size * part.noise for size, (_, part) in zip(sizes, parts, strict=True)) / whole
    return Witness(lambda chosen: np.asarray(sum(weight * part.rows(chosen) for weight, part in parts)),
                   np.asarray(sum(weight * part.diagonal for weight, part in parts)),
                   sum(part.cost for _, part in parts), "rows of the sum of kernels, each by its formula", noise=noise)


def of_table(function: "KernelSum", number: int, points: Array) -> Witness:
    """Return the witness of the kernel of one table of a sum, over an (n, d) array of points."""
    own = function.owners == number
    rows = (points[:, own] - function.means[own]) / function.scales[own]
    part: Any = function.functions[number]
    metric: RowMetric | None = getattr(part, "metric", None)
    if part.name == "gower":
        none = Correction("none", 0.0)
        return of_points(rows, none) if metric is None or metric.plain else of_metric(metric, rows, none)
    return of_function(part, rows) if metric is None else of_radial(metric, part.rate, rows)


def of_radial(metric: RowMetric, rate: float, points: Array) -> Witness:
    """Return the witness of the gaussian kernel of a metric's distances between rows of an (n, d) array."""
    some = bounded_distances(metric, points[:SOME], points)
    noise = 2 * rate * float((some.distances * some.errors).max(initial=0.0))
    return Witness(lambda chosen: np.exp(-rate * bounded_distances(metric, points[chosen], points).distances ** 2),
                   np.ones(len(points)), NUMBER * COLUMN * points.size, "rows of the gaussian kernel by its formula",
                   noise=8 * EPS + noise)


def of_points(points: Array, correction: Correction) -> Witness:
    """Return the witness of -δ²/2 for the distances between rows of an (n, d) array."""
    wide, columns = 1 if points.shape[1] <= NARROW else 4, min(points.shape[1], NARROW)
    return _of_squares(lambda chosen: squared(points[chosen], points), correction, len(points), columns, wide)


def of_metric(metric: RowMetric, points: Array, correction: Correction) -> Witness:
    """Return the witness of -δ²/2 for the distances under a metric between rows of an (n, d) array."""
    some = bounded_distances(metric, points[:SOME], points)
    noise = 2 * float(some.errors.max(initial=0.0)) / max(float(some.distances.max(initial=0.0)), TINY)
    found = _of_squares(lambda chosen: bounded_distances(metric, points[chosen], points).distances ** 2, correction,
                        len(points), COLUMN * points.shape[1], 1)
    return replace(found, noise=max(found.noise, noise))


def of_dissimilarities(values: Array, correction: Correction) -> Witness:
    """Return the witness of -δ²/2 for an (n, n) array of dissimilarities."""
    return _of_squares(lambda chosen: values[chosen] ** 2, correction, len(values), 1, 1)


def _of_squares(squares: Callable[[Indices], Array], correction: Correction, size: int, columns: int,
                wide: int) -> Witness:
    """Return the witness of -δ²/2 with the correction off the diagonal."""

    def rows(chosen: Indices) -> Array:
        squared = corrected(squares(chosen), correction.rule if correction.constant else "none", correction.constant)
        squared[np.arange(len(chosen)), chosen] = 0.0
        return -0.5 * squared

    return Witness(rows, np.zeros(size), NUMBER * size * columns, "-δ²/2 from the input", noise=8 * wide * EPS)


def of_paths(graph: Graph, fit: Indices, full: bool) -> Witness:
    """Return the witness of -δ²/2 for shortest paths on the model's graph, of the points in an (n,) array `fit`.

    The graph itself is checked against the input elsewhere.
    """

    def rows(chosen: Indices) -> Array:
        paths = (every_path if full else shortest)(graph, fit[chosen])
        return -0.5 * (paths if len(fit) == graph.size else paths[:, fit]) ** 2

    cost = PATH * (graph.size + len(graph.indices))
    return Witness(rows, np.zeros(len(fit)), cost, "-δ²/2 of shortest paths on the model's graph", noise=64 * EPS)


OF_PRODUCTS: dict[str, Callable[[Any, Array], Array]] = {
    "linear": lambda function, products: products,
    "polynomial": lambda function, products: (function.gamma * products + function.coef0) ** function.degree,
    "sigmoid": lambda function, products: np.tanh(function.gamma * products + function.coef0)}
OF_POINTS: dict[str, Callable[[Any, Array, Array], Array]] = {  # these are one from a point to itself
    "gaussian": lambda function, left, right: np.exp(-function.rate * squared(left, right)),
    "cosine": lambda function, left, right: (left @ right.T) / np.outer(lengths(left), lengths(right))}


def lengths(points: Array) -> Array:
    """Return the norms of the rows of an (n, d) array, an (n,) array."""
    return np.asarray(np.sqrt(np.sum(points**2, axis=1)))


def kernel_values(function: "Function", left: Array, right: Array) -> Array:
    """Return values (m x n) of a kernel function, from its formula."""
    if function.name in OF_PRODUCTS:
        return OF_PRODUCTS[function.name](function, left @ right.T)
    return OF_POINTS[function.name](function, left, right)


def kernel_diagonal(function: "Function", points: Array) -> Array:
    """Return each point's value with itself, an (n,) array, from the function's formula."""
    if function.name in OF_PRODUCTS:
        return OF_PRODUCTS[function.name](function, np.einsum("ij,ij->i", points, points))
    return np.ones(len(points))


def corrected(values: Array, rule: str, constant: float) -> Array:
    """Return squared dissimilarities (an array of any shape) with a constant added to the squares or roots.

    It is added to the squares by `lingoes`, and to the roots by `cailliez`.
    """
    if rule == "lingoes":
        return values + 2 * constant
    return values if rule == "none" else (np.sqrt(values) + constant) ** 2


def every_path(graph: Graph, sources: Indices) -> Array:
    """Return path lengths from some vertices to all (m x n), by SciPy's Dijkstra."""
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(graph.matrix(), indices=sources))


def shortest(graph: Graph, sources: Indices) -> Array:
    """Return path lengths from some vertices to all (m x n), proven: NaN for a source that fails the proof.

    Lengths are shortest if each is the least of its neighbors' lengths plus the edge between (Bellman, 1958), by
    whatever code they were computed: the fit's serve where it kept them and they pass.
    """
    paths, known = np.empty((len(sources), graph.size)), _paths_of_fit(graph)

    def prove(part: slice) -> None:
        some = sources[part]
        rows = paths[part] = dijkstra_rows(graph, some) if known is None else known[some]
        failed = np.flatnonzero(~_proven(graph, rows, some))
        if known is not None and len(failed):
            rows[failed] = dijkstra_rows(graph, some[failed])
            failed = failed[~_proven(graph, rows[failed], some[failed])]
        paths[part] = rows
        paths[part][failed] = np.nan

    each(prove, row_blocks(len(sources), CACHED, len(graph.indices)))
    return paths


def _paths_of_fit(graph: Graph) -> Array | None:
    """Return the path lengths between all vertices (n x n) that the run at hand has computed; None without them.

    The proof needs edges whose lengths are more than rounding: along shorter ones any length could go in a circle.
    """
    known = recall("distances", graph.parts)
    if known is None or known.dtype != np.float64 or not len(graph.lengths):
        return None
    return known if graph.lengths.min() > PROVABLE * known.max() else None


def _proven(graph: Graph, rows: Array, sources: Indices) -> AnyArray:
    """Return whether path lengths (m x n) from some vertices to all are shortest, an (m,) array."""
    least, joined = np.full(rows.shape, np.inf), np.flatnonzero(np.diff(graph.starts))
    if len(joined):
        through = rows.take(graph.indices, axis=1)
        through += graph.lengths
        least[:, joined] = np.minimum.reduceat(through, graph.starts[joined], axis=1)
    least[np.arange(len(rows)), sources] = 0.0
    with np.errstate(invalid="ignore"):  # infinite lengths to other pieces
        return np.all((np.abs(rows - least) <= 8 * EPS * least) | (rows == least), axis=1)
