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
from mlcli.stages.chain.chain_input import ChainInput, Fitted
from mlcli.stages.chain.graphs import joined_graph, neighborhood
from mlcli.stages.chain.scaling import solve_spectrum
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.pieces import planned_graph
from mlcli.stages.kernels.pairwise import KernelOptions, Proof
from mlcli.stages.kernels.products import kernel_product
from mlcli.stages.similarities.path_lengths import GivenGraph
from mlcli.stages.similarities.projector import Projector
from mlcli.stages.similarities.weights import Barycenters
from mlcli.stages.unfolding.unfold import SOFTNESS, UNBOUNDED, Unfolding

Constraints = Literal["equal", "at_most"]


@frozen
class UnfoldingChain:
    """Semidefinite embedding: max tr K subject to K ⪰ 0, K1 = 0 and the neighbors' distances."""

    chain: ChainInput

    def steps(self, share: float | None) -> list[Step]:
        """Return the steps; the graph is computed for this, because its pairs determine the other costs."""
        joining = self.chain.joining
        graph, made = planned_graph(self.chain.data, neighborhood(self.chain), joining.neighbors.pieces, joining.rule,
                                    self.chain.compute)
        return [*made, *self._solver_steps(graph, self.chain.data)]

    def _solver_steps(self, graph: Graph, data: Joined) -> list[Step]:
        chain = self.chain
        return chain.kernel.program().steps(graph, data, chain.eigensolve, chain.compute)

    def fit(self) -> Fitted:
        """Return the fit by the eigenvectors of the learned kernel."""
        chain = self.chain
        graph, data, kept = joined_graph(chain, UNBOUNDED)
        chain.require(self._solver_steps(graph, data), data)
        found = chain.kernel.program()(graph, data, chain.compute)
        spectrum = replace(solve_spectrum(chain, found.kernel, graph.size - 1), directions=None)  # of no columns
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
    way: ClassVar = UnfoldingChain
    proof: ClassVar[Proof] = "spectrum"
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
