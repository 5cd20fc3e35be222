"""Isomap.

Its options, and then the stages that compute it in their order, each with what it costs.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import allowed
from mlcli.base.stages.composition import FitStage
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Joined, LengthGraph
from mlcli.base.values.options import option_of
from mlcli.core.chain.distance_chains import kernel_of_function
from mlcli.core.chain.graphs import GraphChain, GraphStages, neighbor_steps, neighborhood
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.kernels import GowerKernel
from mlcli.core.chain.landmark_error import sample_count, sample_rows, with_errors, with_errors_by_products
from mlcli.core.chain.nystrom import COPIES, place_by_columns, place_points
from mlcli.core.chain.scaling import build_fit, solve_spectrum
from mlcli.core.chain.stages import Coordinates, NeighborGraph, RowDecoder, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.options import choose_landmarks, landmark_step
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.graph.pieces import entries_of
from mlcli.core.kernels.forms import Dense, gower_steps
from mlcli.core.kernels.streamed import Streamed
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.metrics.distances import training_points
from mlcli.core.model import Model
from mlcli.core.paths.paths import KEPT, REMEDY, PathPlan, Paths, rounding_of
from mlcli.core.similarities.path_lengths import Geodesics, GivenGraph
from mlcli.methods.method import Method
from mlcli.methods.trials import LANDMARKS, MANY, InputSummary, Trials, by_neighbors, variant

FEWER = "use fewer landmarks"
JOINED = 0.6  # edges for an entry of the lists of nearest neighbors, of which most are in two lists
EDGE = 64.0  # bytes of an edge in the graph, and in the lists that it is made of


class Isomap(Method):
    """A curved surface unrolled: MDS of shortest-path distances on the neighbor graph.

    It keeps distances along the surface on which the points lie, also between far points. It fails if an edge jumps
    between two turns of the surface, a short circuit (use fewer neighbors), or if the graph falls into pieces (use more
    neighbors). Set the number of neighbors first (`-k`): the smallest that keeps the graph in one piece, or a little
    more.

    How it works: Points are joined to their nearest neighbors. The distance between any two points is the length of the
    shortest path along these edges, as a road follows a valley. MDS (docs/methods/mds.md) then finds coordinates whose
    straight distances are as near as possible to these lengths. If all points are neighbors, Isomap is MDS itself. Path
    lengths are seldom exactly the distances of points in a space, so some eigenvalues of the kernel are negative. This
    is no error: they stay in `spectrum.csv` and never become axes.

    With landmarks `spectrum.csv` says by how many degrees an axis may differ from that of all points (docs/scale.md).

    New points: A new point is joined to its nearest training points, even with `graph: mutual`, and is placed by its
    path lengths to all training points.

    Back to features: With `decoder`, `mlcli reconstruct` turns coordinates back into features: `barycentric` takes a
    weighted mean of the features of the rows whose coordinates are nearest, `ridge` a regression of the features on the
    coordinates.

    Source: Tenenbaum, de Silva and Langford, 2000.
    """

    accepts: ClassVar = (Features, Dissimilarities, LengthGraph)
    judged_by: ClassVar = "residual_variance"
    decodes: ClassVar = "method.decoder"
    rules: ClassVar = ("residual_variance", "two_nn", "broken_stick", "elbow")
    isometric: ClassVar = True
    variants: ClassVar = (
        variant("", neighbors={"count": 9}), variant("landmarks", "permutation", neighbors={"count": 9}, landmarks=30,
                                                   decoder={"name": "barycentric"}),
        variant("radius", neighbors={"radius": 2.9, "pieces": "connect"}), variant("cosine", "shift", metric="cosine"),
        variant("mutual", neighbors={"count": 20, "pieces": "connect"}, graph="mutual"),
        variant("streamed", "whole", "quick", neighbors={"count": 9}, paths={"store": "streamed",
                "precision": "float64"}, eigensolve={"tolerance": 1e-12}),
        variant("cityblock", "rotation", metric="cityblock"))
    later: ClassVar = ("decoder",)
    axis: ClassVar = "Isomap"
    name: Literal["isomap"] = "isomap"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    graph: Literal["union", "mutual"] = option_of(NeighborGraph, "rule")
    paths: Paths = Paths()
    landmarks: int | None = option_of(Stages, "landmarks")
    eigensolve: Eigensolve = Eigensolve()
    decoder: RowDecoder = option_of(Stages, "decoder")

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return settings by neighborhood size; with landmarks for very many rows."""
        return by_neighbors(seen, **({"landmarks": LANDMARKS} if seen.rows > MANY and not seen.graph else {}))

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of K = -H D² H / 2, D shortest paths along the neighbor graph; coordinates V √λ.

        `PathChain` below computes it.
        """
        graph = NeighborGraph(neighbors=self.neighbors, rule=self.graph)
        return Stages(metric=self.metric, graph=graph, paths=self.paths, kernel=GowerKernel(), centering="double",
                      eigensolve=self.eigensolve, coordinates=Coordinates(scale="roots"), landmarks=self.landmarks,
                      decoder=self.decoder)

    def reproduces(self) -> bool:
        """Whether the graph is a union: a mutual one joins a training row to fewer points than a new one."""
        return self.graph == "union"

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return neighbors, at most n - 1; raises ConfigError for options of paths that landmarks leave unused."""
        self.chain(data.kind).refuse_void()
        return super().resolved_stages(data)


