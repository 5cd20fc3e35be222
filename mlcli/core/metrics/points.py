"""Points with a metric: the input of a method where distances are not Euclidean."""

from dataclasses import field, replace
from typing import Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Joined, Labeled, Spatial, TwoViews
from mlcli.base.values.scaling import Unit
from mlcli.core.distances import BLOCK
from mlcli.core.metrics import EUCLIDEAN, AnyMetric, FittedMetric, Metric
from mlcli.core.metrics.distances import distances_cost, squared
from mlcli.core.metrics.domain import require_domain

__all__ = ["EUCLIDEAN", "AnyMetric", "MetricFeatures", "is_euclidean", "metric_of", "seconds_of_squares", "squares",
           "training_points", "with_metric", "with_metric_of"]


@frozen
class MetricFeatures(Features):
    """Points with a metric; lengths carry the metric's power of the values' unit."""

    metric: FittedMetric = field(default=EUCLIDEAN, kw_only=True)
    values_in: Unit = field(default=Unit(), kw_only=True)  # the unit of the values

    @property
    def value_unit(self) -> Unit:
        """The unit of the values."""
        return self.values_in

    def normalized(self, reach: int = 0) -> Self:
        """Return the points with their largest size in [0.5, 1), where the metric allows scaling."""
        return super().normalized(reach) if self.metric.scalable else self

    def over(self, factor: Unit) -> Self:
        """Return the points with values divided by a factor."""
        return replace(super().over(factor), values_in=self.values_in * factor)

    def length_unit(self, factor: Unit) -> Unit:
        """Return the unit of lengths: the metric's power of a unit of values."""
        return factor**self.metric.unit_power

    def plain_rows(self, rows: Array, power: int) -> Array:
        """Convert rows (d x q), one for each column, from this power of the values' unit to plain numbers (d x q)."""
        return (self.values_in**power).plain(rows)


@frozen
class MetricViews(TwoViews, MetricFeatures):
    """Points with a metric, and a second view of them."""


@frozen
class MetricLabels(Labeled, MetricFeatures):
    """Points with a metric, and their classes."""


def with_metric(metric: Metric, data: Input) -> Input:
    """Return features with the metric, after a check of its domain; other data as it is. Raises DataError outside."""
    if metric.plain or not isinstance(data, Features):
        return data
    require_domain(metric, data)
    fitted = metric.fitted(data.values, data.categories)
    if isinstance(data, TwoViews):
        return MetricViews(data.values, data.ids, data.columns, data.view, categories=data.categories, metric=fitted)
    if isinstance(data, Labeled):
        return MetricLabels(data.values, data.ids, data.columns, data.labels, categories=data.categories, metric=fitted)
    return MetricFeatures(data.values, data.ids, columns=data.columns, categories=data.categories, metric=fitted)


def with_metric_of(data: Input, other: Input) -> Input:
    """Return some of `other`'s rows, given as plain features, with its metric and the parameters from all rows."""
    metric = metric_of(other)
    if metric.plain or not isinstance(data, Features):
        return data
    return MetricFeatures(data.values, data.ids, columns=data.columns, metric=metric)


def metric_of(data: Input) -> FittedMetric:
    """Return the metric of the data: Euclidean unless the data carries one."""
    return data.metric if isinstance(data, MetricFeatures) else EUCLIDEAN


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
