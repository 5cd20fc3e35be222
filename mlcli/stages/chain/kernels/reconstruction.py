"""The kernel of locally linear embedding: ((I - W)ᵀ(I - W))⁺ (Roweis and Saul, 2000)."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.values.inputs import Dissimilarities
from mlcli.base.values.options import option
from mlcli.base.values.products import Name, Products, Sparse
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.algebra.metrics.points import metric_of
from mlcli.stages.chain.chain_input import ChainInput, Fitted
from mlcli.stages.chain.graphs import estimate_fill, neighborhood
from mlcli.stages.chain.scaling import scale_coordinates, solve_spectrum
from mlcli.stages.graph.graph import graph_of
from mlcli.stages.graph.pieces import connected_lists, graph_steps
from mlcli.stages.graph.weights import reconstruction_weights, residual_matrix
from mlcli.stages.kernels.inverse import Inverse, inverse_step
from mlcli.stages.kernels.pairwise import KernelOptions, Proof
from mlcli.stages.similarities.projector import Projector
from mlcli.stages.similarities.weights import Barycenters


@frozen
class ReconstructionChain:
    """Locally linear embedding by M⁺, M = (I - W)ᵀ(I - W), with weights W that reproduce points from neighbors."""

    chain: ChainInput

    def steps(self, share: float | None) -> list[Step]:
        """Return the steps of the graph, the local systems, and one sparse factorization, whose fill is estimated."""
        chain, neighbors = self.chain, neighborhood(self.chain)
        (rows, columns), threads, count = chain.data.values.shape, chain.compute.thread_count(), neighbors.usual
        local = rows * count**2 * (columns + count) * 4 / product_rate(threads)
        return [*graph_steps(chain.data, neighbors, chain.compute),
                Step("weights", f"{rows} systems of {count}", local,
                     8.0 * min(rows * count * (columns + count), 2**22)),
                inverse_step(chain.eigensolve, rows=rows, count=count, columns=columns, tall=rows,
                             fill=estimate_fill(chain, squared=True))]

    def fit(self) -> Fitted:
        """Return the fit by the bottom eigenvectors of M."""
        chain, data, neighbors, ridge = self.chain, self.chain.data, neighborhood(self.chain), self.chain.kernel.ridge
        lists, kept = connected_lists(data, neighbors, chain.joining.neighbors.pieces)
        data = data if kept is None else data.take(kept)
        with running("weights"):
            weights = reconstruction_weights(data, lists, ridge)
            root = residual_matrix(weights, lists)
        kernel = Inverse(root, where="method.ridge", hint="use a larger ridge or more neighbors")
        spectrum = solve_spectrum(chain, kernel, len(data.values) - 1)
        embedding = scale_coordinates(chain, spectrum, spectrum.vectors * np.sqrt(len(data.values)))
        similarity = Barycenters(neighbors, data.values, ridge, isinstance(data, Dissimilarities), metric_of(data))
        projector = Projector(similarity, kernel.centering, embedding)
        products: Products = {"graph": graph_of(lists, "union").product(),
                              "weights": Sparse(lists.starts, lists.indices, weights)}
        return Fitted(embedding=embedding, spectrum=spectrum, projector=projector, kept=kept, products=products)


class Reconstruction(KernelOptions):
    """((I - W)ᵀ(I - W))⁺, with W the weights that reproduce each point from its neighbors."""

    name: Literal["reconstruction"] = "reconstruction"
    of_graph: ClassVar[bool] = True
    one_sided: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    centered: ClassVar[bool] = True
    variances: ClassVar[bool] = False
    way: ClassVar = ReconstructionChain
    proof: ClassVar[Proof] = "weights"
    makes: ClassVar[tuple[Name, ...]] = ("weights",)
    unit_power: ClassVar[int] = 0
    ridge: float = option(1e-3, "Regularization of the weights, as a share of the local Gram matrix's trace.", gt=0)
