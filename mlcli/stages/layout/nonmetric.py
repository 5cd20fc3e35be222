"""Stress-1 of ranks and its gradient (Kruskal, 1964), for non-metric scaling."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.stages.layout.disparities import Order

USUAL = 100  # iterations of most fits
PASSES = 16  # numbers of a pair that an evaluation touches, in functions of one distance


@frozen
class Ranks:
    """The squared stress of coordinates, Σ w (d - d̂)² / Σ w d² with d̂ the disparities of the distances d."""

    order: Order
    size: int  # u, the number of points

    def __call__(self, numbers: Array) -> tuple[float, Array]:
        """Return the squared stress and its gradient (u p) at coordinates, a (u p,) array.

        Disparities are at their best for the distances, so that their own change adds nothing to the gradient. Points
        in one place exert no force on each other.
        """
        points = numbers.reshape(self.size, -1)
        gaps, distances, disparities = self.fit(points)
        errors = distances - disparities
        weighted = errors if self.order.weights is None else errors * self.order.weights
        spread = float(distances @ (distances if self.order.weights is None else distances * self.order.weights))
        if spread == 0:
            return 0.0, np.zeros_like(numbers)
        stress = float(errors @ weighted) / spread
        moved = distances if self.order.weights is None else distances * self.order.weights
        force = np.divide(weighted - stress * moved, distances, out=np.zeros_like(distances), where=distances > 0)
        slope = np.empty_like(points)
        for axis, gap in enumerate(gaps):
            pull = force * gap
            slope[:, axis] = np.bincount(self.order.left, pull, self.size) - np.bincount(
                self.order.right, pull, self.size)
        return stress, (2 / spread * slope).ravel()

    def fit(self, points: Array) -> tuple[list[Array], Array, Array]:
        """Return the differences on each axis (p arrays of m), distances (m) and disparities (m) of points (u x p)."""
        gaps = [column[self.order.left] - column[self.order.right] for column in np.ascontiguousarray(points.T)]
        distances = np.sqrt(sum((gap**2 for gap in gaps), np.zeros(len(self.order.left))))
        return gaps, distances, self.order.disparities(distances)
