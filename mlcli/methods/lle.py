"""Locally linear embedding."""

from typing import ClassVar, Literal

from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.base.values.options import option_of
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Powers
from mlcli.methods.frame.trials import InputSummary, Trials, by_neighbors
from mlcli.methods.frame.variants import variant
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric
from mlcli.stages.chain.kernels.reconstruction import Reconstruction
from mlcli.stages.chain.options import AnyDecoder, Coordinates, NeighborGraph
from mlcli.stages.chain.stages import Stages
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.graph.neighbors import Neighbors


class LLE(Method):
    """Coordinates that preserve the weights by which each point is a weighted mean of its neighbors.

    The weights of each point minimize the error of reproducing it from its neighbors, with a ridge of `ridge` times
    the local Gram matrix's trace; they need distances only (Saul and Roweis, 2003). The kernel is M⁺ with
    M = (I - W)ᵀ(I - W), its constant null vector removed. Coordinates have unit variance, because the weights do not
    determine the scale.

    The whole spectrum, and with it a share of variance, is computed up to 600 points. With `decoder` coordinates lead
    back to features, by the weights of neighbors in the embedding or by regression.

    A new point is placed at the weighted mean of its neighbors' coordinates; a training point is placed exactly on
    itself. It fails if neighborhoods span so few directions that the ridge dominates the weights. Source:
    Roweis and Saul, "Nonlinear dimensionality reduction by locally linear embedding", 2000; Saul and Roweis, 2003.
    """

    accepts: ClassVar = (Features, Dissimilarities)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    proof: ClassVar = "weights"
    decodes: ClassVar = "method.decoder"
    rules: ClassVar = ("two_nn", "maximum_likelihood")
    scaleless: ClassVar = True
    repeat_tolerance: ClassVar = 1e-5  # gaps of M⁺ are small relative to rounding in the weights
    variants: ClassVar = (
        variant("", "twins", neighbors={"count": 9}),
        variant("krylov", "twins", "whole", "share", neighbors={"count": 9}, eigensolve={"solver": "krylov"}),
        variant("cityblock", "twins", "rotation", neighbors={"count": 9}, metric="cityblock"),
        variant("cosine", "twins", "shift", neighbors={"count": 9}, metric="cosine", decoder={"name": "barycentric"}))
    later: ClassVar = ("decoder",)
    axis: ClassVar = "LLE"
    name: Literal["lle"] = "lle"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    ridge: float = option_of(Reconstruction, "ridge")
    eigensolve: Eigensolve = Eigensolve()
    decoder: AnyDecoder = option_of(Stages, "decoder")

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return settings by neighborhood size."""
        return by_neighbors(seen)

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of K = M⁺, M = (I - W)ᵀ(I - W), W weights of neighbors; coordinates √n V of K = V Λ Vᵀ."""
        return Stages(metric=self.metric, graph=NeighborGraph(neighbors=self.neighbors),
                      kernel=Reconstruction(ridge=self.ridge), eigensolve=self.eigensolve,
                      coordinates=Coordinates(scale="variance"), decoder=self.decoder)
