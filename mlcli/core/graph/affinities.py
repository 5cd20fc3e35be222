"""Affinities: weights of the edges of a neighbor graph, by scales of the points or one for all, and the Laplacian
(Belkin and Niyogi, 2003; Zelnik-Manor and Perona, 2004).
"""

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Given, WeightedGraph
from mlcli.base.values.options import Options, option
from mlcli.base.values.products import Carried, Products, Sparse
from mlcli.base.values.scaling import Unit
from mlcli.core.euclidean_distances import GAUSSIAN_RATE
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.graph.search import Lists
from mlcli.core.sparse_factors import CompressedRows
from mlcli.errors import ConfigError, GeometryError

LEAST = float(np.finfo(np.float64).tiny) ** 0.5  # sum of the weights of a point whose square is still a normal number


class LocalScale(Options):
    """The base of affinities exp(-d² / (σ(x) σ(y))) with a scale σ of each point."""

    nearest: int = option(8, "σ of a point is the distance to its nearest training point of this rank, where the "
                          "point itself has rank 1.", ge=2)

    def require_rank(self, neighbors: Neighbors, where: str) -> int:
        """Return the rank, if it is a default clipped to the neighbors; raises ConfigError for a chosen one over it."""
        most = self.nearest if neighbors.count is None else neighbors.count + 1
        if self.nearest <= most:
            return self.nearest
        if self.chosen("nearest"):
            raise ConfigError("NEAREST", f"the scale of a point is to be the distance to the point of rank "
                              f"{self.nearest}, but each has {neighbors.count} neighbors", where=f"{where}.nearest",
                              hint=f"ask for at most {most}, or for more neighbors")
        note("N-NEAREST", f"scales of points are distances to their farthest neighbors: each has {neighbors.count}, "
             f"fewer than {self.nearest - 1}", rank=most)
        return most


def local_scales(starts: Indices, lengths: Array, place: int) -> Array:
    """Return the distance to the `place`-th nearest of each row's entries (m), or to the last where there are fewer.

    `starts` (m + 1) and `lengths` (e) are compressed rows, none of them empty. Zero is replaced by the row's least
    distance above zero, or by 1 where there is none.
    """
    counts = np.diff(starts)
    rows = np.repeat(np.arange(len(counts)), counts)
    ranked = lengths[np.lexsort((lengths, rows))]
    scales = ranked[starts[:-1] + np.minimum(place, counts) - 1]
    least = np.minimum.reduceat(np.where(lengths > 0, lengths, np.inf), starts[:-1])
    return np.where(scales > 0, scales, np.where(np.isfinite(least), least, 1.0))


Of = Literal["nothing", "lengths", "affinities"]  # what weights are computed from


class EdgeWeights(Options):
    """The base of weights of edges, by their lengths alone unless a class says otherwise."""

    of: ClassVar[Of]
    carried: ClassVar[Carried] = "none"  # the quantity whose unit the weights have
    remedy: ClassVar[tuple[str, str]] = "method.weights.name", "choose binary weights"  # where all of a point vanish

    def for_graph(self, graph: Graph, unit: Unit) -> Self:
        """Return the weights with defaults fixed from the graph; these have none."""
        return self

    def within(self, neighbors: Neighbors) -> Self:
        """Return the weights with defaults clipped to the number of neighbors; these have none."""
        return self

    def __call__(self, lengths: Array) -> Array:
        """Return the weight of each edge, an (e,) array, from its length."""
        raise NotImplementedError

    def of_graph(self, graph: Graph) -> Array:
        """Return the weights (e) of the edges of a graph."""
        return self(graph.lengths)

    def of_new(self, lists: Lists, graph: Graph) -> Array:
        """Return the weights (e) of new points' edges to their neighbors among the points of a graph."""
        return self(lists.lengths)


@stored("binary")
class Binary(EdgeWeights):
    """One for every edge."""

    of: ClassVar[Of] = "nothing"
    name: Literal["binary"] = "binary"

    def __call__(self, lengths: Array) -> Array:
        """Return the weight of each edge, an (e,) array of ones."""
        return np.ones(len(lengths))


@stored("heat")
class Heat(EdgeWeights):
    """exp(-rate d²) of an edge of length d."""

    of: ClassVar[Of] = "lengths"
    remedy: ClassVar[tuple[str, str]] = "method.weights.rate", "choose a smaller rate, or binary weights"
    name: Literal["heat"] = "heat"
    rate: float | None = option(
        None, "Rate r of exp(-r d²) (default: one over the median of d² over the edges that have a length).",
        power=-2, gt=0, synonyms=GAUSSIAN_RATE)

    def for_graph(self, graph: Graph, unit: Unit) -> Self:
        """Return the weights with a default rate fixed from the graph, with lengths in `unit`."""
        if self.rate is not None:
            return self
        squared = graph.lengths[graph.lengths > 0] ** 2
        rate = 1 / float(np.median(squared))
        note("N-RATE", f"heat rate {(unit**-2).shown(rate)}: one over the median squared length of an edge",
             rate=(unit**-2).number(rate))
        return self.replace(rate=rate)

    def __call__(self, lengths: Array) -> Array:
        """Return the weight of each edge, an (e,) array, from its length."""
        return np.exp(-(self.rate or 0.0) * np.square(lengths))


