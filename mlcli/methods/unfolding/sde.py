"""Semidefinite embedding, or maximum variance unfolding.

Its kernel has the largest trace that keeps the distances of neighbors (Weinberger and Saul, 2004).
"""

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal

from mlcli.base.frozen import frozen
from mlcli.base.stages.composition import FitStage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Indices
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Joined, LengthGraph
from mlcli.base.values.options import option, option_of
from mlcli.base.values.quantity import Quantity
from mlcli.core.centering import uncentered
from mlcli.core.chain.graphs import GraphChain, GraphStages, neighborhood
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.scaling import solve_spectrum
from mlcli.core.chain.stages import NeighborGraph, RowDecoder, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.kernels.options import KernelOptions
from mlcli.core.kernels.square import kernel_product
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.metrics.distances import metric_of
from mlcli.core.model import Model
from mlcli.core.similarities.path_lengths import GivenGraph
from mlcli.core.similarities.projector import Projector
from mlcli.core.similarities.weights import Barycenters
from mlcli.methods.method import Method
from mlcli.methods.trials import variant
from mlcli.methods.unfolding.pairs import neighbor_pairs
from mlcli.methods.unfolding.semidefinite import SOFTNESS, Outcome, Unfolding

Constraints = Literal["equal", "at_most"]


@frozen
class UnfoldingChain(GraphChain):
    """Semidefinite embedding: max tr K subject to K ⪰ 0, K1 = 0 and the neighbors' distances."""

    chain: ChainInput
    consequence: ClassVar[str] = ", which could drift apart without end: the unfolding is unbounded"

    def after_graph(self, graph: Graph, data: Joined, kept: Indices | None) -> "UnfoldedGraph":
        """Return the stages after the graph, whose pairs determine their costs."""
        return UnfoldedGraph(self.chain, graph, data, kept)


@frozen
class UnfoldedGraph(GraphStages):
    """The kernel K of the neighbor graph, and its coordinates."""

    @cached_property
    def program(self) -> Unfolding:
        """The semidefinite program."""
        program: Unfolding = self.chain.kernel.program()
        return program

    @FitStage
    def unfolded(self) -> Outcome:
        """K = F Fᵀ, with its certificate."""
        return self.program(self.graph, self.data, self.chain.compute)

    @unfolded.cost
    def _(self) -> list[Step]:
        return [self.program.step(self.pairs, self.graph.size, self.chain.compute.thread_count())]

    @cached_property
    def pairs(self) -> int:
        """The number of pairs whose distances are kept."""
        return len(neighbor_pairs(self.graph, self.data, self.program.common))

    @FitStage
    def spectrum(self) -> Spectrum:
        """K = V Λ Vᵀ."""
        found = solve_spectrum(self.chain, self.unfolded.kernel, self.graph.size - 1)
        return replace(found.without_turns(), directions=None)  # which are of no columns; the program turns axes more

    @spectrum.cost
    def _(self) -> list[Step]:
        size = self.program.vectors(self.pairs) or self.graph.size
        return [self.chain.stages.eigensolve.step(size, self.chain.compute.thread_count(),
                                           8.0 * size * (self.graph.size + size))]

    def result(self) -> Model:
        """Return the coordinates V √Λ, and the weights of neighbors or the path lengths of new points."""
        chain, graph, data, found, spectrum = self.chain, self.graph, self.data, self.unfolded, self.spectrum
        embedding = spectrum.vectors * chain.stages.coordinates.sizes(spectrum)
        similarity = GivenGraph(graph) if isinstance(data, LengthGraph) else Barycenters(
            neighborhood(chain), data.values, chain.kernel.ridge, isinstance(data, Dissimilarities), metric_of(data))
        factor = found.unfolded.factor
        products = {"graph": graph.product(),
                    **kernel_product(graph.size, lambda chosen: factor[chosen] @ factor.T, uncentered(graph.size))}
        return Model(embedding=embedding, spectrum=spectrum, kept=self.kept, products=products,
                     projector=Projector(similarity, uncentered(graph.size), embedding),
                     fit=found.certificate.facts, objective=Quantity(found.trace, 2), unfolded=found.unfolded)


class UnfoldingKernel(KernelOptions):
    """The kernel of the largest trace that keeps the distances of neighbors."""

    name: Literal["unfolding"] = "unfolding"
    of_graph: ClassVar[bool] = True
    centered: ClassVar[bool] = True
    way: ClassVar = UnfoldingChain
    checked_by: ClassVar[str] = "mlcli.methods.unfolding.check:unfolding_checks"
    unit_power: ClassVar[int] = 1
    of_points: ClassVar[tuple[str, ...]] = ("common_neighbors", "ridge")
    constraints: Constraints = option(
        "equal", "Distances between neighbors stay equal (equal), or do not grow (at_most).")
    common_neighbors: bool = option(False, "Whether pairs of points with a common neighbor are constrained as "
                                    "neighbors are.")
    basis: int | None = option(
        None, "Number of Laplacian eigenvectors in the basis of the kernel; 0: no basis, the full problem (default: "
        "by the number of neighbor pairs).", ge=0)
    softness: float = option(SOFTNESS, "With a basis: approximate relative error allowed in squared distances.", gt=0)
    tolerance: float = option(1e-4, "Largest duality gap and largest violation of a constraint, both relative.",
                              gt=0, lt=1)
    iterations: int = option(100, "Largest number of steps of the interior-point method.", ge=1)
    accept_uncertified: bool = option(False, "Whether a result that is not proven optimal to the tolerance gives a "
                                      "warning instead of an error.")
    ridge: float = option(1e-3, "Regularization of the weights of new points, as in lle.", gt=0)

    def program(self) -> Unfolding:
        """Return the semidefinite program of the options."""
        return Unfolding(equal=self.constraints == "equal", common=self.common_neighbors, basis=self.basis,
                         softness=self.softness, tolerance=self.tolerance, limit=self.iterations,
                         accepted=self.accept_uncertified)


