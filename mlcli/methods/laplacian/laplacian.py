"""Laplacian eigenmaps.

Their kernel is the inverse of the neighbor graph's Laplacian (Belkin and Niyogi, 2003).
"""

from typing import Any, ClassVar, Literal, Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Indices
from mlcli.base.values.inputs import (
    AffinityGraph,
    Dissimilarities,
    Features,
    Given,
    Input,
    Joined,
    LengthGraph,
    WeightedGraph,
)
from mlcli.base.values.options import option, option_of
from mlcli.base.values.products import Name
from mlcli.base.values.signs import leading_signs
from mlcli.core.centering import uncentered
from mlcli.core.chain.graphs import joined_graph, neighbor_steps, neighborhood, predict_cost
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.scaling import scale_coordinates, solve_spectrum
from mlcli.core.chain.stages import Coordinates, NeighborGraph, RowDecoder, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.affinities import Affinity, Binary, Weighted, weighted, weights_for, weights_step
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.graph.pieces import entries_of
from mlcli.core.kernels.inverse import CostSize, Inverse, inverse_step
from mlcli.core.kernels.options import KernelOptions
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.metrics.distances import training_points
from mlcli.core.model import Model, Powers
from mlcli.core.similarities.projector import Projector
from mlcli.core.similarities.weights import Affinities, EdgeAffinities
from mlcli.methods.method import Method
from mlcli.methods.trials import InputSummary, Trials, by_neighbors, variant

NEAREST_ONE = 1e-8  # distance from one of a cost on whose axis new points have no coordinate


