"""The gaussian kernel of a metric's distances, which is not a function of inner products."""

from typing import Any, ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.scaling import Unit
from mlcli.core.kernels import median
from mlcli.core.kernels.functions import Function, note_rate
from mlcli.core.metrics import FittedMetric
from mlcli.core.metrics.distances import in_tiles, squared


@stored("radial")
@frozen
class Radial:
    """exp(-rate d²) with the distance d of a metric."""

    metric: FittedMetric
    rate: float
    name: ClassVar[str] = "gaussian"
    movable: ClassVar[bool] = False
    exponential: ClassVar[bool] = False

    @classmethod
    def of(cls, kernel: Any, metric: FittedMetric, points: Array, unit: Unit) -> "Radial":
        """Return the gaussian kernel under a metric, a default rate fixed from an (n, d) array of points; lengths in
        `unit`.
        """
        if kernel.rate is not None:
            return cls(metric, kernel.rate)
        middle = median.median_square(metric, points)
        if not middle:
            return cls(metric, 1.0)
        note_rate(1 / middle, unit)
        return cls(metric, 1 / middle)

    def __call__(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values for all pairs."""
        return self._of_squares(squared(self.metric, left, right))

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array of ones, for an (n, d) array of points."""
        return np.ones(len(points))

    def factors(self, points: Array) -> tuple[Array, Array]:
        """Return the rows of an (n, d) array as the metric compares them, for both sides."""
        rows = self.metric.represent(points)
        return rows, rows

    def tile(self, left: AnyArray, right: AnyArray) -> Any:
        """Return values from factors of two blocks of points, on one thread."""
        distances = in_tiles(self.metric, left, right)
        return self._of_squares(np.square(distances, out=distances))

    block = tile

    def narrow(self, points: Array) -> bool:
        """Whether single precision is enough for (n, d) points: no, distances are computed in double precision."""
        return False

    def _of_squares(self, squares: Array) -> Array:
        squares *= -self.rate
        return np.exp(squares, out=squares)


def fix_defaults(kernel: Function, metric: FittedMetric, points: Array, unit: Unit) -> Function | Radial:
    """Return a kernel function with defaults fixed from an (n, d) array of points; the gaussian one under `metric`."""
    return kernel.for_points(points, unit) if metric.plain else Radial.of(kernel, metric, points, unit)


def rate_step(metric: FittedMetric, shape: tuple[int, ...], threads: int) -> Step:
    """Return the cost of the median distance of data of this shape."""
    rows, columns = shape
    if metric.plain:
        return median.euclidean_median_step(rows, columns, threads)
    return median.metric_median_step(metric, rows, columns, threads)
