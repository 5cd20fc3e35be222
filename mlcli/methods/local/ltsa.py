"""Local tangent space alignment.

Its kernel is the inverse of the cost of alignment (Zhang and Zha, 2004).
"""

from typing import ClassVar, Literal

from mlcli.base.values.inputs import Spatial
from mlcli.base.values.options import option_of
from mlcli.core.chain.local_costs import LocalRoot, TangentKernel, dimension_option, ridge_option
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.graph.search import Lists
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.methods.local.tangents import TangentMethod, tangent_root
from mlcli.methods.trials import variant


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


class LTSA(TangentMethod):
    """Coordinates that are, on every neighborhood, an affine function of its tangent coordinates.

    It keeps the flat map of each neighborhood, up to a stretch of the whole. It fails if neighborhoods are curved or
    overlap in few points, and where data have more dimensions than the tangent spaces. Set the number of neighbors
    first (`-k`), at least two more than there are axes.

    How it works: Around each point the surface is nearly flat, and has tangent coordinates: the places of its neighbors
    along their first principal axes, without the point itself. There are as many of them, p, as axes, or `dimension`.
    Coordinates of all points are looked for that are, on every neighborhood, an affine function of its tangent
    coordinates: its map, turned, stretched and moved.

    The cost of a function is the sum, over the neighborhoods, of the squares that no affine function of the p tangent
    coordinates explains. It is vᵀMv with M = RᵀR: the rows of R are, for each neighborhood, an orthonormal basis of the
    complement of constants and tangent coordinates. The kernel is the pseudoinverse M⁺, without the constant vector,
    which costs nothing. Coordinates have unit variance, because tangent spaces do not determine the scale.

    Each point needs p + 2 neighbors or more. Of dissimilarities and other metrics, tangent coordinates are those of
    classical scaling of the neighbors.

    New points: A new point is placed at the weighted mean of its neighbors' coordinates, with the weights of `lle`; a
    training point is placed exactly on itself.

    Files: `spectrum.csv` holds the eigenvalues of the kernel, one divided by each cost. For up to 600 points, or with
    `eigensolve.solver: dense`, all of them are computed, and so the share of each in their sum (`proportion`);
    otherwise only the largest, without shares. To choose the axes by such a share, set `dimension`.

    Source: Zhang and Zha, "Principal manifolds and nonlinear dimensionality reduction via tangent space alignment",
    2004.
    """

    variants: ClassVar = (
        variant("", "twins", "share", neighbors={"count": 9}),
        variant("krylov", "twins", "whole", "share", neighbors={"count": 9}, eigensolve={"solver": "krylov"}),
        variant("dimension", "twins", neighbors={"count": 9}, dimension=3),
        variant("cityblock", "twins", "rotation", "share", neighbors={"count": 9}, metric="cityblock"))
    axis: ClassVar = "LTSA"
    name: Literal["ltsa"] = "ltsa"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    dimension: int | None = option_of(Alignment, "dimension")
    ridge: float = option_of(Alignment, "ridge")
    eigensolve: Eigensolve = Eigensolve()

    @property
    def kernel(self) -> Alignment:
        """The inverse of the alignment cost."""
        return Alignment(dimension=self.dimension, ridge=self.ridge)
