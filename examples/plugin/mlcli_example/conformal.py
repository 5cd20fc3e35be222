"""C-Isomap: geodesic distances in units of the local distance to neighbors."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.check import EPS, Check, count, ratio
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Spatial
from mlcli.base.values.products import Products
from mlcli.base.values.scaling import Unit
from mlcli.certify.eigen import spectrum_checks
from mlcli.certify.kernel import kernel_checks
from mlcli.certify.projection import kernel_tolerance, projector_checks
from mlcli.certify.subject import Subject
from mlcli.core.centering import Centering
from mlcli.core.check.kernels import of_paths
from mlcli.core.check.metrics import bounded_distances
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.euclidean_distances import gower
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Nearest, Neighbors
from mlcli.core.graph.pieces import connected_graph, graph_steps, planned_graph
from mlcli.core.graph.search import Lists
from mlcli.core.kernels.forms import Dense, gower_steps
from mlcli.core.kernels.streamed import Streamed
from mlcli.core.metrics import EUCLIDEAN, AnyMetric, RowMetric
from mlcli.core.metrics.distances import training_points
from mlcli.core.model import Powers
from mlcli.core.paths.paths import REMEDY, PathPlan, Paths, paths_of_new
from mlcli.core.similarities.base import Parts, Similarity
from mlcli.core.similarities.path_lengths import path_products
from mlcli.core.similarities.projector import Projector
from mlcli.core.similarities.spaces import GeodesicSpace, Space
from mlcli.errors import GeometryError
from mlcli.methods import Method, Model
from mlcli.methods.method import require_memory
from mlcli.methods.trials import InputSummary, Trials, by_neighbors, variant

CHECKED = 64  # points whose edges the certificate looks at, unless it checks all


@stored(points="nd", scales="n")
@frozen
class ConformalPaths(Similarity):
    """Path lengths from new points into a graph whose edges are in units of the local distance to neighbors."""

    neighbors: Nearest
    graph: Graph
    scales: Array  # n: M, the mean distance of each point to its neighbors
    points: Array | None  # n x d; None where dissimilarities are given
    metric: RowMetric = EUCLIDEAN

    @property
    def parts(self) -> Parts:
        """The points and their metric."""
        return Parts(points=self.points, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of training points."""
        return self.graph.size

    def rows(self, new: Array) -> Array:
        """Return -δ²/2 (m x n) with δ the shortest paths from x, whose edges are d(x, xⱼ) / √(M(x) M(j))."""
        lists = self.neighbors.of_new(new, self.points, self.metric)
        own = np.add.reduceat(lists.lengths, lists.starts[:-1]) / lists.counts
        roots = np.sqrt(own[lists.rows] * self.scales[lists.indices])
        lengths = np.divide(lists.lengths, roots, out=np.zeros_like(roots), where=roots > 0)
        return gower(np.square(paths_of_new(self.graph, Lists(lists.starts, lists.indices, lengths))))

    def products(self, centering: Centering) -> Products:
        """Return the graph and the matrices of its path lengths."""
        return path_products(self.graph, True, centering)

    def distance_unit(self, unit: Unit) -> Unit:
        """Return no unit: an edge is a ratio of distances."""
        return Unit()

    def space(self, rows: RowsOf | None, units: tuple[Unit, Unit], compute: Compute) -> Space:
        """Return the space of shortest paths on the graph."""
        return GeodesicSpace(self.graph, units[0], rows, compute)


