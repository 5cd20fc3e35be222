"""The kernel of Laplacian eigenmaps: the inverse of the neighbor graph's Laplacian (Belkin and Niyogi, 2003)."""

from typing import Any, ClassVar, Literal, Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.inputs import Given, WeightedGraph
from mlcli.base.values.options import option
from mlcli.base.values.products import Name
from mlcli.base.values.signs import leading_signs
from mlcli.stages.algebra.metrics.points import training_points
from mlcli.stages.chain.chain_input import ChainInput, Fitted
from mlcli.stages.chain.graphs import estimate_fill, joined_graph, neighborhood
from mlcli.stages.chain.kernels.laplacian_equations import laplacian_checks
from mlcli.stages.chain.scaling import scale_coordinates, solve_spectrum
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.graph.affinities import Affinity, Binary, weighted, weights_for, weights_step
from mlcli.stages.graph.neighbors import Neighbors
from mlcli.stages.graph.pieces import entries_of, graph_steps
from mlcli.stages.kernels.inverse import Inverse, inverse_step
from mlcli.stages.kernels.pairwise import KernelOptions, Proof
from mlcli.stages.similarities.projector import Projector
from mlcli.stages.similarities.weights import Affinities, EdgeAffinities

NEAREST_ONE = 1e-8  # distance from one of a cost on whose axis new points have no coordinate


@frozen
class LaplacianChain:
    """Laplacian eigenmaps by the inverse of L = D - W, or of S⁻¹ L S⁻¹ with S = √D, with coordinates S⁻¹ u."""

    chain: ChainInput

    def steps(self, share: float | None) -> list[Step]:
        """Return the steps of the graph, its weights and one sparse factorization, whose fill is estimated."""
        chain, neighbors = self.chain, neighborhood(self.chain)
        (rows, columns), entries = chain.data.values.shape, entries_of(chain.data, neighbors)
        tall = entries * 2 // 3
        return [*graph_steps(chain.data, neighbors, chain.compute), weights_step(entries),
                inverse_step(chain.eigensolve, rows=rows, count=entries // rows, columns=columns,
                             tall=tall, numbers=2 * tall, fill=estimate_fill(chain, squared=False), squared=False)]

    def fit(self) -> Fitted:
        """Return the fit by the bottom eigenvectors of L."""
        chain, normalized = self.chain, self.chain.kernel.normalized
        graph, data, kept = joined_graph(chain)
        edges = weighted(graph, chain.kernel.weights, data.unit, normalized)
        with single_threaded_blas():  # as several threads round the sum otherwise
            size = float(np.linalg.norm(edges.scale))
        kernel = Inverse(edges.root(), edges.scale / size if normalized else None,
                         where="method.weights", hint="choose a smaller rate, or more neighbors")
        spectrum = solve_spectrum(chain, kernel, graph.size - 1)
        embedding = scale_coordinates(chain, spectrum, spectrum.vectors * (size / edges.scale)[:, None])
        embedding *= leading_signs(embedding)
        similarity = EdgeAffinities(graph, edges.affinity) if isinstance(data, WeightedGraph) else Affinities(
            neighborhood(chain), edges.affinity, graph, *training_points(data), walking=normalized)
        left = 1 - 1 / spectrum.solved[: embedding.shape[1]] if normalized else np.ones(embedding.shape[1])
        axes = np.where(np.abs(left) > NEAREST_ONE, embedding / np.where(left == 0, 1.0, left), 0.0)
        return Fitted(embedding=embedding, spectrum=spectrum, kept=kept, products=edges.products(),
                      projector=Projector(similarity, kernel.centering, axes))


class GraphLaplacian(KernelOptions):
    """The inverse of the graph's Laplacian D - W, without its constant solution."""

    name: Literal["graph_laplacian"] = "graph_laplacian"
    of_graph: ClassVar[bool] = True
    of_weights: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    centered: ClassVar[bool] = True
    variances: ClassVar[bool] = False
    way: ClassVar = LaplacianChain
    proof: ClassVar[Proof] = "own"
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

    def identities(self, similarity: Any, data: Any, embedding: Array, spectrum: Spectrum, coordinates: Any, *,
                   full: bool) -> list[Check]:
        """Check L y = λ D y for an embedding (n x p), with weights computed again."""
        return laplacian_checks(similarity, coordinates.of_variance(embedding, spectrum), spectrum, self.normalized)
