"""Chains whose kernel is computed from the neighbor graph alone: its weights, its Laplacian, or an unfolding."""

from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.inputs import Dissimilarities, Features, Spatial
from mlcli.base.quantity import Quantity
from mlcli.base.signs import leading_signs
from mlcli.base.stage import running
from mlcli.base.steps import Step
from mlcli.base.types import Indices
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.chain.scaling import scaled, solved
from mlcli.stages.chain.setting import Fitted, Setting
from mlcli.stages.graph.affinities import degrees, incidence, weights_step
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.neighborhoods import Neighborhood
from mlcli.stages.graph.pieces import connected_graph, connected_lists, graph_steps
from mlcli.stages.graph.weights import barycentric_weights, residual_matrix
from mlcli.stages.kernels.inverse import Inverse, inverse_step
from mlcli.stages.similarities import Barycenters, Projector
from mlcli.stages.similarities.weights import Affinities
from mlcli.stages.unfolding.unfold import UNBOUNDED

NEAREST_ONE = 1e-8  # how near to one a cost must be for new points to have no coordinate on its axis


def neighborhood(chain: Setting) -> Neighborhood:
    """Who is a neighbor."""
    return chain.joining.neighbors.neighborhood(chain.data)


def joined(chain: Setting, consequence: str = "") -> tuple[Graph, Spatial, Indices | None]:
    """The graph in one piece, its points, and which of all they are where some are left out."""
    joining = chain.joining
    graph, kept = connected_graph(chain.data, neighborhood(chain), joining.neighbors.pieces, joining.rule, consequence)
    return graph, chain.data if kept is None else chain.data.take(kept), kept


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
                inverse_step(chain.eigensolve, rows, count, columns)]

    def fitted(self) -> Fitted:
        """Bottom vectors of M."""
        chain, data, neighbors, ridge = self.chain, self.chain.data, neighborhood(self.chain), self.chain.kernel.ridge
        lists, kept = connected_lists(data, neighbors, chain.joining.neighbors.pieces)
        data = data if kept is None else data.take(kept)
        with running("weights"):
            root = residual_matrix(barycentric_weights(data.values, data.values, lists, ridge), lists)
        kernel = Inverse(root, where="method.ridge", hint="use a larger ridge or more neighbors")
        spectrum = solved(chain, kernel, len(data.values) - 1)
        embedding = scaled(chain, spectrum, spectrum.vectors * np.sqrt(len(data.values)))
        projector = Projector(Barycenters(neighbors, data.values, ridge), kernel.centering, embedding)
        return Fitted(embedding=embedding, spectrum=spectrum, projector=projector, kept=kept)


@frozen
class OfLaplacian:
    """The inverse of L = D - W, or of S⁻¹ L S⁻¹ with S = √D, whose vectors u give coordinates S⁻¹ u."""

    chain: Setting

    def steps(self, share: float | None) -> list[Step]:
        """Neighbors, and one sparse factorization, whose fill is not known before."""
        chain, neighbors = self.chain, neighborhood(self.chain)
        rows, columns = chain.data.values.shape
        return [*graph_steps(chain.data, neighbors, chain.compute), weights_step(rows * neighbors.usual),
                inverse_step(chain.eigensolve, rows, neighbors.usual, columns)]

    def fitted(self) -> Fitted:
        """The bottom vectors."""
        chain, normalized = self.chain, self.chain.kernel.normalized
        graph, data, kept = joined(chain)
        with running("weights"):
            affinity = chain.kernel.weights.for_graph(graph, data.unit)
            weights = affinity(graph.lengths)
            scale = np.sqrt(degrees(graph, weights)) if normalized else np.ones(graph.size)
            root = incidence(graph, weights, scale)
        size = float(np.linalg.norm(scale))
        kernel = Inverse(root, scale / size if normalized else None,
                         where="method.weights", hint="choose a smaller rate, or more neighbors")
        spectrum = solved(chain, kernel, graph.size - 1)
        embedding = scaled(chain, spectrum, spectrum.vectors * (size / scale)[:, None])
        embedding *= leading_signs(embedding)
        similarity = Affinities(neighborhood(chain), affinity, graph,
                                data.values if isinstance(data, Features) else None, walking=normalized)
        left = 1 - 1 / spectrum.solved[: embedding.shape[1]] if normalized else np.ones(embedding.shape[1])
        axes = np.where(np.abs(left) > NEAREST_ONE, embedding / np.where(left == 0, 1.0, left), 0.0)
        return Fitted(embedding=embedding, spectrum=spectrum, kept=kept,
                      projector=Projector(similarity, kernel.centering, axes))


@frozen
class OfUnfolding:
    """max tr K subject to K ⪰ 0, K1 = 0 and the neighbors' distances."""

    chain: Setting

    def steps(self, share: float | None) -> list[Step]:
        """The graph is computed, because its pairs decide the rest."""
        graph, _, _ = joined(self.chain, UNBOUNDED)
        return [*graph_steps(self.chain.data, neighborhood(self.chain), self.chain.compute),
                *self._solving(graph, self.chain.data)]

    def _solving(self, graph: Graph, data: Spatial) -> list[Step]:
        chain = self.chain
        return chain.kernel.program().steps(graph, data, chain.eigensolve, chain.compute)

    def fitted(self) -> Fitted:
        """The eigenvectors of the kernel that was learned."""
        chain = self.chain
        graph, data, kept = joined(chain, UNBOUNDED)
        chain.require(self._solving(graph, data), data)
        found = chain.kernel.program()(graph, data, chain.compute)
        spectrum = replace(solved(chain, found.kernel, graph.size - 1), directions=None)  # of no columns
        embedding = spectrum.coordinates() if chain.coordinates.scale == "roots" else (
            spectrum.vectors * chain.coordinates.sizes(spectrum))
        similarity = Barycenters(neighborhood(chain), data.values, chain.kernel.ridge,
                                 square=isinstance(data, Dissimilarities))
        return Fitted(embedding=embedding, spectrum=spectrum, kept=kept,
                      projector=Projector(similarity, uncentered(graph.size), embedding),
                      fit=found.certificate.facts, objective=Quantity(found.trace, 2), unfolded=found.unfolded)