class Conformal(Method):
    """A curved surface unrolled whose scale may differ from place to place: C-Isomap.

    Isomap with the edges d / √(M(i) M(j)) of the neighbor graph, where M is the mean distance of a point to its
    neighbors: where points are dense, space is enlarged, so a surface that was mapped conformally, as by a lens, is
    recovered up to its scale if points were uniform on it. It fails if density tells no scale, and as Isomap does if a
    short circuit joins two sheets. Source: de Silva and Tenenbaum, "Global versus local methods in nonlinear
    dimensionality reduction", 2003.
    """

    accepts: ClassVar = (Features, Dissimilarities)
    powers: ClassVar = Powers(0, 0)
    decodes: ClassVar = None
    rules: ClassVar = ("residual_variance", "two_nn", "broken_stick", "elbow")
    has_loadings: ClassVar = False
    variants: ClassVar = (variant("", neighbors={"count": 9}), variant("cosine", "shift", metric="cosine"))
    axis: ClassVar = "C-Isomap"
    name: Literal["conformal"] = "conformal"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    paths: Paths = Paths()
    eigensolve: Eigensolve = Eigensolve()

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return settings by neighborhood size."""
        return by_neighbors(seen)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return neighbors, at most n - 1; raises ConfigError for a radius, which leaves M about the same everywhere.
        """
        self.refuse_unused("edges are in units of the mean distance to a count of neighbors", "neighbors.radius")
        return super().resolved_stages(data)

    def steps_before_fit(self, data: Spatial, compute: Compute) -> list[Step]:
        """Return the search for neighbors; the graph decides the other costs."""
        return graph_steps(data, self.neighbors.neighborhood(data), compute)

    def steps(self, data: Spatial, compute: Compute, share: float | None) -> list[Step]:
        """Return the graph, its shortest paths and the eigenvalues."""
        graph, made = planned_graph(data, self.neighbors.neighborhood(data), self.neighbors.pieces, "union", compute)
        return [*made, *AfterGraph(self, graph, compute, share).steps()]

    def solve(self, data: Spatial, compute: Compute) -> Model:
        """Return V √λ of K = -H D² H / 2, D the shortest paths along edges d / √(M(i) M(j))."""
        neighbors = Nearest(self.neighbors.count or 0)
        graph, kept = connected_graph(data, neighbors, self.neighbors.pieces, "union")
        data = data if kept is None else data.take(kept)
        with running("graph"):
            scales = mean_lengths(graph, neighbors.count)
            graph = Graph(graph.starts, graph.indices, graph.lengths / np.sqrt(scales[tails(graph)]
                                                                               * scales[graph.indices]))
        stages = AfterGraph(self, graph, compute)
        require_memory(stages.steps(), data, self, compute)
        kernel, spectrum = stages.fit()
        similarity = ConformalPaths(neighbors, graph, scales, *training_points(data))
        return Model(embedding=spectrum.coordinates(), spectrum=spectrum, kept=kept, rows=kernel.quick_rows,
                     projector=Projector(similarity, spectrum.centering, spectrum.inverse_roots()),
                     products=similarity.products(spectrum.centering))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Yield the checks of the spectrum and of the projector, and between them those of paths, edges and M."""
        scaled = subject.rescale_axes("roots")
        yield from spectrum_checks(scaled)
        yield from projector_checks(scaled, path_checks(scaled), kernel_tolerance)


@frozen
class AfterGraph(Composition[tuple[Dense | Streamed, Spectrum]]):
    """The stages after the neighbor graph in their order, each with its cost: K = -H D² H / 2, and K = V Λ Vᵀ."""

    method: Conformal
    graph: Graph  # for a plan with other lengths, but along the same edges
    compute: Compute
    share: float | None = None  # of the paths, which `mlcli plan --measure` times

    @cached_property
    def plan(self) -> PathPlan:
        """How paths are found, and whether they are stored."""
        return self.method.paths.plan(self.graph, self.compute)

    @FitStage
    def kernel(self) -> Dense | Streamed:
        """K, in memory or computed again in each pass."""
        return self.method.paths.kernel(self.graph, self.compute, self.plan)

    @kernel.cost
    def _(self) -> list[Step]:
        size, held = self.graph.size, self.plan.memory
        stored = [] if self.plan.store == "streamed" else gower_steps(size**2, held, REMEDY, square=True)
        return [*self.method.paths.steps(self.graph, self.plan, self.share), *stored]

    @FitStage
    def spectrum(self) -> Spectrum:
        """Λ and V."""
        return self.method.eigensolve(self.kernel, self.graph.size - 1, self.compute)

    @spectrum.cost
    def _(self) -> list[Step]:
        eigensolve, plan = self.method.eigensolve, self.plan
        if plan.store == "streamed":
            return [self.method.paths.streamed_step(self.graph, plan, eigensolve, self.share)]
        return [eigensolve.step(self.graph.size, self.compute.thread_count(), plan.memory, REMEDY, square=True)]

    def result(self) -> tuple[Dense | Streamed, Spectrum]:
        """Return the kernel and its spectrum."""
        return self.kernel, self.spectrum


def tails(graph: Graph) -> Indices:
    """Return the point at which each edge begins, an array as long as `graph.indices`."""
    return np.repeat(np.arange(graph.size), np.diff(graph.starts))


def mean_lengths(graph: Graph, neighbors: int) -> Array:
    """Return the mean length (n) of the shortest edges of each point, so many: those to its own neighbors.

    Raises GeometryError for a point that equals all of them.
    """
    order = np.lexsort((graph.lengths, tails(graph)))
    starts = graph.starts[:-1, None] + np.minimum(np.arange(neighbors), np.diff(graph.starts)[:, None] - 1)
    means: Array = graph.lengths[order][starts].mean(axis=1)
    if not means.all():
        raise GeometryError("NO-SCALE", f"a point equals its {neighbors} nearest neighbors, which give no scale",
                            row=int(np.flatnonzero(means == 0)[0]), hint="use more neighbors, or leave copies out")
    return means


def path_checks(subject: Subject) -> Iterator[Check]:
    """Yield the checks of the eigenproblem with paths proven shortest, and of neighbors, M and edges by distances.

    Of some points, or of all; by code that the fit does not use.
    """
    similarity, data, full = subject.similarity, subject.data, subject.plan.full
    assert isinstance(similarity, ConformalPaths)
    graph, size = similarity.graph, len(data.values)
    yield from kernel_checks(subject, of_paths(graph, subject.fit, full))
    chosen = np.unique(np.linspace(0, size - 1, size if full else CHECKED).astype(np.int64))
    wrong, worst = 0, 0.0
    for row in chosen.tolist():
        distances = data.values[row] if isinstance(data, Dissimilarities) else (
            bounded_distances(similarity.metric, data.values[row : row + 1], data.values).distances[0])
        others = np.delete(np.arange(size), row)
        nearest = np.partition(distances[others], similarity.neighbors.count - 1)[: similarity.neighbors.count]
        edges = slice(graph.starts[row], graph.starts[row + 1])
        joined, lengths = graph.indices[edges], graph.lengths[edges]
        expected = distances[joined] / np.sqrt(nearest.mean() * similarity.scales[joined])
        worst = max(worst, float(np.abs(lengths - expected).max() / expected.max()))
        near = others[distances[others] < nearest.max() * (1 - 1e-9)]
        wrong += len(np.setdiff1d(near, joined))
    yield count("conformal neighbors", wrong, "neighbors without an edge", exact=full)
    yield ratio("conformal edges", worst, EPS * 2**10, "edges are d / √(M(i) M(j)), by distances of their own",
                exact=full)
