"""Modified locally linear embedding."""

from typing import ClassVar, Literal

from mlcli.base.values.options import option_of
from mlcli.methods.frame.tangents import TangentMethod
from mlcli.methods.frame.variants import variant
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric
from mlcli.stages.chain.kernels.modified_reconstruction import ModifiedReconstruction
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.graph.neighbors import Neighbors


class MLLE(TangentMethod):
    """Coordinates that preserve several weights of each point over its neighbors, where LLE has one.

    Where a point has more neighbors than the manifold has dimensions, many weights reproduce it about equally well,
    and which of them LLE takes depends on its ridge. This method takes all of them: as many weight vectors w as the
    differences to the neighbors have principal axes that hold little. That is no more, of what the other axes hold,
    than the median over the points of what the axes after the first p hold of what the first p do, with p the number
    of axes, or `dimension`. The cost of a function is the sum of (yᵢ - Σ w y)² over the weight vectors of all points,
    vᵀMv with M = RᵀR. The kernel is M⁺, its constant null vector removed; `spectrum.csv` holds its eigenvalues, one
    over the costs. Coordinates have unit variance, because weights do not determine the scale.

    Each point needs p + 1 neighbors or more. Weights need distances only. The whole spectrum, and with it a share of
    variance, is computed up to 600 points; it needs a `dimension`.

    A new point is placed at the weighted mean of its neighbors' coordinates, with the weights of `lle`; a training
    point is placed exactly on itself. It fails where data have more dimensions than `dimension`, as then many axes hold
    as much. Source: Zhang and Wang, "MLLE: modified locally linear embedding using multiple weights", 2006.
    """

    variants: ClassVar = (
        variant("", "twins", "share", neighbors={"count": 9}),
        variant("krylov", "twins", "whole", "share", neighbors={"count": 9}, eigensolve={"solver": "krylov"}),
        variant("dimension", "twins", neighbors={"count": 9}, dimension=3),
        variant("cityblock", "twins", "rotation", "share", neighbors={"count": 9}, metric="cityblock"))
    axis: ClassVar = "MLLE"
    name: Literal["mlle"] = "mlle"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    dimension: int | None = option_of(ModifiedReconstruction, "dimension")
    ridge: float = option_of(ModifiedReconstruction, "ridge")
    eigensolve: Eigensolve = Eigensolve()

    @property
    def kernel(self) -> ModifiedReconstruction:
        """The inverse of the cost of all weights."""
        return ModifiedReconstruction(dimension=self.dimension, ridge=self.ridge)
