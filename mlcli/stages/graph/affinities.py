"""Affinities: weights of the edges of a neighbor graph, and the graph's Laplacian (Belkin and Niyogi, 2003)."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.inputs import Given
from mlcli.base.values.options import Options, option
from mlcli.base.values.products import Carried, Products, Sparse
from mlcli.base.values.scaling import Unit
from mlcli.errors import ConfigError, GeometryError
from mlcli.stages.algebra.costs import pass_cost
from mlcli.stages.algebra.distances import GAUSSIAN_RATE
from mlcli.stages.graph.graph import Graph

if TYPE_CHECKING:
    from scipy import sparse


Of = Literal["nothing", "lengths", "affinities"]  # what weights are computed from


@stored("binary")
class Binary(Options):
    """One for every edge."""

    of: ClassVar[Of] = "nothing"
    carried: ClassVar[Carried] = "none"  # the quantity whose unit the weights have
    name: Literal["binary"] = "binary"

    def for_graph(self, graph: Graph, unit: Unit) -> "Binary":
        """Return these weights, which do not depend on the graph."""
        return self

    def __call__(self, lengths: Array) -> Array:
        """Return the weight of each edge, an (e,) array of ones."""
        return np.ones(len(lengths))


@stored("heat")
class Heat(Options):
    """exp(-rate d²) of an edge of length d."""

    of: ClassVar[Of] = "lengths"
    carried: ClassVar[Carried] = "none"
    name: Literal["heat"] = "heat"
    rate: float | None = option(
        None, "Rate r of exp(-r d²) (default: one over the median of d² over the edges that have a length).",
        power=-2, gt=0, synonyms=GAUSSIAN_RATE)

    def for_graph(self, graph: Graph, unit: Unit) -> "Heat":
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


@stored("given")
class GivenAffinities(Options):
    """The affinities of a graph that was given with them (`input.edges: affinities`)."""

    of: ClassVar[Of] = "affinities"
    carried: ClassVar[Carried] = "input"
    name: Literal["given"] = "given"

    def for_graph(self, graph: Graph, unit: Unit) -> "GivenAffinities":
        """Return these weights, which do not depend on the graph."""
        return self

    def __call__(self, lengths: Array) -> Array:
        """Return the given affinity of each edge, an (e,) array, unchanged."""
        return lengths


Affinity = Annotated[Binary | Heat | GivenAffinities, Field(discriminator="name")]


def weights_for(data: Given, asked: Affinity, chosen: bool) -> Affinity:
    """Return the weights for some data: the given ones by default, where there are any.

    Raises ConfigError for weights computed from something that the data lack.
    """
    has = "lengths" if data.apart else "affinities"
    if asked.of not in ("nothing", has):
        raise ConfigError("WEIGHTS", f"{asked.name} weights need {asked.of}, but the edges have {has}",
                          where="method.weights.name", hint="choose binary weights, or set input.edges to what the "
                              "graph holds")
    return asked if data.apart or chosen else GivenAffinities()


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

    def root(self) -> "sparse.csr_array":
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
    weights = affinity(graph.lengths)
    scale = np.sqrt(degrees(graph, weights)) if normalized else np.ones(graph.size)
    return Weighted(graph, affinity, weights, scale)


def degrees(graph: Graph, weights: Array) -> Array:
    """Return the sum of the (e,) weights at each vertex, an (n,) array; raises GeometryError where one is negligible.
    """
    ends = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    sums: Array = np.bincount(ends, weights, minlength=graph.size).astype(np.float64)
    lost = int(np.sum(sums <= np.finfo(np.float64).eps * sums.max(initial=0.0)))
    if lost:
        raise GeometryError("NO-WEIGHT", f"{lost} of {graph.size} points have edges whose weights are nearly zero",
                            where="method.weights.rate", hint="choose a smaller rate, or binary weights")
    return sums


def incidence(graph: Graph, weights: Array, scale: Array) -> "sparse.csr_array":
    """Return R with RᵀR = S⁻¹ (D - W) S⁻¹ (edges x n): a row √w (eᵢ/sᵢ - eⱼ/sⱼ) for each edge."""
    from scipy import sparse

    left = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    once = left < graph.indices
    left, right, roots = left[once], graph.indices[once], np.sqrt(weights[once])
    count = len(left)
    values = np.column_stack([roots / scale[left], -roots / scale[right]]).ravel()
    return sparse.csr_array((values, np.column_stack([left, right]).ravel(), 2 * np.arange(count + 1)),
                            shape=(count, graph.size))
