"""The kernel of local tangent space alignment: the inverse of the cost of alignment (Zhang and Zha, 2004)."""

from typing import Literal

from mlcli.base.values.inputs import Spatial
from mlcli.stages.chain.kernels.local import LocalRoot, TangentKernel, dimension_option, ridge_option
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.tangents import tangent_root


class Alignment(TangentKernel):
    """The inverse of the alignment cost: what no affine function of the local tangent coordinates explains."""

    name: Literal["alignment"] = "alignment"
    dimension: int | None = dimension_option()
    ridge: float = ridge_option()

    @classmethod
    def least(cls, dimension: int) -> int:
        """Return p + 2: with one neighbor fewer, affine functions of p coordinates explain all values."""
        return dimension + 2

    def height(self, count: int, axes: int) -> int:
        """Return k - 1 - p."""
        return max(count - 1 - axes, 1)

    def root(self, data: Spatial, lists: Lists, axes: int) -> LocalRoot:
        """Return functionals that vanish on affine functions of the tangent coordinates."""
        return LocalRoot(tangent_root(data, lists, axes, self.ridge))