class SDE(Method):
    """Points pulled as far apart as the distances between neighbors allow (maximum variance unfolding).

    It keeps the distances between neighbors, exactly if it can, while everything else is pulled apart. It fails if
    there are no points with such distances, as may be the case for given dissimilarities, or if the graph is in pieces,
    which could move apart without limit. Set the number of neighbors first (`-k`). Keep it small, such as 5: every pair
    of neighbors is a condition, and each takes time.

    How it works: Think of neighbors joined by rods, and of all points pulled apart until the net is taut: a curved
    sheet becomes flat. The inner products of the points form the kernel, and its trace is the sum of their squared
    distances from the center. Of all positive semidefinite, centered kernels that keep the distance of every two
    neighbors (`equal`), or let none grow (`at_most`), it has the largest trace. A semidefinite program finds it. The
    dual of this program gives a bound that no such trace exceeds, and shows how near the result is to the optimum:
    `fit` in `run.json` holds the trace, the bound (`dual_bound`), the relative gap between both (`duality_gap`), and
    the largest violation of a condition (`constraint_violation`).

    If neighborhoods are flat or rigid, the conditions of `equal` leave the kernel only a few directions; these are
    found first. A result whose gap or violation is above the `tolerance` is an error, and with `accept_uncertified` a
    warning. If under `equal` rounding stops the solver near the optimum, it is a warning in any case (`W-UNCONVERGED`).

    Many points: With more than 8,000 pairs of neighbors, the kernel is built from 50 smooth vectors only, the Laplacian
    eigenvectors of the graph (`basis` sets another number). It can then not keep all distances exactly: errors are
    penalized (`softness`), and the bound includes the penalty.

    New points: A new point is placed at the weighted mean of its neighbors' coordinates, with weights as in `lle`.

    Back to features: With `decoder`, `mlcli reconstruct` turns coordinates back into features: `barycentric` takes a
    weighted mean of the features of the rows whose coordinates are nearest, `ridge` a regression of the features on the
    coordinates.

    Source: Weinberger and Saul, 2006; Weinberger, Sha, Zhu and Saul, 2006; Sun, Boyd, Xiao and Diaconis, 2006.
    """

    accepts: ClassVar = (Features, Dissimilarities, LengthGraph)
    decodes: ClassVar = "method.decoder"
    variants: ClassVar = (
        variant("", "quick", neighbors={"count": 6}),
        variant("at most", "quick", neighbors={"count": 6}, constraints="at_most", decoder={"name": "barycentric"}),
        variant("cityblock", "quick", "rotation", neighbors={"count": 6}, metric="cityblock", constraints="at_most"),
        variant("basis", "quick", neighbors={"count": 6}, basis=12))
    later: ClassVar = ("decoder",)
    axis: ClassVar = "SDE"
    name: Literal["sde"] = "sde"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    graph: Literal["union", "mutual"] = option_of(NeighborGraph, "rule")
    constraints: Constraints = option_of(UnfoldingKernel, "constraints")
    common_neighbors: bool = option_of(UnfoldingKernel, "common_neighbors")
    basis: int | None = option_of(UnfoldingKernel, "basis")
    softness: float = option_of(UnfoldingKernel, "softness")
    tolerance: float = option_of(UnfoldingKernel, "tolerance")
    iterations: int = option_of(UnfoldingKernel, "iterations")
    accept_uncertified: bool = option_of(UnfoldingKernel, "accept_uncertified")
    ridge: float = option_of(UnfoldingKernel, "ridge")
    eigensolve: Eigensolve = Eigensolve()
    decoder: RowDecoder = option_of(Stages, "decoder")

    @property
    def squares(self) -> int:
        """The factor of the kernel."""
        return 1

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of the K of largest trace that keeps neighbors' distances, K1 = 0; coordinates V √λ."""
        program = {name: getattr(self, name) for name in UnfoldingKernel.model_fields if name != "name"}
        return Stages(metric=self.metric, graph=NeighborGraph(neighbors=self.neighbors, rule=self.graph),
                      kernel=UnfoldingKernel(**program), eigensolve=self.eigensolve, decoder=self.decoder)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return neighbors; raises ConfigError for options of new points or further pairs if the input is a graph."""
        if isinstance(data, LengthGraph):
            self.refuse_unused("the graph is given", *UnfoldingKernel.of_points)
        return super().resolved_stages(data)
