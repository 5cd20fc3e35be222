"""Isomap."""

from dataclasses import replace
from typing import Any, ClassVar, Literal

from mlcli.base.compute import Compute
from mlcli.base.inputs import Dissimilarities, Features, Input
from mlcli.base.options import option
from mlcli.base.stage import running
from mlcli.base.steps import Step
from mlcli.base.types import Indices
from mlcli.methods.base import Method
from mlcli.methods.model import Model
from mlcli.methods.ways import way
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric, training
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.eigen.landmarks import choose_landmarks
from mlcli.stages.graph.neighbors import Neighbors
from mlcli.stages.graph.pieces import connected_graph
from mlcli.stages.kernels.forms import Dense
from mlcli.stages.paths.paths import OF_LANDMARKS, Paths
from mlcli.stages.similarities import Geodesics


class Isomap(Method):
    """A curved surface unrolled: MDS of shortest-path distances on the neighbor graph.

    Points are joined to their nearest neighbors, distances are measured along the graph, and MDS embeds them: MDS
    itself, with all points as neighbors. Some eigenvalues are negative, as geodesic distances are seldom Euclidean.
    A new point is joined to its nearest training points, also where the graph is mutual. It fails where a short
    circuit joins two sheets of the surface (fewer neighbors help) and where the graph falls into pieces (more
    neighbors help). Source: Tenenbaum, de Silva and Langford, 2000.
    """

    accepts: ClassVar = (Features, Dissimilarities)
    proof: ClassVar = "kernel"
    decodes: ClassVar = None
    rules: ClassVar = ("residual_variance", "two_nn", "broken_stick")
    isometric: ClassVar = True
    ways: ClassVar = (
        way("", neighbors={"count": 9}), way("landmarks", "permutation", neighbors={"count": 9}, landmarks=30),
        way("radius", neighbors={"radius": 2.9, "pieces": "connect"}), way("cosine", "shift", metric="cosine"),
        way("mutual", neighbors={"count": 20, "pieces": "connect"}, graph="mutual"),
        way("streamed", "whole", "quick", neighbors={"count": 9}, paths={"store": "streamed", "precision": "float64"},
            eigensolve={"tolerance": 1e-12}), way("cityblock", "rotation", metric="cityblock"))
    name: Literal["isomap"] = "isomap"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    graph: Literal["union", "mutual"] = option(
        "union", "Points are joined when either is a neighbor of the other (union), or both are (mutual).")
    paths: Paths = Paths()
    landmarks: int | None = option(None, "Points that carry the fit and place the others (default: all).", ge=2)
    eigensolve: Eigensolve = Eigensolve()

    def steps(self, data: Features | Dissimilarities, compute: Compute, share: float | None) -> list[Step]:
        """The graph is computed, because its fill decides the rest."""
        graph = connected_graph(data, self.neighbors.neighborhood(data), self.neighbors.pieces, self.graph)[0]
        plan = self.paths.plan(graph, compute, self.landmarks)
        return [*self.known(data, compute), *self.paths.steps(graph, plan, self.eigensolve, share)]

    def solve(self, data: Features | Dissimilarities, compute: Compute) -> Model:
        """K = -H D² H / 2 with D the shortest paths; coordinates are V √λ."""
        neighbors = self.neighbors.neighborhood(data)
        graph, kept = connected_graph(data, neighbors, self.neighbors.pieces, self.graph)
        data = data if kept is None else data.take(kept)
        plan = self.paths.plan(graph, compute, self.landmarks)
        self.require_memory(self.paths.steps(graph, plan, self.eigensolve), data, compute)
        similarity = Geodesics(neighbors, graph, *training(data))
        if self.landmarks is not None:
            return self._by_landmarks(similarity, kept, compute)
        kernel = self.paths.kernel(graph, compute, plan)
        spectrum = self.eigensolve(kernel, graph.size - 1, compute)
        return Model.of_kernel(spectrum, similarity, kept=kept, rows=kernel.quick_rows)

    def _by_landmarks(self, similarity: Geodesics, kept: Indices | None, compute: Compute) -> Model:
        """The fit of some points, which place the others (de Silva and Tenenbaum, 2004)."""
        landmarks = choose_landmarks(similarity.graph.size, self.landmarks or 0, compute.generator())
        rows = self.paths.from_landmarks(similarity.graph, landmarks)
        spectrum = self.eigensolve(Dense.of(rows[landmarks]), len(landmarks) - 1, compute)
        similarity = replace(similarity, landmarks=landmarks)
        with running("coordinates"):
            return Model.of_kernel(spectrum, similarity, kept=kept).placing(rows)

    def reproduces(self) -> bool:
        """Not where the graph is mutual, which joins a training row to fewer points than a new one."""
        return self.graph == "union"

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Neighbors, at most n - 1 of them; paths from landmarks leave no choice."""
        if self.landmarks is not None:
            self.refuse_unused("landmarks have one way", *OF_LANDMARKS)
        return super().resolved_stages(data)