@frozen
class PathChain(GraphChain):
    """Coordinates from the lengths D of shortest paths: the neighbor graph, then K = -H D² H / 2 or another kernel.

    Any chain with paths is computed so, whatever function of D its kernel is.
    """

    chain: ChainInput

    def steps(self) -> list[Step]:
        """Return the stages with their costs, for which the graph is computed, but for landmarks of very many points.
        """
        size, landmarks = len(self.chain.joined.values), self.chain.stages.landmarks
        if landmarks is None or size * landmarks <= KEPT:
            return super().steps()
        pairs = 2 * int(JOINED * entries_of(self.chain.joined, neighborhood(self.chain)))
        nothing = np.zeros(1, np.int64)
        unknown = Graph(np.broadcast_to(nothing, size + 1), np.broadcast_to(nothing, pairs),
                        np.broadcast_to(np.zeros(1), pairs))
        return [*neighbor_steps(self.chain), *self.after_graph(unknown, self.chain.joined, None).steps()]

    def after_graph(self, graph: Graph, data: Joined, kept: Indices | None) -> "PathStages":
        """Return the stages by paths that are stored, from landmarks, or computed again in each pass."""
        chain, paths = self.chain, self.chain.geodesic
        if chain.kernel.bent and paths.store == "auto":
            paths = paths.replace(store="memory")  # a function of distances is not streamed
        plan = paths.plan(graph, chain.compute, chain.stages.landmarks)
        by = LandmarkPaths if plan.store == "landmarks" else StreamedPaths if plan.store == "streamed" else WholePaths
        return by(chain, graph, data, kept, plan)


@frozen
class PathStages(GraphStages):
    """The base of the stages of shortest paths."""

    plan: PathPlan

    @cached_property
    def joining(self) -> Geodesics | GivenGraph:
        """The path lengths of new points, which are joined to the graph by their neighbors."""
        if isinstance(self.data, LengthGraph):
            return GivenGraph(self.graph)
        return Geodesics(neighborhood(self.chain), self.graph, *training_points(self.data))


@frozen
class WholePaths(PathStages):
    """Coordinates from all shortest paths, in memory or in a file."""

    @FitStage
    def kernel(self) -> tuple[Dense | Streamed, Any]:
        """Paths of length D between all points, and K = -H D² H / 2 or a function of D, with that of new points."""
        chain, paths = self.chain, self.chain.geodesic
        if not chain.kernel.bent:
            return paths.kernel(self.graph, chain.compute, self.plan), self.joining
        halved = paths.halved(self.graph, self.plan, chain.compute)
        return kernel_of_function(chain, halved, self.joining, rounding_of(self.plan))

    @kernel.cost
    def _(self) -> list[Step]:
        return [*self.chain.geodesic.steps(self.graph, self.plan, self.chain.share),
                *gower_steps(self.graph.size**2, self.plan.memory, REMEDY, square=True, bent=self.chain.kernel.bent,
                             centered=self.chain.double)]

    @FitStage
    def spectrum(self) -> Spectrum:
        """K = V Λ Vᵀ."""
        return solve_spectrum(self.chain, self.kernel[0], self.graph.size - self.chain.double)

    @spectrum.cost
    def _(self) -> list[Step]:
        return [self.chain.stages.eigensolve.step(self.graph.size, allowed(), self.plan.memory, remedy=REMEDY,
                                                  square=True)]

    def result(self) -> Model:
        """Return the coordinates V √Λ, and axes V / √Λ for new points."""
        return build_fit(self.chain, self.spectrum, self.kernel[1], kept=self.kept)


@frozen
class StreamedPaths(PathStages):
    """Coordinates from shortest paths that are found anew in every pass of the eigensolver."""

    @FitStage
    def kernel(self) -> Dense | Streamed:
        """K = -H D² H / 2 as an operator, for which the graph is eliminated or nothing is prepared."""
        return self.chain.geodesic.kernel(self.graph, self.chain.compute, self.plan)

    @kernel.cost
    def _(self) -> list[Step]:
        return self.chain.geodesic.steps(self.graph, self.plan)

    @FitStage
    def spectrum(self) -> Spectrum:
        """K = V Λ Vᵀ, its top, by a few passes over all paths."""
        return solve_spectrum(self.chain, self.kernel, self.graph.size - 1)

    @spectrum.cost
    def _(self) -> list[Step]:
        chain = self.chain
        return [chain.geodesic.streamed_step(self.graph, self.plan, chain.stages.eigensolve, chain.share)]

    def result(self) -> Model:
        """Return the coordinates V √Λ, and axes V / √Λ for new points."""
        return build_fit(self.chain, self.spectrum, self.joining, kept=self.kept, rows=self.kernel.quick_rows)


