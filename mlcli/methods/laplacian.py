"""Laplacian eigenmaps."""

from typing import Any, ClassVar, Literal

from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Input, LengthGraph
from mlcli.base.values.options import option_of
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Powers
from mlcli.methods.frame.trials import InputSummary, Trials, by_neighbors
from mlcli.methods.frame.variants import variant
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric
from mlcli.stages.chain.kernels.graph_laplacian import GraphLaplacian
from mlcli.stages.chain.options import AnyDecoder, Coordinates, NeighborGraph
from mlcli.stages.chain.stages import Stages
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.graph.affinities import Affinity, weights_for
from mlcli.stages.graph.neighbors import Neighbors


class Laplacian(Method):
    """Coordinates that differ little between neighbors: the smoothest functions on the neighbor graph.

    They solve L y = λ D y, or L y = λ y (`normalized: false`), with W the weights of the edges, D their sums at each
    point and L = D - W: λ is the cost Σ w (yᵢ - yⱼ)², as a share of Σ d y². The kernel is the inverse of the cost, its
    constant solution removed; `spectrum.csv` holds the kernel's eigenvalues 1/λ with their costs. Coordinates have unit
    variance, weighted by D, because the weights do not determine the scale. The whole spectrum, and with it a share of
    variance, is computed up to 600 points.

    Weights are 1, exp(-r d²) of the length d of an edge (`heat`), or exp(-d² / (σ σ')) with a scale σ of each of its
    ends (`adaptive`): the distance to the point's 7th neighbor, or another one, so that dense and sparse parts of the
    data have weights alike. A new point has a scale of its own too.

    A new point is placed at the weighted mean of its neighbors' coordinates, over 1 - λ (Nyström); one that equals a
    training point, on that point: on one of several, as equal rows with other neighbors have other coordinates. On an
    axis of cost 1 these means are always 0: new points have no coordinate there, and a warning says so. It fails if
    only a few edges connect parts of the data: the first axes then only separate these parts. With `decoder`
    coordinates lead back to features, by neighbors in the embedding or by regression.
    Source: Belkin and Niyogi, "Laplacian eigenmaps for dimensionality reduction and data representation", 2003; new
    points: Bengio and others, 2004; scales: Zelnik-Manor and Perona, "Self-tuning spectral clustering", 2004.
    """

    accepts: ClassVar = (Features, Dissimilarities, LengthGraph, AffinityGraph)
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
    decoder: AnyDecoder = option_of(Stages, "decoder")

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
