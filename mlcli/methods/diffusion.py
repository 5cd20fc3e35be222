"""Diffusion maps."""

from typing import Any, ClassVar, Literal, Self

from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.base.values.options import option_of
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.memory import peak
from mlcli.methods.frame.model import Model, Powers
from mlcli.methods.frame.trials import MANY, InputSummary, Trials, single_trial
from mlcli.methods.frame.variants import variant
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric
from mlcli.stages.chain.kernels.diffusion import Bandwidth, DiffusionKernel
from mlcli.stages.chain.options import AnyDecoder
from mlcli.stages.chain.stages import Stages
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.graph.neighbors import graph_bytes

SPARSE = 64  # neighbors of a sparse kernel, where all pairs do not fit into memory


class Diffusion(Method):
    """Coordinates that bring points together if a random walk connects them by many short paths.

    Affinities of all pairs, including a point with itself, are w = exp(-d²/ε), with one ε, or with widths of the
    points, d² / (σ(x) σ(y)). They are divided by q(x)^α q(y)^α, with q their sums: with α = 1 the density of points has
    no effect. Over their sums they are the probabilities P of a walk. Coordinates are λ^t ψ, with P ψ = λ ψ and
    the constant first function left out: ψ has variance one under the walk's stationary distribution, and Euclidean
    distances of all coordinates are the diffusion distances after t steps. With α = 0 and t = 0 they are the vectors of
    the random-walk Laplacian of the same affinities.

    Eigenvalues below zero, which other metrics and widths of the points may have, stay in the spectrum and never
    become axes; so time may be a fraction. All pairs are held in memory. With `nearest` the kernel is sparse: a point
    has affinities with itself, its k nearest points and those that it is among the k nearest of, and eigenvalues near
    one come from one sparse factorization. Of k = n - 1 it is the kernel of all pairs. Where these do not fit into
    memory, k is 64, and a note says so. The default ε is then the median squared length of an edge.

    A new point is placed at the mean of the training points' coordinates by its own probabilities, over λ (Nyström);
    with `nearest`, of its k + 1 nearest training points. It fails if ε is so small that the walk does not reach all
    points, or so large that all steps are equally likely.
    With `decoder` coordinates lead back to features, by neighbors in the embedding or by regression.
    Source: Coifman and Lafon, "Diffusion maps", 2006; widths: Zelnik-Manor and Perona, "Self-tuning spectral
    clustering", 2004.
    """

    accepts: ClassVar = (Features, Dissimilarities)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    decodes: ClassVar = "method.decoder"
    rules: ClassVar = ("two_nn", "maximum_likelihood")
    scaleless: ClassVar = True
    variants: ClassVar = (
        variant(), variant("adaptive", "permutation", bandwidth={"name": "adaptive"}),
        variant("plain", alpha=0.0, time=0.0, decoder={"name": "barycentric"}), variant("long", time=3.0),
        variant("sparse", nearest=11),
        variant("sparse adaptive", "permutation", nearest=11, bandwidth={"name": "adaptive"}),
        variant("cosine", "shift", metric="cosine"), variant("cityblock", "rotation", metric="cityblock"))
    later: ClassVar = ("decoder", "nearest")
    axis: ClassVar = "Diffusion"
    name: Literal["diffusion"] = "diffusion"
    metric: AnyMetric = EUCLIDEAN
    bandwidth: Bandwidth = option_of(DiffusionKernel, "bandwidth")
    alpha: float = option_of(DiffusionKernel, "alpha")
    nearest: int | None = option_of(DiffusionKernel, "nearest")
    time: float = option_of(DiffusionKernel, "time")
    eigensolve: Eigensolve = Eigensolve()
    decoder: AnyDecoder = option_of(Stages, "decoder")

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return one width for all points, and adaptive widths; nothing for very many rows."""
        if seen.rows > MANY:
            return Trials(reason="all pairs of so many rows are held in memory")
        return Trials(({}, {"bandwidth": {"name": "adaptive"}})) if seen.rows > 8 else single_trial()

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of A = D^(-1/2) W D^(-1/2), W = exp(-d²/ε) / (q qᵀ)^α, D its sums; coordinates λ^t v/v₀."""
        return Stages(metric=self.metric, kernel=DiffusionKernel(
            bandwidth=self.bandwidth, alpha=self.alpha, nearest=self.nearest, time=self.time),
                      eigensolve=self.eigensolve, decoder=self.decoder)

    def solve(self, data: Any, compute: Compute) -> Model:
        """Compute the model of all pairs, or of neighbors where these were asked for or all pairs do not fit."""
        fitting = self._fitting(data, compute)
        if fitting is not self:
            note("N-SPARSE", f"affinities of all pairs of {len(data.values):,} points do not fit into memory: those of "
                 f"{SPARSE} nearest neighbors are used, as with {{method.nearest={SPARSE}}}", nearest=SPARSE)
        return super(Diffusion, fitting).solve(data, compute)

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of all pairs, or of neighbors where these were asked for or all pairs do not fit."""
        return super(Diffusion, self._fitting(data, compute)).steps(data, compute, share)

    def stored(self, data: Any) -> float:
        """Return the bytes of training rows, and of the graph of a sparse kernel."""
        return super().stored(data) + (0.0 if self.nearest is None else graph_bytes(self.nearest, data))

    def _fitting(self, data: Any, compute: Compute) -> Self:
        """Return this method, with a sparse kernel where the memory limit does not allow all pairs."""
        if self.nearest is not None or len(data.values) <= SPARSE:
            return self
        steps = super().steps(data, compute, None)
        return self if peak(steps, data, self, compute) <= compute.memory_bytes() else self.replace(nearest=SPARSE)
