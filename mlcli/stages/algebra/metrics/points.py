"""Points under a metric: what a method is given where distances are not Euclidean."""

from dataclasses import field, replace
from typing import Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Spatial
from mlcli.base.values.scaling import Unit
from mlcli.stages.algebra.metrics import EUCLIDEAN, AnyMetric, Fitted, Metric
from mlcli.stages.algebra.metrics.blocks import squared
from mlcli.stages.algebra.metrics.contrast import require_domain
from mlcli.stages.algebra.metrics.costs import distances_cost

__all__ = ["EUCLIDEAN", "AnyMetric", "Compared", "alike", "metric_of", "seconds_of_squares", "squares", "straight",
           "training", "under"]


@frozen
class Compared(Features):
    """Points that a metric compares; lengths carry the power of the values' unit that the metric says."""

    metric: Fitted = field(default=EUCLIDEAN, kw_only=True)
    values_in: Unit = field(default=Unit(), kw_only=True)  # what the values are measured in

    @property
    def value_unit(self) -> Unit:
        """The unit of the values."""
        return self.values_in

    def normalized(self, reach: int = 0) -> Self:
        """The same points with their largest size in [0.5, 1), where the metric lets them be scaled."""
        return super().normalized(reach) if self.metric.scalable else self

    def over(self, factor: Unit) -> Self:
        """The same points with values smaller by a factor."""
        return replace(super().over(factor), values_in=self.values_in * factor)

    def length_unit(self, factor: Unit) -> Unit:
        """The power of a unit of values that lengths carry."""
        return factor**self.metric.unit_power


def under(metric: Metric, data: Input) -> Input:
    """The data as the metric compares it: features within its domain, raising DataError outside; all else as it is."""
    if metric.plain or not isinstance(data, Features):
        return data
    require_domain(metric, data)
    return Compared(data.values, data.ids, columns=data.columns, categories=data.categories,
                    metric=metric.fitted(data.values, data.categories))


def alike(data: Input, other: Input) -> Input:
    """Some of other data's rows, as plain features, under its metric with what that has learned of all rows."""
    metric = metric_of(other)
    if metric.plain or not isinstance(data, Features):
        return data
    return Compared(data.values, data.ids, columns=data.columns, metric=metric)


def metric_of(data: Input) -> Fitted:
    """The metric that compares the points: Euclidean where nothing else is said."""
    return data.metric if isinstance(data, Compared) else EUCLIDEAN


def straight(data: Input) -> bool:
    """Whether distances are Euclidean ones of coordinates that the data holds."""
    return isinstance(data, Features) and metric_of(data).plain


def training(data: Spatial) -> tuple[Array | None, Fitted]:
    """What new points are compared with, and how: no points where new dissimilarities will be given."""
    return (data.values if isinstance(data, Features) else None), metric_of(data)


def squares(data: Spatial) -> Array:
    """Squared distances of all points (n x n), as they are given or by the metric."""
    if isinstance(data, Dissimilarities):
        return np.asarray(data.values**2)
    return squared(metric_of(data), data.values, data.values)


def seconds_of_squares(data: Spatial, count: int, threads: int) -> float:
    """What that would take for so many points of the data."""
    given = isinstance(data, Dissimilarities)
    return 0.0 if given else distances_cost(metric_of(data), count, data.values.shape[1], threads)
