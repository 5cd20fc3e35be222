"""Affinities: weights of the edges of a neighbor graph, and the graph's Laplacian (Belkin and Niyogi, 2003)."""

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from mlcli.base.options import Options, option
from mlcli.base.scaling import Unit
from mlcli.base.stage import note
from mlcli.base.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.errors import GeometryError
from mlcli.stages.algebra.costs import pass_cost
from mlcli.stages.graph.graph import Graph

if TYPE_CHECKING:
    from scipy import sparse


@stored("binary")
class Binary(Options):
    """One for every edge."""

    name: Literal["binary"] = "binary"

    def for_graph(self, graph: Graph, unit: Unit) -> "Binary":
        """Itself."""
        return self

    def __call__(self, lengths: Array) -> Array:
        """The weight of each edge."""
        return np.ones(len(lengths))


@stored("heat")
class Heat(Options):
    """exp(-rate d²) of an edge of length d."""

    name: Literal["heat"] = "heat"
    rate: float | None = option(
        None, "Rate r of exp(-r d²) (default: one over the median of d² over the edges that have a length).",
        power=-2, gt=0)

    def for_graph(self, graph: Graph, unit: Unit) -> "Heat":
        """The weights with a default rate fixed from the graph, whose lengths are measured in `unit`."""
        if self.rate is not None:
            return self
        squared = graph.lengths[graph.lengths > 0] ** 2
        rate = 1 / float(np.median(squared))
        note("N-RATE", f"heat rate {(unit**-2).shown(rate)}: one over the median squared length of an edge",
             rate=(unit**-2).number(rate))
        return self.replace(rate=rate)

    def __call__(self, lengths: Array) -> Array:
        """The weight of each edge."""
        return np.exp(-(self.rate or 0.0) * np.square(lengths))


Affinity = Annotated[Binary | Heat, Field(discriminator="name")]


def weights_step(edges: int) -> Step:
    """What the weights of the edges, and the matrix that is solved, would cost."""
    return Step("weights", f"of {edges} edges at most", 10 * pass_cost(edges), 8.0 * 6 * edges)


def degrees(graph: Graph, weights: Array) -> Array:
    """The sum of the weights at each vertex (n); raises GeometryError where one is negligible."""
    ends = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    sums: Array = np.bincount(ends, weights, minlength=graph.size).astype(np.float64)
    lost = int(np.sum(sums <= np.finfo(np.float64).eps * sums.max(initial=0.0)))
    if lost:
        raise GeometryError("NO-WEIGHT", f"{lost} of {graph.size} points have edges whose weights are nearly zero",
                            where="method.weights.rate", hint="choose a smaller rate, or binary weights")
    return sums


def incidence(graph: Graph, weights: Array, scale: Array) -> "sparse.csr_array":
    """R with RᵀR = S⁻¹ (D - W) S⁻¹ (edges x n): a row √w (eᵢ/sᵢ - eⱼ/sⱼ) for each edge."""
    from scipy import sparse

    left = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    once = left < graph.indices
    left, right, roots = left[once], graph.indices[once], np.sqrt(weights[once])
    count = len(left)
    values = np.column_stack([roots / scale[left], -roots / scale[right]]).ravel()
    return sparse.csr_array((values, np.column_stack([left, right]).ravel(), 2 * np.arange(count + 1)),
                            shape=(count, graph.size))
