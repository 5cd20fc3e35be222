"""Distances of a metric among the neighbors of each point, or for a list of pairs, computed on demand."""

import itertools
from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.base.values.metric import FittedMetric
from mlcli.core.distances import pair_distances
from mlcli.core.metrics.base import squared_at
from mlcli.core.metrics.points import is_euclidean, metric_of

Local = Callable[[Indices], Array]  # squared distances (m x k x k) among some points each (m x k)


def local_distances(points: Array, metric: FittedMetric | None) -> Local:
    """Return a function of indices (m x k) that gives squared distances (m x k x k) among the k points of each row.

    `points` are n x d under a metric; without one they are an n x n matrix of dissimilarities.
    """
    if metric is None:
        return lambda names: np.asarray(points[names[:, :, None], names[:, None, :]] ** 2)
    rows, chosen = metric.represent(points), metric

    def squares(names: Indices) -> Array:
        size, count = names.shape
        if chosen.embeds:
            ends = np.repeat(names, count, axis=0)
            lengths = chosen.lengths(squared_at(rows[names.ravel()], rows, ends)).reshape(size, count, count)
        else:
            lengths = np.array([chosen.compare(rows[some], rows[some]) for some in names])
        return np.asarray(np.square(lengths).reshape(size, count, count))

    return squares


def squares_of_pairs(data: Spatial, left: Indices, right: Indices) -> Array:
    """Return squared distances (m) of pairs of points, two (m,) arrays; pairs of one left point are adjacent."""
    if isinstance(data, Dissimilarities):
        return np.asarray(data.values[left, right] ** 2)
    if is_euclidean(data):
        return pair_distances(data.values, data.values, left, right)
    metric = metric_of(data)
    rows, found = metric.represent(data.values), np.empty(len(left))
    cuts = [0, *(np.flatnonzero(np.diff(left)) + 1).tolist(), len(left)]
    for start, stop in itertools.pairwise(cuts):
        found[start:stop] = metric.compare(rows[left[start : start + 1]], rows[right[start:stop]])[0]
    return np.square(found, out=found)
