"""The metric of an input, and distances by it."""

from dataclasses import replace

import numpy as np

from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Joined, Spatial
from mlcli.base.values.metric import FittedMetric
from mlcli.core.distances import BLOCK
from mlcli.core.metrics import EUCLIDEAN, AnyMetric, Metric
from mlcli.core.metrics.distances import distances_cost, squared
from mlcli.core.metrics.domain import require_domain

__all__ = ["EUCLIDEAN", "AnyMetric", "is_euclidean", "metric_of", "seconds_of_squares", "squares",
           "training_points", "with_metric", "with_metric_of"]


def with_metric(metric: Metric, data: Input) -> Input:
    """Return features with the metric, after a check of its domain; other data as it is. Raises DataError outside."""
    if metric.plain or not isinstance(data, Features):
        return data
    require_domain(metric, data)
    return replace(data, metric=metric.fitted(data.values, data.categories))


def with_metric_of(data: Input, other: Input) -> Input:
    """Return some of `other`'s rows, given as plain features, with its metric and the parameters from all rows."""
    if is_euclidean(other) or not (isinstance(data, Features) and isinstance(other, Features)):
        return data
    return Features(data.values, data.ids, data.columns, metric=other.metric)


def metric_of(data: Input) -> FittedMetric:
    """Return the metric of the data: Euclidean unless the data carries one."""
    return EUCLIDEAN if not isinstance(data, Features) or data.metric is None else data.metric


def is_euclidean(data: Input) -> bool:
    """Whether distances are Euclidean distances of the data's own coordinates."""
    return isinstance(data, Features) and metric_of(data).plain


def training_points(data: Joined) -> tuple[Array | None, FittedMetric]:
    """Return the training points (n x d) and the metric; None instead of points where the data is dissimilarities."""
    return (data.values if isinstance(data, Features) else None), metric_of(data)


def squares(data: Spatial) -> Array:
    """Return squared distances of all points (n x n), from the dissimilarities or by the metric."""
    if isinstance(data, Dissimilarities):
        found = np.empty(data.values.shape)
        each(lambda rows: np.square(data.values[rows], out=found[rows]), row_blocks(len(found), BLOCK, len(found)))
        return found
    return squared(metric_of(data), data.values, data.values)


def seconds_of_squares(data: Spatial, count: int, threads: int) -> float:
    """Predict the seconds of `squares` for `count` points of the data."""
    given = isinstance(data, Dissimilarities)
    return 0.0 if given else distances_cost(metric_of(data), count, data.values.shape[1], threads)
