"""Transition probabilities of a random walk from a point to the training points: diffusion maps."""

from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.stages.algebra.metrics import EUCLIDEAN, Fitted
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.neighborhoods import Nearest
from mlcli.stages.graph.scales import local_scales
from mlcli.stages.graph.weights import weight_rows
from mlcli.stages.similarities.base import OfOtherDistances, Parts, Similarity
from mlcli.stages.similarities.kernels import Distances, GivenDistances


@stored("transitions", widths="c", densities="c")
@frozen
class Transitions(OfOtherDistances):
    """p(x, xⱼ) of a walk over the training points: w(x, xⱼ) / qⱼ, divided by their sum over j.

    w(x, y) = exp(-d² / (σ(x) σ(y))), and q is the density at a training point, to the power that removes its effect.
    Source: Coifman and Lafon, "Diffusion maps", 2006.
    """

    keeps_distances: ClassVar[bool] = False
    base: Distances | GivenDistances
    widths: Array  # n: σ of the training points
    densities: Array  # n: q
    nearest: int  # rank of the training neighbor whose distance is σ of a point; 0: one σ for all

    def rows(self, new: Array) -> Array:
        """Return probabilities that sum to one, an (m, n) array, for an (m, d) array of new points."""
        halved = self.base.rows(new)
        widths = self.widths[:1] if self.nearest == 0 else local_widths(halved, self.nearest)
        exponents = 2 * halved / (widths[:, None] * self.widths)
        weights = np.exp(exponents - exponents.max(axis=1, keepdims=True)) / self.densities  # no zero rows
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def width(self, given: int) -> int:
        """Return the number of training points."""
        return len(self.widths)


@stored("edge-transitions", points="nd", widths="n", densities="n")
@frozen
class EdgeTransitions(Similarity):
    """p(x, xⱼ) of a walk to the nearest training points, as `Transitions` has it of all of them.

    A new point has affinities with its k + 1 nearest training points, as a training point has with itself and k others;
    one that equals a training point has that point's.
    """

    keeps_distances: ClassVar[bool] = False
    neighbors: Nearest
    graph: Graph
    points: Array | None  # n x d; None where dissimilarities are given
    widths: Array  # n: σ of the training points
    densities: Array  # n: q
    nearest: int  # rank of the training neighbor whose distance is σ of a point; 0: one σ for all
    metric: Fitted = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return probabilities that sum to one, an (m, n) array, for an (m, d) array of new points."""
        lists = Nearest(self.neighbors.count + 1).of_new(new, self.points, self.metric)
        firsts = lists.starts[:-1]
        widths = (np.broadcast_to(self.widths[0], len(new)) if self.nearest == 0 else
                  local_scales(lists.starts, lists.lengths, self.nearest))
        exponents = -lists.lengths**2 / (widths[lists.rows] * self.widths[lists.indices])
        exponents -= np.maximum.reduceat(exponents, firsts)[lists.rows]  # no zero rows
        rows = weight_rows(np.exp(exponents) / self.densities[lists.indices], lists, self.graph.size)
        for row in np.flatnonzero(lists.lengths[firsts] == 0).tolist():
            point = int(lists.indices[firsts[row]])
            edges = slice(self.graph.starts[point], self.graph.starts[point + 1])
            ends = self.graph.indices[edges]
            rows[row] = 0.0
            rows[row, point] = 1 / self.densities[point]
            rows[row, ends] = np.exp(-self.graph.lengths[edges] ** 2 / (self.widths[point] * self.widths[ends])) / (
                self.densities[ends])
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    @property
    def parts(self) -> Parts:
        """The points and their metric."""
        return Parts(points=self.points, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of training points."""
        return self.graph.size


def local_widths(halved: Array, nearest: int) -> Array:
    """Return distances (m) to the `nearest`-th training point from -d²/2 (m x n); points at distance zero count.

    Where that is zero, it is replaced by the least distance above zero, or by 1 where there is none.
    """
    place = halved.shape[1] - min(nearest, halved.shape[1])
    squares = -2 * np.partition(halved, place, axis=1)[:, place]
    for row in np.flatnonzero(squares == 0):
        apart = halved[row][halved[row] < 0]
        squares[row] = -2 * apart.max() if len(apart) else 1.0
    return np.sqrt(squares)
