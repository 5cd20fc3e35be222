"""Laplacian eigenmaps."""

from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.check import Check
from mlcli.base.compute import Compute
from mlcli.base.inputs import Dissimilarities, Features
from mlcli.base.options import option
from mlcli.base.signs import leading_signs
from mlcli.base.stage import running
from mlcli.base.steps import Step
from mlcli.methods.base import Method
from mlcli.methods.identities.laplacian_equations import of_laplacian
from mlcli.methods.model import Model, Powers, existing
from mlcli.methods.ways import way
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric, training
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.graph.affinities import Affinity, Binary, degrees, incidence, weights_step
from mlcli.stages.graph.neighbors import Neighbors
from mlcli.stages.graph.pieces import connected_graph, graph_steps
from mlcli.stages.kernels.inverse import Inverse, inverse_step
from mlcli.stages.similarities import Projector
from mlcli.stages.similarities.weights import Affinities

NEAREST_ONE = 1e-8  # how near to one a cost must be for new points to have no coordinate on its axis


class Laplacian(Method):
    """Coordinates that differ little between neighbors: the smoothest functions on the neighbor graph.

    They solve L y = λ D y, or L y = λ y (`normalized: false`), with W the weights of the edges, D their sums at each
    point and L = D - W: λ is the cost Σ w (yᵢ - yⱼ)², as a share of Σ d y². The kernel is the inverse of the cost, its
    constant solution removed; `spectrum.csv` holds the kernel's eigenvalues 1/λ with their costs.
    Coordinates have unit variance, weighted by D: weights say nothing of scale. The whole spectrum, and with it a share
    of variance, is computed up to 600 points.

    A new point is placed at the weighted mean of its neighbors' coordinates, over 1 - λ (Nyström); a training point on
    itself. It fails where few edges hold parts of the data together: the first axes then separate the parts, and
    nothing else. Source: Belkin and Niyogi, "Laplacian eigenmaps for dimensionality reduction and data representation",
    2003; new points: Bengio and others, 2004.
    """

    accepts: ClassVar = (Features, Dissimilarities)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    decodes: ClassVar = None
    aliases: ClassVar = ("spectral-embedding", "laplacian-eigenmaps")
    rules: ClassVar = ("two_nn", "maximum_likelihood")
    scaleless: ClassVar = True
    digits: ClassVar = 1e-7  # the smallest costs have few correct digits
    ways: ClassVar = (way("", neighbors={"count": 9}), way("heat", neighbors={"count": 9}, weights={"name": "heat"}),
                      way("plain", neighbors={"count": 9}, normalized=False), way("cosine", "shift", metric="cosine",
                                                                                  neighbors={"count": 13}),
                      way("krylov", "whole", "share", neighbors={"count": 9}, eigensolve={"solver": "krylov"}),
                      way("canberra", "rotation", "shift", neighbors={"count": 13}, metric="canberra"))
    name: Literal["laplacian"] = "laplacian"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    graph: Literal["union", "mutual"] = option(
        "union", "Points are joined when either is a neighbor of the other (union), or both are (mutual).")
    weights: Affinity = option(Binary(), "Weights of the edges.")
    normalized: bool = option(True, "Whether points count by the sum of their weights: L y = λ D y, or L y = λ y.")
    eigensolve: Eigensolve = Eigensolve()

    def steps(self, data: Features | Dissimilarities, compute: Compute, share: float | None) -> list[Step]:
        """Neighbors, and one sparse factorization, whose fill is not known before."""
        neighbors, (rows, columns) = self.neighbors.neighborhood(data), data.values.shape
        return [*graph_steps(data, neighbors, compute), weights_step(rows * neighbors.usual),
                inverse_step(self.eigensolve, rows, neighbors.usual, columns)]

    def solve(self, data: Features | Dissimilarities, compute: Compute) -> Model:
        """The bottom vectors u of S⁻¹ L S⁻¹ with S = √D; coordinates are S⁻¹ u."""
        neighbors = self.neighbors.neighborhood(data)
        graph, kept = connected_graph(data, neighbors, self.neighbors.pieces, self.graph)
        data = data if kept is None else data.take(kept)
        with running("weights"):
            affinity = self.weights.for_graph(graph, data.unit)
            weights = affinity(graph.lengths)
            scale = np.sqrt(degrees(graph, weights)) if self.normalized else np.ones(graph.size)
            root = incidence(graph, weights, scale)
        size = float(np.linalg.norm(scale))
        kernel = Inverse(root, scale / size if self.normalized else None,
                         where="method.weights", hint="choose a smaller rate, or more neighbors")
        spectrum = self.eigensolve(kernel, graph.size - 1, compute)
        embedding = spectrum.vectors * (size / scale)[:, None]
        embedding *= leading_signs(embedding)
        similarity = Affinities(neighbors, affinity, graph, *training(data), walking=self.normalized)
        left = 1 - 1 / spectrum.solved[: embedding.shape[1]] if self.normalized else np.ones(embedding.shape[1])
        axes = np.where(np.abs(left) > NEAREST_ONE, embedding / np.where(left == 0, 1.0, left), 0.0)
        return Model(embedding=embedding, spectrum=spectrum, kept=kept,
                     projector=Projector(similarity, kernel.centering, axes))

    def identities(self, data: Any, model: Model) -> list[Check]:
        """L y = λ D y with weights computed again."""
        return of_laplacian(existing(model.projector).similarity, model.embedding, model.ranks, self.normalized)
