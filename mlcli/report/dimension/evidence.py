"""What the rules go by, taken from a fitted model and its input; only the points looked at are copied."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mlcli.base.inputs import Covariance, Dissimilarities, Features, Input, Similarities
from mlcli.base.scaling import all_finite, scaled
from mlcli.base.threads import allowed, in_order
from mlcli.base.types import Array, Indices
from mlcli.methods.base import Method, Model, existing
from mlcli.report.dimension.verdict import Evidence
from mlcli.stages.corrections import Correction
from mlcli.stages.distances import squared_distances
from mlcli.stages.geodesics import dijkstra_rows
from mlcli.stages.graph import Graph
from mlcli.stages.nearest import nearest, nearest_in_matrix
from mlcli.stages.similarities import Barycenters, Distances, Geodesics, GivenDistances, KernelValues

ROOM, FEWEST = 2**20, 2000  # numbers of a sample of the rows of PCA, and rows of it
Points = Features | Dissimilarities | Similarities
Pairs = Callable[[Indices, Indices], Array]  # distances from some points to some (s x t), in any unit


def evidence_of(method: Method, model: Model, data: Input, seed: int) -> Evidence:
    """The evidence of a run; `data` holds the rows that were embedded."""
    if isinstance(data, Covariance) or not all_finite(data.values):  # no points, or none without a gap to measure from
        return Evidence(method.name, model.spectrum, model.embedding, None, 1, None, None, seed, method.ranked_by)
    width = data.values.shape[1] if isinstance(data, Features) else 1
    found = Evidence(method.name, model.spectrum, axes_of(model), None, width, kept_distances(model, data),
                     lambda rows, count: nearest_among(data, rows, count), seed, method.ranked_by)
    if not found.of_columns:
        return found
    most = max(ROOM // max(width, 1), FEWEST)
    some = data.values if found.size <= most else data.values[found.sample(most)]
    return replace(found, points=scaled(some, -existing(model.projector).exponent_in))


def axes_of(model: Model) -> Array:
    """Coordinates on the kept axes and on further ones that were computed (n x q), in the units of `solved`."""
    kept, further = scaled(model.embedding, -existing(model.projector).exponent_out), model.spectrum.further
    if len(further) != len(kept):
        return kept  # landmarks only, or none
    first = kept.shape[1]
    return np.column_stack([kept, further * np.sqrt(model.spectrum.solved[first: first + further.shape[1]])])


def kept_distances(model: Model, data: Points) -> Pairs | None:
    """The distances that the method set out to keep; None for one that keeps none."""
    similarity = existing(model.projector).similarity
    if model.unfolded is not None:
        factor = model.unfolded.factor
        return lambda sources, targets: np.sqrt(squared_distances(factor[sources], factor[targets]))
    if isinstance(similarity, Barycenters):
        return None
    if isinstance(similarity, Geodesics):
        graph = similarity.graph
        return lambda sources, targets: geodesics(graph, sources)[:, targets]
    if isinstance(similarity, KernelValues):
        return lambda sources, targets: function_distances(similarity, sources, targets)
    if isinstance(similarity, Distances | GivenDistances) and similarity.correction.constant:
        return lambda sources, targets: corrected(similarity.correction, model, input_distances(data, sources, targets))
    return lambda sources, targets: input_distances(data, sources, targets)


def geodesics(graph: Graph, sources: Indices) -> Array:
    """Shortest paths from some points to all (s x n), on all threads."""
    parts = np.array_split(sources, min(len(sources), 4 * allowed()))
    return np.concatenate(list(in_order(lambda part: dijkstra_rows(graph, part), parts)))


def corrected(correction: Correction, model: Model, distances: Array) -> Array:
    """Dissimilarities as the method saw them, with its constant added to all but zeros."""
    return np.sqrt(correction.squared(scaled(distances, -existing(model.projector).exponent_in) ** 2))


def function_distances(similarity: KernelValues, sources: Indices, targets: Indices) -> Array:
    """Distances in the feature space of a kernel function."""
    function, left, right = similarity.function, similarity.points[sources], similarity.points[targets]
    return from_products(function(left, right), function.diagonal(left), function.diagonal(right), sources, targets)


def input_distances(data: Points, sources: Indices, targets: Indices) -> Array:
    """The input's own distances; for features in the unit of their largest number among these."""
    if isinstance(data, Dissimilarities):
        return data.values[np.ix_(sources, targets)]
    if isinstance(data, Similarities):
        own = np.diag(data.values)
        return from_products(data.values[np.ix_(sources, targets)], own[sources], own[targets], sources, targets)
    right = data.take(targets).normalized()
    left = data.take(sources)
    return np.sqrt(squared_distances(scaled(left.values, -right.exponent), right.values))


def from_products(products: Array, left: Array, right: Array, sources: Indices, targets: Indices) -> Array:
    """The roots of K_ii + K_jj - 2 K_ij, exactly zero from a point to itself."""
    squared = np.maximum(left[:, None] + right - 2 * products, 0.0)
    squared[sources[:, None] == targets] = 0.0
    return np.sqrt(squared)


def nearest_among(data: Points, rows: Indices, count: int) -> Array:
    """Distances to the nearest others among some points (m x k), each of the places of duplicates once."""
    if not isinstance(data, Features):
        return nearest_in_matrix(input_distances(data, rows, rows), count, own=True).lengths.reshape(-1, count)
    points = data.take(rows).normalized().values
    lengths = nearest(points, count).lengths.reshape(-1, count)
    if lengths[:, 0].all():
        return lengths
    places = np.unique(points, axis=0)
    count = min(count, len(places) - 1)
    return nearest(places, count).lengths.reshape(-1, count) if count else np.empty((0, 0))
