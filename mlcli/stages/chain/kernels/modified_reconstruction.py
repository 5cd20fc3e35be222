"""The kernel of modified locally linear embedding: several weights of each point (Zhang and Wang, 2006)."""

from dataclasses import replace
from typing import ClassVar, Literal

from mlcli.base.stages.steps import Step
from mlcli.base.types import Indices
from mlcli.base.values.inputs import Spatial
from mlcli.base.values.options import option
from mlcli.stages.chain.kernels.local import LocalKernel, LocalRoot, TangentKernel, dimension_option
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.neighborhoods import Neighborhood
from mlcli.stages.graph.pieces import Policy
from mlcli.stages.graph.several_weights import several_weights_root


class ModifiedReconstruction(TangentKernel):
    """The inverse of the cost by which several weighted means of neighbors miss each point."""

    stage: ClassVar[str] = "weights"
    name: Literal["modified_reconstruction"] = "modified_reconstruction"
    dimension: int | None = dimension_option()
    ridge: float = option(1e-3, "Regularization of the weights, as a share of the local Gram matrix's trace.", gt=0)

    @classmethod
    def least(cls, dimension: int) -> int:
        """Return p + 1: with p neighbors, no axis is left for weights."""
        return dimension + 1

    def lists(self, data: Spatial, neighbors: Neighborhood, policy: Policy) -> "tuple[Lists, Indices | None]":
        """Return neighbor lists in one closed group, as a point's weights take the point itself."""
        return LocalKernel.lists(self, data, neighbors, policy)

    def height(self, count: int, axes: int) -> int:
        """Return k - p, about the number of weight vectors."""
        return max(count - axes, 1)

    def step(self, shape: tuple[int, int], count: int, axes: int, threads: int) -> Step:
        """Return the cost of the weights, for data of a shape; lists in one closed group need no library."""
        return replace(TangentKernel.step(self, shape, count, axes, threads), needs="")

    def root(self, data: Spatial, lists: Lists, axes: int) -> LocalRoot:
        """Return values of points less their weighted means."""
        return LocalRoot(several_weights_root(data, lists, axes, self.ridge))
