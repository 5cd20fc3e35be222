"""Transition probabilities of a random walk from a point to the training points: diffusion maps."""

from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.stages.algebra.metrics import Fitted
from mlcli.stages.similarities.base import Parts, Similarity
from mlcli.stages.similarities.kernels import Distances, GivenDistances


@stored("transitions", widths="c", densities="c")
@frozen
class Transitions(Similarity):
    """p(x, xⱼ) of a walk over the training points: w(x, xⱼ) / qⱼ, divided by their sum over j.

    w(x, y) = exp(-d² / (σ(x) σ(y))), and q is the density at a training point to the power that takes it out.
    Source: Coifman and Lafon, "Diffusion maps", 2006.
    """

    keeps_distances: ClassVar[bool] = False
    base: Distances | GivenDistances  # whose rows are -d²/2
    widths: Array  # n: σ of the training points
    densities: Array  # n: q
    nearest: int  # σ of a point is the distance to so many-th of its nearest training points; 0: that of all

    def rows(self, new: Array) -> Array:
        """Probabilities (m x n) that sum to one."""
        halved = self.base.rows(new)
        widths = self.widths[:1] if self.nearest == 0 else local_widths(halved, self.nearest)
        exponents = 2 * halved / (widths[:, None] * self.widths)
        weights = np.exp(exponents - exponents.max(axis=1, keepdims=True)) / self.densities  # none vanishes far away
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    @property
    def parts(self) -> Parts:
        """Those of the distances."""
        return self.base.parts

    @property
    def source(self) -> Similarity:
        """What finds the distances."""
        return self.base

    def width(self, given: int) -> int:
        """One for each training point."""
        return len(self.widths)

    @property
    def comparison(self) -> Fitted:
        """That of the distances."""
        return self.base.comparison

    def rounding(self, new: Array) -> Array | float:
        """A few roundings of numbers of at most one."""
        return 16 * EPS


def local_widths(halved: Array, nearest: int) -> Array:
    """Distances (m) to the `nearest`-th of the training points, from -d²/2 (m x n); points at no distance count.

    Where that is zero, the least distance above zero stands for it; 1 where there is none.
    """
    place = halved.shape[1] - min(nearest, halved.shape[1])
    squares = -2 * np.partition(halved, place, axis=1)[:, place]
    for row in np.flatnonzero(squares == 0):
        apart = halved[row][halved[row] < 0]
        squares[row] = -2 * apart.max() if len(apart) else 1.0
    return np.sqrt(squares)
