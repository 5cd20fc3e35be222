"""Classical multidimensional scaling, or principal coordinates analysis."""

from typing import ClassVar, Literal

from mlcli.base.values.inputs import Dissimilarities, Features, Input
from mlcli.base.values.options import option, option_of
from mlcli.core.chain.kernels import GowerKernel
from mlcli.core.chain.stages import Coordinates, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.methods.method import Method
from mlcli.methods.trials import InputSummary, Trials, single_trial, variant


class MDS(Method):
    """Points whose distances reproduce given dissimilarities (PCoA), or those of features under a metric.

    It keeps distances: points lie as far apart as their dissimilarities say, as nearly as the number of axes allows. It
    fails if dissimilarities are far from distances in any space, which large negative eigenvalues show: use `nmds`
    then, which needs only their order. Set `--dissimilarities` first if the file holds them, or `--metric` if it holds
    features.

    How it works: Squared dissimilarities are turned into inner products about the center of the points: the kernel is
    -H D² H / 2, with D² the squared dissimilarities and H the matrix that subtracts means. The coordinates are its
    eigenvectors, each times the root of its eigenvalue. If the dissimilarities are Euclidean distances, the result is
    that of PCA.

    If they are not Euclidean distances, some eigenvalues are negative: these stay in the spectrum and never become
    axes. A `correction` adds the smallest constant that makes all eigenvalues nonnegative: that of Lingoes to the
    squared dissimilarities, that of Cailliez to the dissimilarities.

    With landmarks `spectrum.csv` says by how many degrees an axis may differ from that of all points (docs/scale.md).

    New points: New points are placed by Gower's interpolation, from their dissimilarities to the training points.

    Source: Torgerson, 1952; Gower, 1966 and 1968; Lingoes, 1971; Cailliez, 1983.
    """

    in_blocks: ClassVar = "with method.landmarks and no correction"
    accepts: ClassVar = (Dissimilarities, Features)
    baseline: ClassVar = True
    unscaled: ClassVar = 100  # squares up to 2**200, whose own squares are far from the end of the range
    decodes: ClassVar = "features, Euclidean, no correction"
    rules: ClassVar = ("broken_stick", "residual_variance", "elbow")
    isometric: ClassVar = True
    variants: ClassVar = (
        variant(), variant("lingoes", correction="lingoes"), variant("landmarks", "permutation", landmarks=30),
        variant("krylov", "whole", eigensolve={"solver": "krylov"}),
        variant("cityblock", "rotation", metric="cityblock"), variant("cosine", "shift", metric="cosine"),
        variant("landmarks of minkowski", "permutation", "rotation", metric="minkowski", landmarks=30))
    axis: ClassVar = "PCo"
    name: Literal["mds"] = "mds"
    metric: AnyMetric = EUCLIDEAN
    correction: Literal["none", "lingoes", "cailliez"] = option(
        "none", "Correction that makes the dissimilarities Euclidean.")
    landmarks: int | None = option_of(Stages, "landmarks")
    eigensolve: Eigensolve = Eigensolve()

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return one setting; none for Euclidean distances, where the result is that of PCA."""
        return Trials(reason="of Euclidean distances it is pca") if seen.euclidean else single_trial()

    def streams(self, kind: str) -> bool:
        """Whether input is dissimilarities, whose kernel is only applied, or features with landmarks; no correction."""
        carried = self.landmarks is not None if kind == "features" else self.landmarks is None
        return kind in ("dissimilarities", "features") and self.correction == "none" and carried

    def axes_of(self, data: Input) -> int:
        """Return the number of axes; for a share of the variance, the largest, at most the rank of the features."""
        flat = data.kind == Features.kind and self.chain(data.kind).linear
        return min(super().axes_of(data), data.values.shape[1]) if flat else super().axes_of(data)

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of K = -H D² H / 2, D the distances of all pairs; coordinates V √λ of K = V Λ Vᵀ."""
        return Stages(metric=self.metric, correction=self.correction, kernel=GowerKernel(), centering="double",
                      eigensolve=self.eigensolve, coordinates=Coordinates(scale="roots"), landmarks=self.landmarks)
