"""Semidefinite embedding, or maximum variance unfolding."""

from typing import Any, ClassVar, Literal

from mlcli.base.values.inputs import Dissimilarities, Features, Input, LengthGraph
from mlcli.base.values.options import option_of
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.variants import variant
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric
from mlcli.stages.chain.kernels.unfolding import Constraints, UnfoldingKernel
from mlcli.stages.chain.options import AnyDecoder, NeighborGraph
from mlcli.stages.chain.stages import Stages
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.graph.neighbors import Neighbors


class SDE(Method):
    """Points pulled as far apart as the distances between neighbors allow (maximum variance unfolding).

    The kernel has the largest trace among those that are positive semidefinite, centered, and keep the distance of
    every two neighbors (`equal`), or let none grow (`at_most`). It is found by a semidefinite program, whose dual
    bounds the trace of all others: the run states trace, bound, gap and violation. It fails if no points have the given
    distances, or if the graph is in pieces, which could move apart without limit.

    Flat or rigid neighborhoods leave the kernel few directions under `equal`: groups of neighbors show them, and then
    stresses of the graph. If rounding ends the solution above the tolerance, a warning states gap and violation.
    For many points the kernel is restricted to a basis of smooth vectors: errors of lengths are then penalized, and the
    bound includes the penalty.

    A new point is placed at the weighted mean of its neighbors' coordinates; with `decoder` coordinates lead back to
    features in the same way. Source: Weinberger and Saul, 2006;
    Weinberger, Sha, Zhu and Saul, 2006; Sun, Boyd, Xiao and Diaconis, 2006.
    """

    accepts: ClassVar = (Features, Dissimilarities, LengthGraph)
    proof: ClassVar = "spectrum"
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
    decoder: AnyDecoder = option_of(Stages, "decoder")

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