@stored("adaptive")
class AdaptiveHeat(LocalScale, EdgeWeights):
    """exp(-d² / (σ σ')) of an edge of length d, with a scale σ of each end.

    On a graph that joins points if either is a neighbor of the other, the shortest edges of a point lead to its nearest
    points. On another graph, σ is the length of its edge of this rank, or of its longest edge where it has fewer.
    """

    of: ClassVar[Of] = "lengths"
    name: Literal["adaptive"] = "adaptive"

    def within(self, neighbors: Neighbors) -> Self:
        """Return the weights with a default rank clipped to the number of neighbors; raises ConfigError."""
        rank = self.require_rank(neighbors, "method.weights")
        return self if rank == self.nearest else self.replace(nearest=rank)

    def of_graph(self, graph: Graph) -> Array:
        """Return the weights (e) of the edges of a graph."""
        scales = local_scales(graph.starts, graph.lengths, self.nearest - 1)
        return _adapted(graph.lengths, np.repeat(scales, np.diff(graph.starts)), scales[graph.indices])

    def of_new(self, lists: Lists, graph: Graph) -> Array:
        """Return the weights (e) of new points' edges, with their scales by the neighbors among the training points."""
        scales = local_scales(graph.starts, graph.lengths, self.nearest - 1)
        own = local_scales(lists.starts, lists.lengths, self.nearest)
        return _adapted(lists.lengths, own[lists.rows], scales[lists.indices])


def _adapted(lengths: Array, own: Array, others: Array) -> Array:
    return np.exp(-(lengths / own) * (lengths / others))


@stored("given")
class GivenAffinities(EdgeWeights):
    """The affinities of a graph that was given with them (`input.edges: affinities`)."""

    of: ClassVar[Of] = "affinities"
    carried: ClassVar[Carried] = "input"
    name: Literal["given"] = "given"

    def __call__(self, lengths: Array) -> Array:
        """Return the given affinity of each edge, an (e,) array, unchanged."""
        return lengths


Affinity = Annotated[Binary | Heat | AdaptiveHeat | GivenAffinities, Field(discriminator="name")]


def weights_for(data: Given, asked: Affinity, chosen: bool, neighbors: Neighbors) -> Affinity:
    """Return the weights for some data: the given ones by default, where there are any.

    Raises ConfigError for weights computed from something that the data lack, or of more neighbors than there are.
    """
    has = "lengths" if data.apart else "affinities"
    if asked.of not in ("nothing", has):
        raise ConfigError("WEIGHTS", f"{asked.name} weights need {asked.of}, but the edges have {has}",
                          where="method.weights.name", hint="choose binary weights, or set input.edges to what the "
                              "graph holds")
    if not (data.apart or chosen):
        return GivenAffinities()
    return asked if isinstance(data, WeightedGraph) else asked.within(neighbors)


def weights_step(edges: int) -> Step:
    """Return the cost of the weights of the edges, and of the matrix that is solved."""
    return Step("weights", f"of {edges} edges at most", 10 * pass_cost(edges), 8.0 * 6 * edges)


@frozen
class Weighted:
    """A graph with weights on its edges, and the scale S at each vertex: L y = λ S² y."""

    graph: Graph
    affinity: Affinity
    weights: Array
    scale: Array  # n

    def root(self) -> CompressedRows:
        """Return R with RᵀR = S⁻¹ L S⁻¹."""
        return incidence(self.graph, self.weights, self.scale)

    def products(self) -> Products:
        """Return the matrices that a run may keep."""
        weights = Sparse(self.graph.starts, self.graph.indices, self.weights, self.affinity.carried)
        return {"graph": self.graph.product(), "weights": weights}


@stage("weights")
def weighted(graph: Graph, asked: Affinity, unit: Unit, normalized: bool) -> Weighted:
    """Return the graph with the requested weights, and roots of their sums as the scale; or 1 unless `normalized`."""
    affinity = asked.for_graph(graph, unit)
    weights = affinity.of_graph(graph)
    sums = degrees(graph, weights, *affinity.remedy)
    return Weighted(graph, affinity, weights, np.sqrt(sums) if normalized else np.ones(graph.size))


def degrees(graph: Graph, weights: Array, where: str, hint: str) -> Array:
    """Return the sum of the (e,) weights at each vertex, an (n,) array; raises GeometryError where one is negligible.

    It is beside the largest, or where the squares of costs of its size are not in the range of doubles. The error names
    the option at `where`, and what to do about it.
    """
    ends = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    sums: Array = np.bincount(ends, weights, minlength=graph.size).astype(np.float64)
    lost = int(np.sum(sums <= max(EPS * sums.max(initial=0.0), LEAST)))
    if lost:
        raise GeometryError("NO-WEIGHT", f"{lost} of {graph.size} points have edges whose weights are nearly zero",
                            where=where, hint=hint)
    return sums


def incidence(graph: Graph, weights: Array, scale: Array) -> CompressedRows:
    """Return R with RᵀR = S⁻¹ (D - W) S⁻¹ (edges x n): a row √w (eᵢ/sᵢ - eⱼ/sⱼ) for each edge."""
    left = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    once = left < graph.indices
    left, right, roots = left[once], graph.indices[once], np.sqrt(weights[once])
    count = len(left)
    values = np.column_stack([roots / scale[left], -roots / scale[right]]).ravel()
    return CompressedRows(2 * np.arange(count + 1), np.column_stack([left, right]).ravel(), values, graph.size)
