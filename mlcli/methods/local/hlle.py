"""Hessian locally linear embedding.

Its kernel is the inverse of the cost of second derivatives (Donoho and Grimes, 2003).
"""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.inputs import Spatial
from mlcli.base.values.options import option_of
from mlcli.core.chain.local_costs import LocalRoot, TangentKernel, dimension_option, ridge_option
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.graph.search import Lists
from mlcli.core.linalg import left_singular, residuals
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.sparse_factors import CompressedRows
from mlcli.methods.local.tangents import Part, TangentMethod, local_root, with_constants
from mlcli.methods.trials import variant

FLAT = 1e-10  # share of the products' size up to which they add nothing to affine functions


def hessian_root(data: Spatial, lists: Lists, dimension: int, ridge: float) -> CompressedRows:
    """Return the root R ((n p (p + 1) / 2) x n) of the Hessian cost on tangent spaces of a `dimension` p.

    For each neighborhood, the rows are an orthonormal basis of what products of two tangent coordinates add to affine
    functions of them: estimates of second derivatives. A point that is in no neighborhood has a row of reconstruction
    weights, with a `ridge`; two equal points a row of their difference. Source: Donoho and Grimes, 2003.
    """
    return local_root(data, lists, dimension, second_derivatives, ridge, differences(lists))


def differences(lists: Lists) -> list[Part]:
    """Return a row for each two neighbors at distance zero, that takes their values to their difference.

    No function of tangent coordinates tells them apart, so without it their values could differ at no cost.
    """
    equal = np.flatnonzero(lists.lengths == 0)
    if not len(equal):
        return []
    left, right = lists.rows[equal], lists.indices[equal]
    pairs = np.unique(np.column_stack([np.minimum(left, right), np.maximum(left, right)]), axis=0)
    return [(np.tile([[1.0, -1.0]], (len(pairs), 1, 1)), pairs)]


def second_derivatives(coordinates: Array) -> Array:
    """Return orthonormal rows (m x p (p + 1) / 2 x k) that span what products of coordinates (m x k x p) add to affine
    functions.

    Rows are zero where the products add fewer dimensions: where one of them is an affine function on the members.
    """
    left, right = np.triu_indices(coordinates.shape[2])
    products = coordinates[:, :, left] * coordinates[:, :, right]
    added, sizes = left_singular(residuals(products, with_constants(coordinates)), "products of tangent coordinates")
    there = sizes > FLAT * np.linalg.norm(products, axis=(1, 2))[:, None]
    return np.where(there[:, :, None], added.transpose(0, 2, 1), 0.0)


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


class HLLE(TangentMethod):
    """Coordinates whose second derivatives, estimated on neighborhoods, are smallest: Hessian eigenmaps.

    It keeps straight lines of the surface straight, also where the surface has a hole, up to a stretch of the whole. It
    fails where data have more dimensions than the tangent spaces, and where noise dominates second derivatives. Set the
    number of neighbors first (`-k`): of two axes at least 6, better twice as many.

    How it works: Around each point the surface is nearly flat, and has tangent coordinates: the places of its neighbors
    along their first principal axes, without the point itself. There are as many of them, p, as axes, or `dimension`. A
    function on the points is straight where its second derivatives along the surface are zero. Coordinates are the
    functions for which these are smallest.

    Quadratic functions of the tangent coordinates are fitted to the values at the neighbors. The cost of a function is
    the sum, over the neighborhoods, of the squares of its p (p + 1) / 2 second derivatives. It is vᵀMv with M = RᵀR:
    the rows of R are, for each neighborhood, an orthonormal basis of what products of two tangent coordinates add to
    affine functions; and for two equal points, which no function of tangent coordinates tells apart, their difference.
    The kernel is the pseudoinverse M⁺, without the constant vector, which costs nothing. Coordinates have unit
    variance, because tangent spaces do not determine the scale.

    Each point needs 1 + p + p (p + 1) / 2 neighbors or more. With exactly as many, the cost is that of `ltsa`: `ltsa`
    takes what no affine function explains, this method only its quadratic part. scikit-learn takes the former for both,
    so its method `hessian` equals `ltsa` here. Of dissimilarities and other metrics, tangent coordinates are those of
    classical scaling of the neighbors.

    New points: A new point is placed at the weighted mean of its neighbors' coordinates, with the weights of `lle`; a
    training point is placed exactly on itself.

    Files: `spectrum.csv` holds the eigenvalues of the kernel, one divided by each cost. For up to 600 points, or with
    `eigensolve.solver: dense`, all of them are computed, and so the share of each in their sum (`proportion`);
    otherwise only the largest, without shares. To choose the axes by such a share, set `dimension`.

    Source: Donoho and Grimes, "Hessian eigenmaps: locally linear embedding techniques for high-dimensional data", 2003.
    """

    variants: ClassVar = (
        variant("", "twins", "share", neighbors={"count": 12}),
        variant("krylov", "twins", "whole", "share", neighbors={"count": 12}, eigensolve={"solver": "krylov"}),
        variant("dimension", "twins", neighbors={"count": 12}, dimension=3),
        variant("cityblock", "twins", "rotation", "share", neighbors={"count": 12}, metric="cityblock"))
    axis: ClassVar = "HLLE"
    name: Literal["hlle"] = "hlle"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    dimension: int | None = option_of(Hessian, "dimension")
    ridge: float = option_of(Hessian, "ridge")
    eigensolve: Eigensolve = Eigensolve()

    @property
    def kernel(self) -> Hessian:
        """The inverse of the Hessian cost."""
        return Hessian(dimension=self.dimension, ridge=self.ridge)
