"""The kernel of locally linear embedding: ((I - W)ᵀ(I - W))⁺ (Roweis and Saul, 2000)."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stages.steps import Step
from mlcli.base.values.inputs import Spatial
from mlcli.base.values.options import option
from mlcli.base.values.products import Name, Sparse
from mlcli.base.values.quantity import Quantity
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.chain.kernels.local import LocalKernel, LocalRoot
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.weights import reconstruction_weights, residual_matrix


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
