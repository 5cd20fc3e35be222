"""Distances of a metric between a few points each: among the neighbors of a point, or for pairs, found on demand."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.stages.algebra.distances import pair_distances
from mlcli.stages.algebra.metrics.base import Comparison
from mlcli.stages.algebra.metrics.points import metric_of, straight
from mlcli.stages.algebra.metrics.sums import squared_at

Local = Callable[[Indices], Array]  # squared distances (m x k x k) among some points each (m x k)


def among(points: Array, metric: Comparison | None) -> Local:
    """Squared distances among a few points each, under a metric or by a matrix of dissimilarities."""
    if metric is None:
        return lambda names: np.asarray(points[names[:, :, None], names[:, None, :]] ** 2)
    rows, chosen = metric.represented(points), metric

    def squares(names: Indices) -> Array:
        size, count = names.shape
        if chosen.embeds:
            ends = np.repeat(names, count, axis=0)
            lengths = chosen.lengths(squared_at(rows[names.ravel()], rows, ends)).reshape(size, count, count)
        else:
            lengths = np.array([chosen.compared(rows[some], rows[some]) for some in names])
        return np.asarray(np.square(lengths).reshape(size, count, count))

    return squares


def squares_of_pairs(data: Spatial, left: Indices, right: Indices) -> Array:
    """Squared distances (m) of pairs of points, those of one left point after another."""
    if isinstance(data, Dissimilarities):
        return np.asarray(data.values[left, right] ** 2)
    if straight(data):
        return pair_distances(data.values, data.values, left, right)
    metric = metric_of(data)
    rows, found = metric.represented(data.values), np.empty(len(left))
    cuts = [0, *(np.flatnonzero(np.diff(left)) + 1).tolist(), len(left)]
    for start, stop in pairwise(cuts):
        found[start:stop] = metric.compared(rows[left[start : start + 1]], rows[right[start:stop]])[0]
    return np.square(found, out=found)