@frozen
class LandmarkPaths(PathStages):
    """Coordinates of landmarks, which place the other points (de Silva and Tenenbaum, 2004)."""

    @cached_property
    def landmarks(self) -> Indices:
        """The points that are landmarks (m)."""
        return choose_landmarks(self.graph.size, self.chain.stages.landmarks or 0, self.chain.compute.generator())

    @property
    def held(self) -> float:
        """Bytes of paths and graph."""
        return self.plan.memory + EDGE * self.graph.edges

    def groups(self, points: Indices, similarity: Any) -> Iterator[tuple[slice, Array]]:
        """Yield kernel rows (g x n) of a few of the points at a time, each with their places among these."""
        for some, halved in self.chain.geodesic.from_some(self.graph, points):
            yield some, similarity.function.of_halved(halved) if self.chain.kernel.bent else halved

    @FitStage
    def rows(self) -> Array:
        """-D²/2 of the paths of length D from the landmarks to all points (n x m), or to each other (m x m)."""
        geodesic, landmarks = self.chain.geodesic, self.landmarks
        if not self.plan.twice:
            return geodesic.from_landmarks(self.graph, landmarks)
        return np.concatenate([halved[:, landmarks] for _, halved in geodesic.from_some(self.graph, landmarks)]).T

    @rows.cost
    def _(self) -> list[Step]:
        return [Step("paths", self.plan.reason, self.plan.seconds, self.held, remedy=FEWER)]

    @FitStage
    def kernel(self) -> tuple[Dense, Any]:
        """K (m x m) of the paths between landmarks, and that of new points."""
        joining = replace(self.joining, landmarks=self.landmarks)
        return kernel_of_function(self.chain, self.rows if self.plan.twice else self.rows[self.landmarks], joining)

    @kernel.cost
    def _(self) -> list[Step]:
        columns = self.plan.landmarks if self.plan.twice else self.graph.size
        return gower_steps(self.plan.landmarks * columns, self.held, FEWER, bent=self.chain.kernel.bent,
                           centered=self.chain.double)

    @FitStage
    def spectrum(self) -> Spectrum:
        """K = V Λ Vᵀ."""
        return solve_spectrum(self.chain, self.kernel[0], len(self.landmarks) - self.chain.double)

    @spectrum.cost
    def spectrum_steps(self) -> list[Step]:
        """Return the cost of the spectrum."""
        count = self.plan.landmarks
        return [self.chain.stages.eigensolve.step(count, allowed(), self.held + 8.0 * count**2, remedy=FEWER)]

    @FitStage
    def placed(self) -> Model:
        """All points by the paths from the landmarks, by the formula of new points."""
        (_, similarity), rows = self.kernel, self.rows
        with running("coordinates"):
            fit = build_fit(self.chain, self.spectrum, similarity, kept=self.kept)
            if self.plan.twice:
                return self.with_errors(place_by_columns(fit, self.graph.size, self.groups(self.landmarks, similarity)),
                                        similarity)
            rows = similarity.function.of_halved(rows) if self.chain.kernel.bent else rows
            return self.with_errors(place_points(fit, rows), similarity)

    def with_errors(self, placed: Model, similarity: Any) -> Model:
        """Return the placed points with bounds of the errors of their axes, by paths from sampled points to all."""
        chain, axes = self.chain, placed.embedding.shape[1]
        sample = sample_rows(self.graph.size, len(self.landmarks), axes, chain.compute)
        if self.plan.twice:
            products = [np.column_stack([rows @ placed.embedding, rows.sum(axis=1)])
                        for _, rows in self.groups(sample, similarity)]
            return with_errors_by_products(placed, sample, np.concatenate(products), centered=chain.double)
        halved = chain.geodesic.from_landmarks(self.graph, sample)
        function = similarity.function.of_halved if chain.kernel.bent else None
        return with_errors(placed, sample, lambda some: halved[some] if function is None else function(
            halved[some].copy()), centered=chain.double)

    @placed.cost
    def _(self) -> list[Step]:
        count, (solving,) = self.plan.landmarks, self.spectrum_steps()
        size, axes = self.graph.size, self.chain.stages.eigensolve.wanted(count)
        sampled = sample_count(size, count, axes)
        held = 0 if self.plan.twice else sampled
        step = landmark_step(count, size, solving.memory + 8.0 * size * (COPIES * axes + held), sampled)
        return [replace(step, seconds=step.seconds + self.plan.seconds * sampled / count)]

    def result(self) -> Model:
        """Return all points as they are placed."""
        return self.placed
