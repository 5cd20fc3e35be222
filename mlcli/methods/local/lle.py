"""Locally linear embedding.

Its kernel is ((I - W)ᵀ(I - W))⁺ (Roweis and Saul, 2000).
"""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.steps import Step
from mlcli.base.values.inputs import Dissimilarities, Features, Spatial
from mlcli.base.values.options import option, option_of
from mlcli.base.values.products import Name, Sparse
from mlcli.base.values.quantity import Quantity
from mlcli.core.chain.local_costs import LocalKernel, LocalRoot
from mlcli.core.chain.stages import Coordinates, NeighborGraph, RowDecoder, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.graph.search import Lists
from mlcli.core.graph.weights import reconstruction_weights, residual_matrix
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.model import Powers
from mlcli.methods.method import Method
from mlcli.methods.trials import InputSummary, Trials, by_neighbors, variant


class Reconstruction(LocalKernel):
    """((I - W)ᵀ(I - W))⁺, with W the weights that reproduce each point from its neighbors."""

    name: Literal["reconstruction"] = "reconstruction"
    makes: ClassVar[tuple[Name, ...]] = ("weights",)
    ridge: float = option(1e-3, "Regularization of the weights, as a share of the local Gram matrix's trace.", gt=0)

    def step(self, shape: tuple[int, int], count: int, axes: int, threads: int) -> Step:
        """Return the cost of the local systems, for data of a shape."""
        rows, columns = shape
        local = rows * count**2 * (columns + count) * 4 / product_rate(threads)
        return Step("weights", f"{rows} systems of {count}", local,
                    8.0 * min(rows * count * (columns + count), 2**22))

    def root(self, data: Spatial, lists: Lists, axes: int) -> LocalRoot:
        """Return I - W, whose weights a run may keep, and the cost of these."""
        errors = np.empty(len(lists.counts))
        weights = reconstruction_weights(data, lists, self.ridge, errors=errors)
        return LocalRoot(residual_matrix(weights, lists),
                         {"weights": Sparse(lists.starts, lists.indices, weights)},
                         {"cost_of_weights": Quantity(float(errors.sum()), 2)})


class LLE(Method):
    """Coordinates in which each point is nearly the same weighted mean of its neighbors as in the data.

    It keeps each point's place among its neighbors: the weights with which their mean gives the point. It keeps no
    distances. It fails if the neighbors of a point lie in so few directions that the regularization (`ridge`), not the
    data, decides the weights. Set the number of neighbors first (`-k`), more than there are axes, then `ridge`.

    How it works: The weights of each point minimize the error of reproducing it from its neighbors, plus a penalty on
    large weights: the sum of their squares, times `ridge`, times the trace of the local Gram matrix, which holds the
    inner products of the neighbors as seen from the point. Distances are enough to compute the weights (Saul and
    Roweis, 2003). Then coordinates are looked for in which the same weights reproduce each point best. With W the
    matrix of the weights, these are the eigenvectors of M = (I - W)ᵀ(I - W) with the smallest eigenvalues, without the
    constant one. In terms of a kernel, as in `docs/chains.md`, they are the eigenvectors of the pseudoinverse M⁺ with
    the largest eigenvalues. Coordinates have unit variance, because the weights do not determine the scale.

    New points: A new point is placed at the weighted mean of its neighbors' coordinates; a training point is placed
    exactly on itself.

    Back to features: With `decoder`, `mlcli reconstruct` turns coordinates back into features: `barycentric` takes a
    weighted mean of the features of the rows whose coordinates are nearest, `ridge` a regression of the features on the
    coordinates.

    Files: `spectrum.csv` holds the eigenvalues of M⁺. For up to 600 points, or with `eigensolve.solver: dense`, all of
    them are computed, and so the share of each in their sum (`proportion`); otherwise only the largest, without shares.

    Source: Roweis and Saul, "Nonlinear dimensionality reduction by locally linear embedding", 2000; Saul and Roweis,
    2003.
    """

    accepts: ClassVar = (Features, Dissimilarities)
    judged_by: ClassVar = "neighbors"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
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
    decoder: RowDecoder = option_of(Stages, "decoder")

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return settings by neighborhood size."""
        return by_neighbors(seen)

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of K = M⁺, M = (I - W)ᵀ(I - W), W weights of neighbors; coordinates √n V of K = V Λ Vᵀ."""
        return Stages(metric=self.metric, graph=NeighborGraph(neighbors=self.neighbors),
                      kernel=Reconstruction(ridge=self.ridge), eigensolve=self.eigensolve,
                      coordinates=Coordinates(scale="variance"), decoder=self.decoder)
