"""Locally linear embedding."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.inputs import Dissimilarities, Features
from mlcli.base.options import option
from mlcli.base.stage import running
from mlcli.base.steps import Step
from mlcli.methods.base import Method
from mlcli.methods.model import Model, Powers
from mlcli.methods.ways import way
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric, metric_of
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.graph.neighbors import Neighbors
from mlcli.stages.graph.pieces import connected_lists, graph_steps
from mlcli.stages.graph.weights import reconstruction_weights, residual_matrix
from mlcli.stages.kernels.inverse import Inverse, inverse_step
from mlcli.stages.similarities import Barycenters, Projector


class LLE(Method):
    """Coordinates in which every point is the same weighted mean of its neighbors as in the data.

    The weights of each point minimize the error of reproducing it from its neighbors, with a ridge of `ridge` times
    the local Gram matrix's trace; they need distances only (Saul and Roweis, 2003). The kernel is M⁺ with
    M = (I - W)ᵀ(I - W), its constant null vector removed. Coordinates have unit variance: the weights say nothing of
    scale.

    The whole spectrum, and with it a share of variance, is computed up to 600 points.

    A new point is placed at the weighted mean of its neighbors' coordinates; a training point is placed exactly on
    itself. It fails where neighborhoods are nearly flat in too few directions for the ridge to matter little. Source:
    Roweis and Saul, "Nonlinear dimensionality reduction by locally linear embedding", 2000; Saul and Roweis, 2003.
    """

    accepts: ClassVar = (Features, Dissimilarities)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    proof: ClassVar = "weights"
    decodes: ClassVar = None
    rules: ClassVar = ("two_nn", "maximum_likelihood")
    scaleless: ClassVar = True
    digits: ClassVar = 1e-5  # gaps of M⁺ are small relative to rounding in the weights
    ways: ClassVar = (way("", "twins", neighbors={"count": 9}),
                      way("krylov", "twins", "whole", "share", neighbors={"count": 9}, eigensolve={"solver": "krylov"}),
                      way("cityblock", "twins", "rotation", neighbors={"count": 9}, metric="cityblock"),
                      way("cosine", "twins", "shift", neighbors={"count": 9}, metric="cosine"))
    name: Literal["lle"] = "lle"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    ridge: float = option(1e-3, "Regularization of the weights, as a share of the local Gram matrix's trace.", gt=0)
    eigensolve: Eigensolve = Eigensolve()

    def steps(self, data: Features | Dissimilarities, compute: Compute, share: float | None) -> list[Step]:
        """Neighbors, local systems, and one sparse factorization, whose fill is not known before."""
        (rows, columns), threads = data.values.shape, compute.thread_count()
        neighbors = self.neighbors.neighborhood(data)
        count = neighbors.usual
        local = rows * count**2 * (columns + count) * 4 / product_rate(threads)
        return [*graph_steps(data, neighbors, compute), Step("weights", f"{rows} systems of {count}", local,
                                                             8.0 * min(rows * count * (columns + count), 2**22)),
                inverse_step(self.eigensolve, rows, count, columns)]

    def solve(self, data: Features | Dissimilarities, compute: Compute) -> Model:
        """Bottom vectors of M = (I - W)ᵀ(I - W), scaled to unit variance."""
        neighbors = self.neighbors.neighborhood(data)
        lists, kept = connected_lists(data, neighbors, self.neighbors.pieces)
        data = data if kept is None else data.take(kept)
        with running("weights"):
            root = residual_matrix(reconstruction_weights(data, lists, self.ridge), lists)
        kernel = Inverse(root, where="method.ridge",
                         hint="use a larger ridge or more neighbors")
        spectrum = self.eigensolve(kernel, len(data.values) - 1, compute)
        embedding = spectrum.vectors * np.sqrt(len(data.values))
        similarity = Barycenters(neighbors, data.values, self.ridge, isinstance(data, Dissimilarities), metric_of(data))
        return Model(embedding=embedding, spectrum=spectrum, kept=kept,
                     projector=Projector(similarity, kernel.centering, embedding))
