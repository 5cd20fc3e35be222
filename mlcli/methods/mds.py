"""Classical multidimensional scaling, or principal coordinates analysis."""

from typing import ClassVar, Literal

from mlcli.base.compute import Compute
from mlcli.base.inputs import Dissimilarities, Features
from mlcli.base.options import option
from mlcli.base.stage import running
from mlcli.base.steps import Step
from mlcli.base.types import Indices
from mlcli.methods.base import Method
from mlcli.methods.model import Model, existing
from mlcli.methods.ways import way
from mlcli.stages.algebra.costs import gower_steps, solve_cost
from mlcli.stages.algebra.distances import gower
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric, metric_of, seconds_of_squares, squares
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.eigen.landmarks import choose_landmarks, landmark_step
from mlcli.stages.kernels.corrections import correction_for
from mlcli.stages.kernels.forms import Dense
from mlcli.stages.similarities import Distances, GivenDistances, linear_decoder

COPIES = {"lingoes": 3.0, "cailliez": 5.0}  # n x n matrices at once
SPECTRA = {"lingoes": 0.5, "cailliez": 4.0}  # whole spectra that take as long


class MDS(Method):
    """Points whose distances reproduce given dissimilarities (PCoA), or those of features under a metric.

    The kernel is -H D² H / 2 with D² the squared dissimilarities. Where they are Euclidean the
    result is PCA's. Where they are not, some eigenvalues are negative: they stay in the
    spectrum and never become axes. The Lingoes correction adds the smallest constant to the
    squared dissimilarities, Cailliez's to the dissimilarities, that makes all of them nonnegative.

    New points are placed by Gower's interpolation. Source: Torgerson, 1952; Gower, 1966 and 1968;
    Lingoes, 1971; Cailliez, 1983.
    """

    accepts: ClassVar = (Dissimilarities, Features)
    proof: ClassVar = "kernel"
    decodes: ClassVar = "features, Euclidean, no correction"
    aliases: ClassVar = ("pcoa", "cmdscale")
    rules: ClassVar = ("broken_stick", "residual_variance", "elbow")
    isometric: ClassVar = True
    ways: ClassVar = (way(), way("lingoes", correction="lingoes"), way("landmarks", "permutation", landmarks=30),
                      way("krylov", "whole", eigensolve={"solver": "krylov"}),
                      way("cityblock", "rotation", metric="cityblock"), way("cosine", "shift", metric="cosine"),
                      way("landmarks of minkowski", "permutation", "rotation", metric="minkowski", landmarks=30))
    name: Literal["mds"] = "mds"
    metric: AnyMetric = EUCLIDEAN
    correction: Literal["none", "lingoes", "cailliez"] = option(
        "none", "Correction that makes the dissimilarities Euclidean.")
    landmarks: int | None = option(None, "Points that carry the fit and place the others (default: all).", ge=2)
    eigensolve: Eigensolve = Eigensolve()

    def steps(self, data: Dissimilarities | Features, compute: Compute, share: float | None) -> list[Step]:
        """Distances of all pairs, held whole, their kernel and its spectrum."""
        count, threads = self.landmarks or len(data.values), compute.thread_count()
        instead = "of features, pca gives the same embedding in little memory; or " * metric_of(data).plain
        square, remedy = 8.0 * count**2, f"{instead}use landmarks"
        rows = 0.0 if self.landmarks is None else 8.0 * 2 * count * len(data.values)
        held, whole = 2 * square + rows, self.landmarks is None
        steps = [Step("distances", f"{count} x {count}, in memory", seconds_of_squares(data, count, threads), held,
                      remedy=remedy, square=whole)]
        if self.correction != "none":
            steps += [Step("correction", self.correction, SPECTRA[self.correction] * solve_cost(count, threads),
                           COPIES[self.correction] * square + rows, remedy=remedy, square=whole)]
        steps += [*gower_steps(count**2, held, remedy, square=whole),
                  self.eigensolve.step(count, threads, held, remedy, square=whole)]
        return steps if whole else [*steps, landmark_step(count, len(data.values))]

    def solve(self, data: Dissimilarities | Features, compute: Compute) -> Model:
        """The fit of all points, or of landmarks by which the others are placed."""
        if self.landmarks is None:
            return self.solve_all(data, compute)
        landmarks = choose_landmarks(len(data.values), self.landmarks, compute.generator())
        model = self.solve_all(data.take(landmarks), compute, landmarks)
        with running("coordinates"):
            return model.placing(existing(model.projector).similarity.rows(data.values))

    def solve_all(self, data: Dissimilarities | Features, compute: Compute, landmarks: Indices | None = None) -> Model:
        """K = -H D² H / 2; coordinates are V √λ."""
        with running("distances"):
            squared = squares(data)
        correction = correction_for(squared, self.correction, data.unit)
        with running("kernel"):
            products = gower(correction.off_diagonal(squared))
        kernel = Dense.of(products)
        spectrum = self.eigensolve(kernel, len(squared) - 1, compute, notable=0.0)
        if not isinstance(data, Features):
            return Model.of_kernel(spectrum, GivenDistances(correction, landmarks))
        metric, straight = metric_of(data), metric_of(data).plain and not correction.constant
        return Model.of_kernel(spectrum, Distances(data.values, correction, metric),
                               decoder=linear_decoder(data.values, spectrum) if straight else None)
