"""The kernel of local tangent space alignment: the inverse of the cost of alignment (Zhang and Zha, 2004)."""

from typing import Literal

from mlcli.base.stages.steps import Step
from mlcli.base.types import Indices
from mlcli.base.values.inputs import Spatial
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.chain.kernels.local import LocalRoot, TangentKernel, dimension_option, ridge_option
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.neighborhoods import Neighborhood
from mlcli.stages.graph.overlaps import overlapping_lists
from mlcli.stages.graph.pieces import Policy
from mlcli.stages.graph.tangents import tangent_root

OPERATIONS = 30  # of LAPACK's small decompositions, in units of k² max(k, d) operations of a product


class Alignment(TangentKernel):
    """The inverse of the alignment cost: what no affine function of the local tangent coordinates explains."""

    name: Literal["alignment"] = "alignment"
    dimension: int | None = dimension_option()
    ridge: float = ridge_option()

    @classmethod
    def least(cls, dimension: int) -> int:
        """Return p + 2: with one neighbor fewer, affine functions of p coordinates explain all values."""
        return dimension + 2

    def lists(self, data: Spatial, neighbors: Neighborhood, policy: Policy) -> tuple[Lists, Indices | None]:
        """Return neighbor lists that overlap in one group, and the rows kept where some are left out."""
        return overlapping_lists(data, neighbors, policy)

    def height(self, count: int, axes: int) -> int:
        """Return k - 1 - p."""
        return max(count - 1 - axes, 1)

    def step(self, shape: tuple[int, int], count: int, axes: int, threads: int) -> Step:
        """Return the cost of the tangent spaces, for data of a shape, and the memory of R."""
        return tangent_step(shape, count, self.height(count, axes), threads)

    def root(self, data: Spatial, lists: Lists, axes: int) -> LocalRoot:
        """Return functionals that vanish on affine functions of the tangent coordinates."""
        self.require_members(data, lists, axes)
        return LocalRoot(tangent_root(data, lists, axes, self.ridge))


def tangent_step(shape: tuple[int, int], count: int, height: int, threads: int) -> Step:
    """Return the cost of tangent spaces with `height` functionals each, and the memory of these."""
    rows, columns = shape
    seconds = OPERATIONS * rows * count**2 * max(columns, count) / product_rate(threads)
    return Step("tangents", f"{rows} tangent spaces of {count} neighbors", seconds, 24.0 * rows * height * count)
