"""The kernel of Hessian eigenmaps: the inverse of the cost of second derivatives (Donoho and Grimes, 2003)."""

from typing import Literal

from mlcli.base.values.inputs import Spatial
from mlcli.stages.chain.kernels.local import LocalRoot, TangentKernel, dimension_option, ridge_option
from mlcli.stages.graph.hessians import hessian_root
from mlcli.stages.graph.nearest import Lists


class Hessian(TangentKernel):
    """The inverse of the Hessian cost: squares of second derivatives, estimated on tangent spaces."""

    name: Literal["hessian"] = "hessian"
    dimension: int | None = dimension_option()
    ridge: float = ridge_option()

    @classmethod
    def least(cls, dimension: int) -> int:
        """Return 1 + p + p (p + 1) / 2, the number of coefficients of a quadratic function of p coordinates."""
        return 1 + dimension + self_products(dimension)

    def height(self, count: int, axes: int) -> int:
        """Return p (p + 1) / 2."""
        return self_products(axes)

    def root(self, data: Spatial, lists: Lists, axes: int) -> LocalRoot:
        """Return estimates of second derivatives."""
        return LocalRoot(hessian_root(data, lists, axes, self.ridge))


def self_products(axes: int) -> int:
    """Return the number of products of two of some axes, squares included."""
    return axes * (axes + 1) // 2
