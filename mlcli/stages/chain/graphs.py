"""Chains whose kernel is computed from the neighbor graph alone: its weights, its Laplacian, or an unfolding."""

from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Indices
from mlcli.base.values.inputs import Dissimilarities, Joined, LengthGraph, WeightedGraph
from mlcli.base.values.products import Products, Sparse
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.algebra.metrics.points import metric_of, training
from mlcli.stages.chain.scaling import scaled, solved
from mlcli.stages.chain.setting import Fitted, Setting
from mlcli.stages.graph.affinities import weighted, weights_step
from mlcli.stages.graph.graph import Graph, graph_of
from mlcli.stages.graph.neighborhoods import Nearest, Neighborhood
from mlcli.stages.graph.pieces import connected_graph, connected_lists, entries_of, graph_steps, planned_graph
from mlcli.stages.graph.weights import reconstruction_weights, residual_matrix
from mlcli.stages.kernels.fill import fill_of
from mlcli.stages.kernels.inverse import Inverse, inverse_step
from mlcli.stages.kernels.products import kernel_product
from mlcli.stages.similarities import Affinities, Barycenters, EdgeAffinities, GivenGraph, Projector
from mlcli.stages.unfolding.unfold import UNBOUNDED

NEAREST_ONE = 1e-8  # how near to one a cost must be for new points to have no coordinate on its axis


def neighborhood(chain: Setting) -> Neighborhood:
    """Who is a neighbor."""
    return chain.joining.neighbors.neighborhood(chain.data)


def joined(chain: Setting, consequence: str = "") -> tuple[Graph, Joined, Indices | None]:
    """The graph in one piece, its points, and which of all they are where some are left out."""
    joining = chain.joining
    graph, kept = connected_graph(chain.data, neighborhood(chain), joining.neighbors.pieces, joining.rule, consequence)
    return graph, chain.data if kept is None else chain.data.take(kept), kept


def fill_among(chain: Setting, *, squared: bool) -> float | None:
    """The entries of the cost's factor, as samples of points tell them."""
    points, neighbors = chain.data.points, neighborhood(chain)
    known = points is not None and rows_of(points) is None and isinstance(neighbors, Nearest)
    return fill_of(points, neighbors.usual, squared=squared) if known else None


@frozen
class OfWeights:
    """M⁺ with M = (I - W)ᵀ(I - W), and W the weights that reproduce points from their neighbors."""

    chain: Setting

    def steps(self, share: float | None) -> list[Step]:
        """Neighbors, local systems, and one sparse factorization, whose fill is not known before."""
        chain, neighbors = self.chain, neighborhood(self.chain)
        (rows, columns), threads, count = chain.data.values.shape, chain.compute.thread_count(), neighbors.usual
        local = rows * count**2 * (columns + count) * 4 / product_rate(threads)
        return [*graph_steps(chain.data, neighbors, chain.compute),
                Step("weights", f"{rows} systems of {count}", local,
                     8.0 * min(rows * count * (columns + count), 2**22)),
                inverse_step(chain.eigensolve, rows=rows, count=count, columns=columns, tall=rows,
                             fill=fill_among(chain, squared=True))]

    def fitted(self) -> Fitted:
        """Bottom vectors of M."""
        chain, data, neighbors, ridge = self.chain, self.chain.data, neighborhood(self.chain), self.chain.kernel.ridge
        lists, kept = connected_lists(data, neighbors, chain.joining.neighbors.pieces)
        data = data if kept is None else data.take(kept)
        with running("weights"):
            weights = reconstruction_weights(data, lists, ridge)
            root = residual_matrix(weights, lists)
        kernel = Inverse(root, where="method.ridge", hint="use a larger ridge or more neighbors")
        spectrum = solved(chain, kernel, len(data.values) - 1)
        embedding = scaled(chain, spectrum, spectrum.vectors * np.sqrt(len(data.values)))
        similarity = Barycenters(neighbors, data.values, ridge, isinstance(data, Dissimilarities), metric_of(data))
        projector = Projector(similarity, kernel.centering, embedding)
        products: Products = {"graph": graph_of(lists, "union").product(),
                              "weights": Sparse(lists.starts, lists.indices, weights)}
        return Fitted(embedding=embedding, spectrum=spectrum, projector=projector, kept=kept, products=products)


@frozen
class OfLaplacian:
    """The inverse of L = D - W, or of S⁻¹ L S⁻¹ with S = √D, whose vectors u give coordinates S⁻¹ u."""

    chain: Setting

    def steps(self, share: float | None) -> list[Step]:
        """Neighbors, and one sparse factorization, whose fill is not known before."""
        chain, neighbors = self.chain, neighborhood(self.chain)
        (rows, columns), entries = chain.data.values.shape, entries_of(chain.data, neighbors)
        return [*graph_steps(chain.data, neighbors, chain.compute), weights_step(entries),
                inverse_step(chain.eigensolve, rows=rows, count=entries // rows, columns=columns,
                             tall=entries * 2 // 3, fill=fill_among(chain, squared=False))]

    def fitted(self) -> Fitted:
        """The bottom vectors."""
        chain, normalized = self.chain, self.chain.kernel.normalized
        graph, data, kept = joined(chain)
        edges = weighted(graph, chain.kernel.weights, data.unit, normalized)
        size = float(np.linalg.norm(edges.scale))
        kernel = Inverse(edges.root(), edges.scale / size if normalized else None,
                         where="method.weights", hint="choose a smaller rate, or more neighbors")
        spectrum = solved(chain, kernel, graph.size - 1)
        embedding = scaled(chain, spectrum, spectrum.vectors * (size / edges.scale)[:, None])
        embedding *= leading_signs(embedding)
        similarity = EdgeAffinities(graph, edges.affinity) if isinstance(data, WeightedGraph) else Affinities(
            neighborhood(chain), edges.affinity, graph, *training(data), walking=normalized)
        left = 1 - 1 / spectrum.solved[: embedding.shape[1]] if normalized else np.ones(embedding.shape[1])
        axes = np.where(np.abs(left) > NEAREST_ONE, embedding / np.where(left == 0, 1.0, left), 0.0)
        return Fitted(embedding=embedding, spectrum=spectrum, kept=kept, products=edges.products(),
                      projector=Projector(similarity, kernel.centering, axes))


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
