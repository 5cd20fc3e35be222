"""The gaussian kernel of a metric's distances, which no inner products give."""

from typing import Any, ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.scaling import Unit
from mlcli.stages.algebra.metrics import Fitted
from mlcli.stages.algebra.metrics.blocks import in_tiles, squared
from mlcli.stages.kernels import median_distance, median_under_metric
from mlcli.stages.kernels.functions import Function, note_rate


@stored("radial")
@frozen
class Radial:
    """exp(-rate d²) with the distance d of a metric."""

    metric: Fitted
    rate: float
    name: ClassVar[str] = "gaussian"
    movable: ClassVar[bool] = False

    @classmethod
    def of(cls, kernel: Any, metric: Fitted, points: Array, unit: Unit) -> "Radial":
        """The gaussian kernel under a metric, a default rate fixed from the points; lengths are measured in `unit`."""
        if kernel.rate is not None:
            return cls(metric, kernel.rate)
        middle = median_under_metric.median_square(metric, points)
        if not middle:
            return cls(metric, 1.0)
        note_rate(1 / middle, unit)
        return cls(metric, 1 / middle)

    def __call__(self, left: Array, right: Array) -> Array:
        """Values for all pairs (m x n)."""
        return self._of_squares(squared(self.metric, left, right))

    def diagonal(self, points: Array) -> Array:
        """Each point's value with itself (n)."""
        return np.ones(len(points))

    def factors(self, points: Array) -> tuple[Array, Array]:
        """Points as they are compared."""
        rows = self.metric.represent(points)
        return rows, rows

    def tile(self, left: AnyArray, right: AnyArray) -> Any:
        """Values from factors of two blocks of points, on one thread."""
        distances = in_tiles(self.metric, left, right)
        return self._of_squares(np.square(distances, out=distances))

    block = tile

    def narrow(self, points: Array) -> bool:
        """Distances are found in double precision."""
        return False

    def _of_squares(self, squares: Array) -> Array:
        squares *= -self.rate
        return np.exp(squares, out=squares)


def fixed(kernel: Function, metric: Fitted, points: Array, unit: Unit) -> Function | Radial:
    """A kernel function with its defaults fixed from the points; the gaussian one, of a metric's distances."""
    return kernel.for_points(points, unit) if metric.plain else Radial.of(kernel, metric, points, unit)


def rate_step(metric: Fitted, shape: tuple[int, ...], threads: int) -> Step:
    """What the median distance would cost."""
    rows, columns = shape
    if metric.plain:
        return median_distance.rate_step(rows, columns, threads)
    return median_under_metric.rate_step(metric, rows, columns, threads)
