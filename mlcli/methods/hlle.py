"""Hessian locally linear embedding."""

from typing import ClassVar, Literal

from mlcli.base.values.options import option_of
from mlcli.methods.frame.tangents import TangentMethod
from mlcli.methods.frame.variants import variant
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric
from mlcli.stages.chain.kernels.hessian import Hessian
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.graph.neighbors import Neighbors


class HLLE(TangentMethod):
    """Coordinates whose second derivatives, estimated on neighborhoods, are smallest: Hessian eigenmaps.

    The tangent space of a point is spanned by the first principal axes of its neighbors, without the point itself; it
    has as many dimensions p as there are axes, or `dimension`. On it, quadratic functions of the tangent coordinates
    are fitted to the values at the neighbors. The cost of a function is the sum, over the neighborhoods, of the squares
    of its p (p + 1) / 2 second derivatives. It is vᵀMv with M = RᵀR: the rows of R are, for each neighborhood, an
    orthonormal basis of what products of two tangent coordinates add to affine functions; and for two equal points,
    which no function of tangent coordinates tells apart, their difference. The kernel is M⁺, its
    constant null vector removed; `spectrum.csv` holds its eigenvalues, one over the costs. Coordinates have unit
    variance, because tangent spaces do not determine the scale.

    Each point needs 1 + p + p (p + 1) / 2 neighbors or more. With exactly as many, the cost is that of `ltsa`: `ltsa`
    takes what no affine function explains, this method only its quadratic part. scikit-learn takes the former
    for both, so its method `hessian` equals `ltsa` here. Of dissimilarities and other metrics, tangent coordinates are
    those of classical scaling of the neighbors. The whole spectrum, and with it a share of variance, is computed up to
    600 points; it needs a `dimension`.

    A new point is placed at the weighted mean of its neighbors' coordinates, with the weights of `lle`; a training
    point is placed exactly on itself. It fails where data have more dimensions than the tangent spaces, and where
    noise dominates second derivatives. Source: Donoho and Grimes, "Hessian eigenmaps: locally linear embedding
    techniques for high-dimensional data", 2003.
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
