"""Locality preserving projections."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option_of
from mlcli.certify.subject import Subject
from mlcli.core.chain.stages import NeighborGraph
from mlcli.core.eigen.options import Axes
from mlcli.core.graph.affinities import Affinity, incidence, weighted, weights_for, weights_step
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.graph.pieces import connected_graph, entries_of
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.methods.laplacian.laplacian import GraphLaplacian
from mlcli.methods.linearization import GraphCost, Linearization, RootShape
from mlcli.methods.trials import variant


class LPP(Linearization):
    """The linear functions of the columns that differ least between neighbors: linear Laplacian eigenmaps.

    It keeps neighbors near each other, as far as a linear function of the columns can. It fails if the coordinates of a
    surface are not nearly linear in the columns. Set the number of neighbors first (`-k`), and with many columns their
    principal components (`prepare.reduce`).

    How it works: Neighbors are joined by edges with weights, as in `laplacian`. Coordinates y = X a are those linear
    functions of the columns that differ least along the edges. They solve Xᵀ L X a = λ Xᵀ D X a, with W the weights, D
    their sums at each point, L = D - W, and X without its mean, which is weighted by D. So λ is the cost Σ w (yᵢ - yⱼ)²
    over the edges, divided by Σ d y². Coordinates are uncorrelated and have unit variance, both weighted by D.

    Directions in which the columns do not extend give no axes. With n - 1 independent columns for n rows, every
    function is linear in the columns, and coordinates are those of `laplacian`: leave columns out then, or take their
    principal components first (`prepare.reduce`).

    New points: New rows are placed exactly, by the same linear functions.

    Files: Axes are ranked by 1/λ: `spectrum.csv` holds these eigenvalues with their costs λ. `loadings.csv` holds the
    coefficients a, which make coordinates of centered columns.

    Source: He and Niyogi, "Locality preserving projections", 2003.
    """

    variants: ClassVar = (
        variant("", "share", neighbors={"count": 9}),
        variant("adaptive", "share", neighbors={"count": 9}, weights={"name": "adaptive"}),
        variant("cosine", "shift", "share", neighbors={"count": 13}, metric="cosine"))
    axis: ClassVar = "LPP"
    name: Literal["lpp"] = "lpp"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    graph: Literal["union", "mutual"] = option_of(NeighborGraph, "rule")
    weights: Affinity = option_of(GraphLaplacian, "weights")
    axes: Axes = Axes()

    @property
    def kernel(self) -> GraphLaplacian:
        """The inverse of the normalized Laplacian."""
        return GraphLaplacian(weights=self.weights)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return the neighbors; raises ConfigError for weights that points do not have."""
        found = super().resolved_stages(data)
        return {**found, "weights": weights_for(data, self.weights, self.chosen("weights"),
                                                found.get("neighbors", self.neighbors))}

    def cost_steps(self, data: Features, threads: int) -> tuple[list[Step], RootShape]:
        """Return the step of the weights, and a row of two numbers for each edge."""
        entries = entries_of(data, self.neighbors.neighborhood(data))
        return [weights_step(entries)], RootShape(entries * 2 // 3, 2)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check linear functions of least cost, with weights, degrees and their equations computed again."""
        from mlcli.methods.laplacian.check import linear_checks

        return linear_checks(subject, self.weights)

    def cost(self, data: Features) -> GraphCost:
        """Return √w (yᵢ - yⱼ) for each edge, and the roots of the degrees."""
        graph, kept = connected_graph(data, self.neighbors.neighborhood(data), self.neighbors.pieces, self.graph)
        edges = weighted(graph, self.weights, data.unit, normalized=True)
        root = incidence(graph, edges.weights, np.ones(graph.size))
        return GraphCost(root, edges.products(), roots=edges.scale, kept=kept)
