"""Kernel principal component analysis."""

from typing import Any, ClassVar, Literal

from mlcli.base.compute import Compute
from mlcli.base.inputs import Features, Input, Similarities
from mlcli.base.options import option
from mlcli.base.steps import Step
from mlcli.errors import ConfigError
from mlcli.methods.base import Method
from mlcli.methods.model import Model, Powers
from mlcli.methods.ways import way
from mlcli.stages.algebra.costs import PASSES, centering_step
from mlcli.stages.algebra.distances import BLOCK
from mlcli.stages.algebra.metrics.costs import distances_cost
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric, metric_of
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.kernels.forms import Dense
from mlcli.stages.kernels.functions import Gaussian, KernelFunction, Linear
from mlcli.stages.kernels.radial import rate_step
from mlcli.stages.kernels.streamed import fits_in_memory, kernel_of
from mlcli.stages.similarities import Columns, KernelValues, linear_decoder


class KernelPCA(Method):
    """PCA in the feature space of a kernel function: linear, polynomial or gaussian; or of a kernel given as a matrix.

    With the linear kernel it is PCA. The gaussian kernel, exp(-r d²), sees neighbors within about 1/√r and nothing
    beyond: too large a rate makes all points equally different, too small a one gives PCA again. Its default is one
    over the median squared distance of all pairs, those of equal points left out. A given matrix (`input.kind: kernel`)
    is used as it is. Kernel rows of new points are centered as the training rows were. Source: Schölkopf, Smola and
    Müller, "Nonlinear component analysis as a kernel eigenvalue problem", 1998.
    """

    accepts: ClassVar = (Features, Similarities)
    proof: ClassVar = "kernel"
    decodes: ClassVar = "linear kernel"
    rules: ClassVar = ("broken_stick", "elbow")
    ways: ClassVar = (
        way(), way("gaussian", kernel={"name": "gaussian", "rate": 0.05}), way("linear", kernel={"name": "linear"}),
        way("polynomial", "shift", kernel={"name": "polynomial", "degree": 2, "gamma": 0.1}),
        way("cityblock", "rotation", metric="cityblock"), way("cosine", "shift", metric="cosine"))
    name: Literal["kpca"] = "kpca"
    metric: AnyMetric = EUCLIDEAN
    kernel: KernelFunction = option(Gaussian(), "The kernel function; each has its own parameters.")
    eigensolve: Eigensolve = Eigensolve()

    def steps(self, data: Features | Similarities, compute: Compute, share: float | None) -> list[Step]:
        """The kernel, kept or streamed, and its spectrum."""
        count, threads, square = len(data.values), compute.thread_count(), 8.0 * len(data.values) ** 2
        solved = [centering_step(count**2, square), self.eigensolve.step(count, threads, square, square=True)]
        if isinstance(data, Similarities):
            return solved
        rate = [rate_step(metric_of(data), data.values.shape, threads)] if self.kernel.adapts else []
        seconds = distances_cost(metric_of(data), count, data.values.shape[1], threads)
        if fits_in_memory(count, compute):
            return [*rate, Step("kernel", f"{count} x {count}, in memory", seconds,
                                square + 8.0 * min(count**2, BLOCK)), *solved]
        stored = 3 * square if self.eigensolve.components == "all" else 8.0 * count * 128
        return [*rate, Step("eigensolve", f"block Krylov: about {PASSES} passes, in each of which the kernel is "
                            "computed and centered", PASSES * seconds / 4, stored)]

    def solve(self, data: Features | Similarities, compute: Compute) -> Model:
        """H K H; coordinates are V √λ."""
        similarity = self._similarity(data, compute)
        kernel = (Dense.of(data.values.copy()) if isinstance(similarity, Columns)
                  else kernel_of(similarity.function, similarity.points, compute))
        spectrum = self.eigensolve(kernel, len(data.values) - 1, compute)
        linear = isinstance(data, Features) and isinstance(self.kernel, Linear)
        decoder = linear_decoder(data.values, spectrum) if linear else None
        return Model.of_kernel(spectrum, similarity, decoder=decoder)

    def _similarity(self, data: Features | Similarities, compute: Compute) -> Columns | KernelValues:
        if isinstance(data, Similarities):
            return Columns()
        return KernelValues.of(self.kernel, metric_of(data), data)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Nothing depends on the data; but some choices have no use beside others."""
        if not (self.distance.plain or self.kernel.of_distances):
            raise ConfigError("KERNEL-METRIC", f"the {self.kernel.name} kernel is no function of a metric's distances",
                              where="method.metric", hint="leave the metric out, or choose the gaussian kernel")
        if isinstance(data, Similarities) and self.kernel != Gaussian():
            raise ConfigError("KERNEL", "a kernel function was chosen and the kernel is given", where="method.kernel",
                              hint="leave the kernel's options out")
        return {}

    def powers_of(self, data: Input) -> Powers:
        """A kernel function has its own power of the unit."""
        power = 1 if isinstance(data, Similarities) else self.kernel.unit_power
        return Powers(coordinates=power, spectrum=2 * power)
