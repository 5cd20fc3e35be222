"""The kernel of semidefinite embedding: the largest trace that keeps the distances of neighbors."""

from dataclasses import replace
from typing import ClassVar, Literal

from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.base.values.inputs import Dissimilarities, Joined, LengthGraph
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.metrics.points import metric_of
from mlcli.stages.chain.graphs import joined, neighborhood
from mlcli.stages.chain.scaling import solved
from mlcli.stages.chain.setting import Fitted, Setting
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.pieces import planned_graph
from mlcli.stages.kernels.pairwise import KernelOptions, Proof
from mlcli.stages.kernels.products import kernel_product
from mlcli.stages.similarities import Barycenters, GivenGraph, Projector
from mlcli.stages.unfolding.unfold import SOFTNESS, UNBOUNDED, Unfolding

Constraints = Literal["equal", "at_most"]


@frozen
class OfUnfolding:
    """max tr K subject to K ⪰ 0, K1 = 0 and the neighbors' distances."""

    chain: Setting

    def steps(self, share: float | None) -> list[Step]:
        """The graph is computed, because its pairs decide the rest."""
        joining = self.chain.joining
        graph, made = planned_graph(self.chain.data, neighborhood(self.chain), joining.neighbors.pieces, joining.rule,
                                    self.chain.compute)
        return [*made, *self._solving(graph, self.chain.data)]

    def _solving(self, graph: Graph, data: Joined) -> list[Step]:
        chain = self.chain
        return chain.kernel.program().steps(graph, data, chain.eigensolve, chain.compute)

    def fitted(self) -> Fitted:
        """The eigenvectors of the kernel that was learned."""
        chain = self.chain
        graph, data, kept = joined(chain, UNBOUNDED)
        chain.require(self._solving(graph, data), data)
        found = chain.kernel.program()(graph, data, chain.compute)
        spectrum = replace(solved(chain, found.kernel, graph.size - 1), directions=None)  # of no columns
        embedding = spectrum.vectors * chain.coordinates.sizes(spectrum)
        similarity = GivenGraph(graph) if isinstance(data, LengthGraph) else Barycenters(
            neighborhood(chain), data.values, chain.kernel.ridge, isinstance(data, Dissimilarities), metric_of(data))
        factor = found.unfolded.factor
        products = {"graph": graph.product(),
                    **kernel_product(graph.size, lambda chosen: factor[chosen] @ factor.T, uncentered(graph.size))}
        return Fitted(embedding=embedding, spectrum=spectrum, kept=kept, products=products,
                      projector=Projector(similarity, uncentered(graph.size), embedding),
                      fit=found.certificate.facts, objective=Quantity(found.trace, 2), unfolded=found.unfolded)


class UnfoldingKernel(KernelOptions):
    """The kernel of the largest trace that keeps the distances of neighbors."""

    name: Literal["unfolding"] = "unfolding"
    of_graph: ClassVar[bool] = True
    centered: ClassVar[bool] = True
    way: ClassVar = OfUnfolding
    proof: ClassVar[Proof] = "spectrum"
    unit_power: ClassVar[int] = 1
    of_points: ClassVar[tuple[str, ...]] = ("common_neighbors", "ridge")
    constraints: Constraints = option(
        "equal", "Distances of neighbors are kept (equal), or kept from growing (at_most).")
    common_neighbors: bool = option(False, "Whether pairs with a neighbor in common are held like neighbors.")
    basis: int | None = option(
        None, "Laplacian vectors that span the kernel, 0 for all (default: by the number of pairs).", ge=0)
    softness: float = option(SOFTNESS, "With a basis, the approximate error of squared distances.", gt=0)
    tolerance: float = option(1e-4, "Largest gap to the bound, and largest violation, both relative.", gt=0, lt=1)
    iterations: int = option(100, "Limit of the interior-point method's steps.", ge=1)
    accept_uncertified: bool = option(False, "Whether a result that is not proven to the tolerance is a warning only.")
    ridge: float = option(1e-3, "Regularization of the weights of new points, as in lle.", gt=0)

    def program(self) -> Unfolding:
        """The semidefinite program that the options ask for."""
        return Unfolding(equal=self.constraints == "equal", common=self.common_neighbors, basis=self.basis,
                         softness=self.softness, tolerance=self.tolerance, limit=self.iterations,
                         accepted=self.accept_uncertified)
