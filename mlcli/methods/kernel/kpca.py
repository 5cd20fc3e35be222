"""Kernel principal component analysis."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from mlcli.base.values.inputs import Features, Input, Similarities
from mlcli.base.values.options import option, option_of
from mlcli.core.chain.kernels import Given, Products
from mlcli.core.chain.stages import AnyDecoder, Coordinates, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.kernels.functions import Function, Gaussian, LaplacianKernel
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.model import Powers
from mlcli.errors import ConfigError
from mlcli.methods.method import Method
from mlcli.methods.trials import InputSummary, Trials, by_width, single_trial, variant

KernelFunction = Annotated[Function | LaplacianKernel, Field(discriminator="name")]


class KernelPCA(Method):
    """PCA in the feature space of a kernel function: gaussian, linear, laplacian and others; or of a given kernel.

    It keeps variance as PCA does, but the variance of the points as the kernel sees them: directions may be curves in
    the columns. It fails with a rate that does not suit the data: too large, and all points are equally different; too
    small, and the result is that of PCA. Set the rate of the kernel first (`method.kernel.rate`), by factors of about
    three around its default.

    How it works: A kernel function says how similar two rows are, and stands for their inner product in a space of many
    more features. PCA is done in that space, with the matrix of similarities alone. With the linear kernel it is PCA.

    The gaussian kernel, exp(-r d²), is close to zero beyond distances of about 1/√r. With d the distance of two rows,
    the default rate r is one over the median of d² over all pairs of different points. `gamma` is another name of r,
    and `sigma` is converted: r = 1 / (2 sigma²). The laplacian kernel, exp(-r d) with r = 1 / sigma, falls more slowly,
    and is always held in memory. A given matrix (`input.kind: kernel`) is used as it is.

    With `landmarks` m, the eigenproblem is that of a random sample of m rows, drawn with the seed. Every row x is
    placed by its centered kernel values k(x) with these rows: y = k(x) V / √λ (Nyström's formula), which is exact for m
    = n. A default rate then comes from the landmarks. `spectrum.csv` says by how many degrees an axis may differ from
    that of all rows (docs/scale.md).

    New points: The kernel values of a new point with the training points are centered as those of the training points
    were, and projected on the same eigenvectors.

    Back to features: With `decoder`, `mlcli reconstruct` turns coordinates back into features: `fixed_point` takes the
    point whose image under the gaussian kernel is nearest, `barycentric` takes a weighted mean of the features of the
    rows whose coordinates are nearest, and `ridge` a regression of the features on the coordinates.

    Source: Schölkopf, Smola and Müller, "Nonlinear component analysis as a kernel eigenvalue problem", 1998; Williams
    and Seeger, "Using the Nyström method to speed up kernel machines", 2001; Mika and others, "Kernel PCA and
    de-noising in feature spaces", 1999.
    """

    in_blocks: ClassVar = "with method.landmarks"
    accepts: ClassVar = (Features, Similarities)
    decodes: ClassVar = "linear kernel, or method.decoder"
    rules: ClassVar = ("broken_stick", "elbow")
    variants: ClassVar = (
        variant(), variant("gaussian", kernel={"name": "gaussian", "rate": 0.05}, decoder={"name": "fixed_point"}),
        variant("linear", kernel={"name": "linear"}),
        variant("laplacian", kernel={"name": "laplacian"}, decoder={"name": "ridge"}),
        variant("polynomial", "shift", kernel={"name": "polynomial", "degree": 2, "gamma": 0.1}),
        variant("cityblock", "rotation", metric="cityblock"), variant("cosine", "shift", metric="cosine"),
        variant("landmarks", "permutation", landmarks=30))
    later: ClassVar = ("decoder",)
    axis: ClassVar = "Kernel PC"
    name: Literal["kpca"] = "kpca"
    metric: AnyMetric = EUCLIDEAN
    kernel: KernelFunction = option(Gaussian(), "The kernel function; each has its own parameters.")
    landmarks: int | None = option_of(Stages, "landmarks")
    eigensolve: Eigensolve = Eigensolve()
    decoder: AnyDecoder = option_of(Stages, "decoder")

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return Gaussian kernels of several widths; one setting for an input kernel."""
        return single_trial() if seen.kind == Similarities.kind else by_width(seen)

    @property
    def weighs_columns(self) -> bool:
        """Whether columns count by their variances: not in angles between rows."""
        return super().weighs_columns and self.kernel.name != "cosine"

    def streams(self, kind: str) -> bool:
        """Whether the input is features and landmarks carry the fit: one pass then places all others."""
        return kind == "features" and self.landmarks is not None

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of H K H with Kᵢⱼ = k(xᵢ, xⱼ), or an input K; coordinates V √λ of H K H = V Λ Vᵀ."""
        kernel: Any = Given() if kind == "kernel" else {"linear": Products()}.get(self.kernel.name, self.kernel)
        return Stages(metric=self.metric, kernel=kernel, centering="double", eigensolve=self.eigensolve,
                      coordinates=Coordinates(scale="roots"), landmarks=self.landmarks, decoder=self.decoder)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for options that others make useless."""
        if not (self.distance.plain or self.kernel.bent):
            raise ConfigError("KERNEL-METRIC", f"the {self.kernel.name} kernel does not use distances, so it takes no "
                              "metric",
                              where="method.metric", hint="leave it out, or choose kernel gaussian or laplacian")
        if self.landmarks is not None and (isinstance(data, Similarities) or not self.kernel.bent):
            what = "given kernel" if isinstance(data, Similarities) else f"{self.kernel.name} kernel"
            raise ConfigError("LANDMARKS", f"the {what} does not use distances, which landmarks need",
                              where="method.landmarks", hint="leave it out, or choose kernel gaussian or laplacian")
        if isinstance(data, Similarities) and self.kernel != Gaussian():
            raise ConfigError("KERNEL", "a kernel function was chosen, but the input is a kernel matrix",
                              where="method.kernel",
                              hint="leave the kernel's options out")
        return {}

    def powers_of(self, data: Input) -> Powers:
        """Return the powers of the unit, by the kernel function's."""
        power = 1 if isinstance(data, Similarities) else self.kernel.unit_power
        return Powers(coordinates=power, spectrum=2 * power)