@frozen
class LaplacianChain(Composition[Model]):
    """Laplacian eigenmaps by the inverse of L = D - W, or of S⁻¹ L S⁻¹ with S = √D, with coordinates S⁻¹ u."""

    chain: ChainInput

    @FitStage
    def joined(self) -> tuple[Graph, Joined, Indices | None]:
        """The neighbor graph in one piece, its points, and which of all these are, where some are left out (m)."""
        return joined_graph(self.chain)

    @joined.cost
    def _(self) -> list[Step]:
        return neighbor_steps(self.chain)

    @FitStage
    def edges(self) -> Weighted:
        """W and S."""
        (graph, data, _), kernel = self.joined, self.chain.kernel
        return weighted(graph, kernel.weights, data.unit, kernel.normalized)

    @edges.cost
    def _(self) -> list[Step]:
        return [weights_step(self.entries)]

    @property
    def entries(self) -> int:
        """The predicted number of edges, each in both directions."""
        return entries_of(self.chain.joined, neighborhood(self.chain))

    @FitStage
    def spectrum(self) -> Spectrum:
        """The bottom eigenvectors u, by filters or one sparse factorization."""
        edges, normalized = self.edges, self.chain.kernel.normalized
        kernel = Inverse(edges.root(), edges.scale / self.size if normalized else None,
                         where="method.weights", hint="choose a smaller rate, or more neighbors",
                         filtered=self.cost_size.by_filters(self.chain.stages.eigensolve))
        return solve_spectrum(self.chain, kernel, kernel.size - 1)

    @spectrum.cost
    def _(self) -> list[Step]:
        return [inverse_step(self.chain.stages.eigensolve, self.cost_size)]

    @property
    def cost_size(self) -> CostSize:
        """The predicted size of L."""
        (rows, columns), tall = self.chain.data.values.shape, self.entries * 2 // 3
        return predict_cost(self.chain, neighborhood(self.chain), CostSize(
            rows=rows, count=self.entries // rows, columns=columns, tall=tall, numbers=2 * tall, squared=False))

    @property
    def size(self) -> float:
        """The norm of the diagonal of S."""
        with single_threaded_blas():  # as several threads round the sum otherwise
            return float(np.linalg.norm(self.edges.scale))

    def result(self) -> Model:
        """Return the coordinates, and for new points the weighted means of these over 1 - λ."""
        chain, (graph, data, kept), edges, spectrum = self.chain, self.joined, self.edges, self.spectrum
        normalized = chain.kernel.normalized
        embedding = scale_coordinates(chain, spectrum, spectrum.vectors * (self.size / edges.scale)[:, None])
        embedding *= leading_signs(embedding)
        similarity = EdgeAffinities(graph, edges.affinity) if isinstance(data, WeightedGraph) else Affinities(
            neighborhood(chain), edges.affinity, graph, *training_points(data), walking=normalized)
        left = 1 - 1 / spectrum.solved[: embedding.shape[1]] if normalized else np.ones(embedding.shape[1])
        axes = np.where(np.abs(left) > NEAREST_ONE, embedding / np.where(left == 0, 1.0, left), 0.0)
        return Model(embedding=embedding, spectrum=spectrum, kept=kept, products=edges.products(),
                     projector=Projector(similarity, uncentered(graph.size), axes))


class GraphLaplacian(KernelOptions):
    """The inverse of the graph's Laplacian D - W, without its constant solution."""

    name: Literal["graph_laplacian"] = "graph_laplacian"
    of_graph: ClassVar[bool] = True
    of_weights: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    centered: ClassVar[bool] = True
    variances: ClassVar[bool] = False
    way: ClassVar = LaplacianChain
    checked_by: ClassVar[str] = "mlcli.methods.laplacian.check:laplacian_checks"
    makes: ClassVar[tuple[Name, ...]] = ("weights",)
    weights: Affinity = option(Binary(), "Weights of the edges.", adapts=True)
    normalized: bool = option(True, "Normalized Laplacian (L y = λ D y), or not (L y = λ y).")

    @property
    def unit_power(self) -> int:
        """The power of the data's unit in coordinates: -1 for given weights unless normalized, otherwise 0."""
        return -1 if self.weights.of == "affinities" and not self.normalized else 0

    def for_data(self, data: Given, neighbors: Neighbors) -> Self:
        """Return the kernel with the weights of a given graph, unless others were chosen, and ranks of neighbors."""
        return self.replace(weights=weights_for(data, self.weights, self.chosen("weights"), neighbors))


class Laplacian(Method):
    """Coordinates that differ little between neighbors: the smoothest functions on the neighbor graph.

    It keeps neighbors near each other, and parts of the data that few edges join apart. It fails if only a few edges
    connect parts of the data: the first axes then only separate these parts. Set the number of neighbors first (`-k`),
    then the `weights` of the edges.

    How it works: Neighbors are joined by edges. Coordinates are the functions on the points that differ least along the
    edges, yet are not constant, like the slowest vibrations of a net. They solve L y = λ D y, or with `normalized:
    false` L y = λ y. Here W holds the weights of the edges, D has their sums at each point on its diagonal, and L = D -
    W. λ is the cost Σ w (yᵢ - yⱼ)² of a coordinate over the edges, divided by Σ dᵢ yᵢ², with dᵢ the entry of D at point
    i. The kernel is the inverse of the cost matrix, without the constant solution. Coordinates have unit variance,
    weighted by D, because the weights do not determine the scale.

    The weight of an edge of length l is 1 (`binary`), exp(-r l²) (`heat`, with the rate r), or exp(-l² / (σ σ')) with
    the scales σ and σ' of its ends (`adaptive`). The scale of a point is its distance to its 7th neighbor, or to
    another one (`weights.nearest`), so that weights are similar in dense and sparse parts of the data.

    Many points: The smallest costs come from one sparse factorization, whose fill grows with the dimension of the data,
    or from filters (`eigensolve.solver: filter`): polynomials of the cost matrix that are large at small costs alone,
    so that products with the matrix are enough, a few hundred of them in many dimensions and thousands on a surface.
    For more than 20,000 points the quicker one is taken, as predicted from samples of the points.

    New points: A new point is placed at the weighted mean of its neighbors' coordinates, divided by 1 - λ (Nyström's
    formula). With `adaptive` weights it has a scale of its own. A new point that equals a training point is placed on
    it; if it equals several, on one of them, since equal rows may have different neighbors and so different
    coordinates. On an axis of cost 1 the weighted means are always 0: new points have no coordinate there, and a
    warning says so.

    Back to features: With `decoder`, `mlcli reconstruct` turns coordinates back into features: `barycentric` takes a
    weighted mean of the features of the rows whose coordinates are nearest, `ridge` a regression of the features on the
    coordinates.

    Files: `spectrum.csv` holds the kernel's eigenvalues 1/λ with their costs λ. For up to 600 points, or with
    `eigensolve.solver: dense`, all of them are computed, and so the share of each in their sum (`proportion`);
    otherwise only the largest, without shares.

    Source: Belkin and Niyogi, "Laplacian eigenmaps for dimensionality reduction and data representation", 2003; new
    points: Bengio and others, 2004; scales: Zelnik-Manor and Perona, "Self-tuning spectral clustering", 2004.
    """

    accepts: ClassVar = (Features, Dissimilarities, LengthGraph, AffinityGraph)
    judged_by: ClassVar = "neighbors"
    decodes: ClassVar = "method.decoder"
    rules: ClassVar = ("two_nn", "maximum_likelihood")
    scaleless: ClassVar = True
    repeat_tolerance: ClassVar = 1e-7  # the smallest costs have few correct digits
    variants: ClassVar = (
        variant("", neighbors={"count": 9}), variant("heat", neighbors={"count": 9}, weights={"name": "heat"}),
        variant("adaptive", neighbors={"count": 9}, weights={"name": "adaptive"}),
        variant("plain", neighbors={"count": 9}, normalized=False, decoder={"name": "barycentric"}),
        variant("cosine", "shift", metric="cosine", neighbors={"count": 13}),
        variant("krylov", "whole", "share", neighbors={"count": 9}, eigensolve={"solver": "krylov"}),
        variant("filter", "whole", "share", neighbors={"count": 9}, eigensolve={"solver": "filter"}),
        variant("canberra", "rotation", "shift", neighbors={"count": 13}, metric="canberra"))
    later: ClassVar = ("decoder",)
    axis: ClassVar = "Laplacian"
    name: Literal["laplacian"] = "laplacian"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    graph: Literal["union", "mutual"] = option_of(NeighborGraph, "rule")
    weights: Affinity = option_of(GraphLaplacian, "weights")
    normalized: bool = option_of(GraphLaplacian, "normalized")
    eigensolve: Eigensolve = Eigensolve()
    decoder: RowDecoder = option_of(Stages, "decoder")

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return settings by neighborhood size."""
        return by_neighbors(seen)

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of K = (D^(-1/2) (D - W) D^(-1/2))⁺ or (D - W)⁺, W edge weights; √n D^(-1/2) V."""
        kernel = GraphLaplacian(normalized=self.normalized)  # its weights depend on the data where none are chosen
        return Stages(metric=self.metric, graph=NeighborGraph(neighbors=self.neighbors, rule=self.graph),
                      kernel=kernel.replace(weights=self.weights) if self.chosen("weights") else kernel,
                      eigensolve=self.eigensolve, coordinates=Coordinates(scale="variance"), decoder=self.decoder)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return neighbors and weights; a graph with affinities has these as weights, unless others are chosen."""
        found = super().resolved_stages(data)
        return {**found, "weights": weights_for(data, self.weights, self.chosen("weights"),
                                                found.get("neighbors", self.neighbors))}

    def powers_of(self, data: Input) -> Powers:
        """Return the powers of the unit: costs are in the unit of given weights, unless normalized."""
        return Powers(coordinates=0, spectrum=2 * self.chain().power)
