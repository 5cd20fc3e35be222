"""Chains whose kernel is computed from distances: of all pairs of points, or along the neighbor graph."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Features, LengthGraph, Spatial
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.costs import FIRST, gower_steps, pass_cost, solve_cost
from mlcli.stages.algebra.distances import gower
from mlcli.stages.algebra.metrics.points import metric_of, seconds_of_squares, squares, straight, training
from mlcli.stages.chain.placing import placed, placed_rows, placing_memory, placing_passes
from mlcli.stages.chain.scaling import fitted_by, solved
from mlcli.stages.chain.setting import Fitted, Setting
from mlcli.stages.eigen.eigensolve import NOTABLE
from mlcli.stages.eigen.landmarks import choose_landmarks, landmark_step
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.pieces import connected_graph, planned_graph
from mlcli.stages.kernels.corrections import correction_for
from mlcli.stages.kernels.file_rows import FILE_TOLERANCE, FileRows, file_steps
from mlcli.stages.kernels.forms import CACHED, Dense
from mlcli.stages.kernels.products import corrected_rows, distance_products
from mlcli.stages.kernels.streamed import Streamed
from mlcli.stages.paths.paths import rounding_of
from mlcli.stages.paths.plan import PathPlan
from mlcli.stages.similarities import Distances, Geodesics, GivenDistances, GivenGraph, linear_decoder
from mlcli.stages.similarities.of_distances import OfDistances

COPIES = {"lingoes": 3.0, "cailliez": 5.0}  # n x n matrices at once
SPECTRA = {"lingoes": 0.5, "cailliez": 4.0}  # whole spectra that take as long


def of_function(chain: Setting, halved: Array, base: Any, tolerance: float = 0.0) -> tuple[Dense, Any]:
    """The kernel of -δ²/2 (n x n), in its place, or of a function of δ, with the similarity of new points."""
    if not chain.kernel.bent:
        return Dense.of(halved, tolerance), base
    with running("kernel"):
        function = chain.kernel.for_halved(halved, chain.data.unit)
        each(lambda rows: function.of_halved(halved[rows]), row_blocks(len(halved), CACHED))
    similarity = OfDistances(base, function)
    if chain.centering == "none":
        return Dense(halved, uncentered(len(halved)), tolerance), similarity
    return Dense.of(halved, tolerance), similarity


def uncentered_too(chain: Setting, steps: list[Step]) -> list[Step]:
    """The steps without centering, where there is none."""
    return steps if chain.centering == "double" else [step for step in steps if step.stage != "centering"]


@frozen
class OfPairs:
    """From the distances of all pairs, given or of features; or of landmarks, by which the others are placed."""

    chain: Setting

    def steps(self, share: float | None) -> list[Step]:
        """Distances of all pairs, held whole, their kernel and its spectrum."""
        chain, data, rows = self.chain, self.chain.data, rows_of(self.chain.data.values)
        if rows is not None and chain.landmarks is None:
            return file_steps(rows, chain.compute.thread_count())
        count, threads = chain.landmarks or len(data.values), chain.compute.thread_count()
        square, remedy = 8.0 * count**2, self._instead()
        placing = 0.0 if chain.landmarks is None else placing_memory(
            rows, points=len(data.values), landmarks=count, axes=chain.eigensolve.wanted(count), threads=threads)
        held, whole = 2 * square + placing, chain.landmarks is None
        steps = [Step("distances", f"{count} x {count}, in memory",
                      seconds_of_squares(data, count, threads) + FIRST * pass_cost(count**2), held,
                      remedy=remedy, square=whole)]
        if chain.correction != "none":
            steps += [Step("correction", chain.correction, SPECTRA[chain.correction] * solve_cost(count, threads),
                           COPIES[chain.correction] * square + placing, remedy=remedy, square=whole)]
        steps += [*gower_steps(count**2, held, remedy, square=whole, bent=chain.kernel.bent),
                  chain.eigensolve.step(count, threads, held, remedy, square=whole)]
        return uncentered_too(chain, steps if whole else [*steps, self._placing_step(count, placing)])

    def _placing_step(self, count: int, memory: float) -> Step:
        """What placing all points by landmarks would cost; those in a file take so many bytes, by workers too."""
        points, rows = len(self.chain.data.values), rows_of(self.chain.data.values)
        step, axes = landmark_step(count, points), self.chain.eigensolve.wanted(count)
        if rows is None:
            return step
        return replace(step, memory=memory, passes=placing_passes(rows, count, axes, step.seconds))

    def _instead(self) -> str:
        """What takes less memory."""
        if self.chain.kernel.bent:
            of_points = isinstance(self.chain.data, Features)
            return "use kernel gaussian, which is streamed" if of_points else "give fewer points"
        return "of features, pca gives the same embedding in little memory; or " * metric_of(
            self.chain.data).plain + "use landmarks"

    def fitted(self) -> Fitted:
        """The fit of all points, or of landmarks by which the others are placed."""
        data, count = self.chain.data, self.chain.landmarks
        rows = rows_of(data.values)
        if count is None:
            return self.fitted_to(data) if rows is None else self._by_passes(rows)
        landmarks = choose_landmarks(len(data.values), count, self.chain.compute.generator())
        fit = self.fitted_to(data.take(landmarks), landmarks)
        with running("coordinates"):
            return placed_rows(fit, rows) if rows is not None else placed(
                fit, fit.projector.similarity.rows(data.values))

    def _by_passes(self, rows: Rows) -> Fitted:
        """K = -H D² H / 2 of a matrix in a file, which is only applied."""
        correction = correction_for(np.zeros((0, 0)), "none", self.chain.data.unit)
        kernel = Streamed(FileRows(rows), FILE_TOLERANCE)
        return fitted_by(self.chain, solved(self.chain, kernel, len(rows) - 1, 0.0), GivenDistances(correction, None))

    def fitted_to(self, data: Spatial, landmarks: Indices | None = None) -> Fitted:
        """K = -H D² H / 2, or of a function of D."""
        chain = self.chain
        with running("distances"):
            squared = squares(data)
        correction = correction_for(squared, chain.correction, data.unit)
        with running("kernel"):
            halved = gower(correction.off_diagonal(squared))
        base = Distances(data.values, correction, metric_of(data)) if isinstance(data, Features) else GivenDistances(
            correction, landmarks)
        kernel, similarity = of_function(chain, halved, base)
        plain = similarity is base
        spectrum = solved(chain, kernel, len(squared) - (chain.centering == "double"), 0.0 if plain else NOTABLE)
        bent = not straight(data) or correction.constant or not plain
        products = distance_products(
            len(squared), corrected_rows(data, correction), spectrum.centering,
            gower if plain else lambda squares: similarity.function.of_halved(gower(squares)))
        return fitted_by(chain, spectrum, similarity, products=products,
                         decoder=None if bent else linear_decoder(data.values, spectrum))


@frozen
class OfPaths:
    """From the lengths of the shortest paths on the neighbor graph."""

    chain: Setting

    def steps(self, share: float | None) -> list[Step]:
        """The graph is computed, because its fill decides the rest."""
        chain = self.chain
        neighbors, joining = chain.joining.neighbors.neighborhood(chain.data), chain.joining
        graph, made = planned_graph(chain.data, neighbors, joining.neighbors.pieces, joining.rule, chain.compute)
        return [*made, *self._solving(graph, self._plan(graph), share)]

    def _plan(self, graph: Graph) -> PathPlan:
        paths = self.chain.geodesic
        if self.chain.kernel.bent and paths.store == "auto":
            paths = paths.replace(store="memory")  # a function of distances is not streamed
        return paths.plan(graph, self.chain.compute, self.chain.landmarks)

    def _solving(self, graph: Graph, plan: PathPlan, share: float | None = None) -> list[Step]:
        return uncentered_too(self.chain, self.chain.geodesic.steps(graph, plan, self.chain.eigensolve, share,
                                                                      bent=self.chain.kernel.bent))

    def fitted(self) -> Fitted:
        """K = -H D² H / 2 with D the shortest paths, or of a function of D."""
        chain, joining = self.chain, self.chain.joining
        neighbors = joining.neighbors.neighborhood(chain.data)
        graph, kept = connected_graph(chain.data, neighbors, joining.neighbors.pieces, joining.rule)
        data = chain.data if kept is None else chain.data.take(kept)
        plan = self._plan(graph)
        chain.require(self._solving(graph, plan), data)
        base = GivenGraph(graph) if isinstance(data, LengthGraph) else Geodesics(neighbors, graph, *training(data))
        if chain.landmarks is not None:
            return self._by_landmarks(base, kept)
        if chain.kernel.bent:
            halved = chain.geodesic.halved(graph, plan, chain.compute)
            kernel, similarity = of_function(chain, halved, base, rounding_of(plan))
            spectrum = solved(chain, kernel, graph.size - (chain.centering == "double"))
            return fitted_by(chain, spectrum, similarity, kept=kept)
        whole = chain.geodesic.kernel(graph, chain.compute, plan)
        return fitted_by(chain, solved(chain, whole, graph.size - 1), base, kept=kept, rows=whole.quick_rows)

    def _by_landmarks(self, base: Geodesics | GivenGraph, kept: Indices | None) -> Fitted:
        """The fit of some points, which place the others (de Silva and Tenenbaum, 2004)."""
        chain = self.chain
        landmarks = choose_landmarks(base.graph.size, chain.landmarks or 0, chain.compute.generator())
        rows = chain.geodesic.from_landmarks(base.graph, landmarks)
        base = replace(base, landmarks=landmarks)
        kernel, similarity = of_function(chain, rows[landmarks], base)
        spectrum = solved(chain, kernel, len(landmarks) - (chain.centering == "double"))
        with running("coordinates"):
            rows = rows if similarity is base else similarity.function.of_halved(rows)
            return placed(fitted_by(chain, spectrum, similarity, kept=kept), rows)
