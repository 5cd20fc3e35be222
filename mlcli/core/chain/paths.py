"""The chain whose kernel is computed from distances along the neighbor graph."""

from dataclasses import replace

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Indices
from mlcli.base.values.inputs import LengthGraph
from mlcli.core.chain.distances import drop_centering, kernel_of_function
from mlcli.core.chain.input import ChainInput, Fitted
from mlcli.core.chain.nystrom import place_points
from mlcli.core.chain.scaling import build_fit, solve_spectrum
from mlcli.core.eigen.options import choose_landmarks
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.pieces import connected_graph, planned_graph
from mlcli.core.metrics.points import training_points
from mlcli.core.paths.paths import PathPlan, rounding_of
from mlcli.core.similarities.path_lengths import Geodesics, GivenGraph


@frozen
class PathChain:
    """Coordinates from the lengths of the shortest paths on the neighbor graph."""

    chain: ChainInput

    def steps(self, share: float | None) -> list[Step]:
        """Return the steps; the graph is computed for this, because its fill determines the other costs."""
        chain = self.chain
        neighbors, joining = chain.joining.neighbors.neighborhood(chain.data), chain.joining
        graph, made = planned_graph(chain.joined, neighbors, joining.neighbors.pieces, joining.rule, chain.compute)
        return [*made, *self._solver_steps(graph, self._plan(graph), share)]

    def _plan(self, graph: Graph) -> PathPlan:
        paths = self.chain.geodesic
        if self.chain.kernel.bent and paths.store == "auto":
            paths = paths.replace(store="memory")  # a function of distances is not streamed
        return paths.plan(graph, self.chain.compute, self.chain.landmarks)

    def _solver_steps(self, graph: Graph, plan: PathPlan, share: float | None = None) -> list[Step]:
        return drop_centering(self.chain, self.chain.geodesic.steps(graph, plan, self.chain.eigensolve, share,
                                                                      bent=self.chain.kernel.bent))

    def fit(self) -> Fitted:
        """Return the fit of K = -H D² H / 2 with D the shortest paths, or of a function of D."""
        chain, joining = self.chain, self.chain.joining
        neighbors = joining.neighbors.neighborhood(chain.data)
        graph, kept = connected_graph(chain.joined, neighbors, joining.neighbors.pieces, joining.rule)
        data = chain.joined if kept is None else chain.joined.take(kept)
        plan = self._plan(graph)
        chain.require(self._solver_steps(graph, plan), data)
        given = isinstance(data, LengthGraph)
        base = GivenGraph(graph) if given else Geodesics(neighbors, graph, *training_points(data))
        if chain.landmarks is not None:
            return self._by_landmarks(base, kept)
        if chain.kernel.bent:
            halved = chain.geodesic.halved(graph, plan, chain.compute)
            kernel, similarity = kernel_of_function(chain, halved, base, rounding_of(plan))
            spectrum = solve_spectrum(chain, kernel, graph.size - (chain.centering == "double"))
            return build_fit(chain, spectrum, similarity, kept=kept)
        whole = chain.geodesic.kernel(graph, chain.compute, plan)
        return build_fit(chain, solve_spectrum(chain, whole, graph.size - 1), base, kept=kept, rows=whole.quick_rows)

    def _by_landmarks(self, base: Geodesics | GivenGraph, kept: Indices | None) -> Fitted:
        """Return the fit of landmarks, which place the other points (de Silva and Tenenbaum, 2004)."""
        chain = self.chain
        landmarks = choose_landmarks(base.graph.size, chain.landmarks or 0, chain.compute.generator())
        rows = chain.geodesic.from_landmarks(base.graph, landmarks)
        base = replace(base, landmarks=landmarks)
        kernel, similarity = kernel_of_function(chain, rows[landmarks], base)
        spectrum = solve_spectrum(chain, kernel, len(landmarks) - (chain.centering == "double"))
        with running("coordinates"):
            rows = rows if similarity is base else similarity.function.of_halved(rows)
            return place_points(build_fit(chain, spectrum, similarity, kept=kept), rows)
