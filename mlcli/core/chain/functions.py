"""Chains whose kernel is a function of two points, or an input matrix."""

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.steps import Step
from mlcli.core.centering import uncentered
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.scaling import build_fit, solve_spectrum
from mlcli.core.eigen.options import LANDMARKS
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.euclidean_distances import BLOCK
from mlcli.core.kernels.forms import BENT, Dense, centering_step
from mlcli.core.kernels.functions import rate_step
from mlcli.core.kernels.square import distances_product, kernel_product
from mlcli.core.kernels.streamed import STREAMED, Streamed, fits_in_memory
from mlcli.core.kernels.tiles import kernel_of, stays_in_cache, tiled_passes
from mlcli.core.metrics.distances import distances_cost, metric_of
from mlcli.core.model import Model
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.kernels import KernelValues
from mlcli.core.similarities.projector import Affine, linear_decoder

IN_MEMORY = 6  # functions of one distance that an entry of a kernel in memory is worth besides
HALF = 0.75  # of a pass over all pairs, for one that computes each once and multiplies it twice
CACHED = 0.5  # of its time, where the values do not leave the cache


@frozen
class FunctionChain(Composition[Model]):
    """Coordinates from a function of two points, by the eigenvectors of H K H or of K."""

    chain: ChainInput

    @property
    def square(self) -> float:
        """Bytes of the kernel in memory."""
        return 8.0 * self.chain.size**2

    @property
    def stored(self) -> bool:
        """Whether the kernel is held in memory, and not computed in every pass."""
        return fits_in_memory(self.chain.size, self.chain.compute)

    @property
    def pass_seconds(self) -> float:
        """Predicted seconds of the distances of all pairs."""
        (count, columns), threads = self.chain.data.values.shape, self.chain.compute.thread_count()
        return distances_cost(metric_of(self.chain.data), count, columns, threads)

    @FitStage
    def similarity(self) -> KernelValues:
        """The function, its defaults fixed from the points."""
        return KernelValues.of(self.chain.kernel.function, metric_of(self.chain.data), self.chain.features)

    @similarity.cost
    def _(self) -> list[Step]:
        chain = self.chain
        return [rate_step(metric_of(chain.data), chain.data.values.shape, chain.compute.thread_count())
                ] if chain.kernel.adapts else []

    @FitStage
    def kernel(self) -> Dense | Streamed:
        """H K H or K, in memory where it is small."""
        return kernel_of(self.similarity.function, self.similarity.points, self.chain.compute, self.chain.double)

    @kernel.cost
    def _(self) -> list[Step]:
        if not self.stored:
            return []
        count, adapts = self.chain.size, self.chain.kernel.adapts
        seconds = self.pass_seconds + count**2 * rates().bent * (IN_MEMORY if adapts else BENT)
        return [Step("kernel", f"{count} x {count}, in memory", seconds,
                     self.square * (1 if adapts else 2) + 8.0 * min(count**2, BLOCK)),
                *([centering_step(count**2, self.square)] if self.chain.double else [])]

    @FitStage
    def spectrum(self) -> Spectrum:
        """V Λ Vᵀ of the kernel in memory, or its top by a few passes."""
        return solve_spectrum(self.chain, self.kernel, self.chain.size - self.chain.double)

    @spectrum.cost
    def _(self) -> list[Step]:
        chain, count, threads = self.chain, self.chain.size, self.chain.compute.thread_count()
        if self.stored:
            return [chain.stages.eigensolve.step(count, threads, self.square, square=True)]
        metric, function = metric_of(chain.data), chain.kernel.function
        cached = metric.plain and stays_in_cache(function, chain.data.values.shape[1])
        seconds = self.pass_seconds * (HALF * (CACHED if cached else 1.0))
        held = 3 * self.square if chain.stages.eigensolve.components == "all" else 8.0 * (LANDMARKS * count + 2**20)
        return [Step("eigensolve", f"block Krylov: {STREAMED}, in each of which the kernel is computed and centered",
                     STREAMED.usual * seconds, held, spread=STREAMED.spread,
                     passes=tiled_passes(chain.data.values, STREAMED.usual, seconds * threads))]

    def result(self) -> Model:
        """Return the coordinates V √Λ, and axes V / √Λ for new points."""
        chain, spectrum = self.chain, self.spectrum
        linear = linear_decoder(chain.data.values, spectrum) if chain.kernel.by_columns else None
        return fit_of_values(chain, spectrum, self.similarity, linear)


@frozen
class GivenChain(Composition[Model]):
    """Coordinates from a kernel matrix that is the input, by the eigenvectors of H K H or of K."""

    chain: ChainInput

    @FitStage
    def kernel(self) -> Dense:
        """H K H or K."""
        matrix = self.chain.data.values.copy()
        return Dense.of(matrix) if self.chain.double else Dense(matrix, uncentered(len(matrix)))

    @kernel.cost
    def _(self) -> list[Step]:
        return [centering_step(self.chain.size**2, 8.0 * self.chain.size**2)] if self.chain.double else []

    @FitStage
    def spectrum(self) -> Spectrum:
        """V Λ Vᵀ."""
        return solve_spectrum(self.chain, self.kernel, self.chain.size - self.chain.double)

    @spectrum.cost
    def _(self) -> list[Step]:
        chain, count = self.chain, self.chain.size
        return [chain.stages.eigensolve.step(count, chain.compute.thread_count(), 8.0 * count**2, square=True)]

    def result(self) -> Model:
        """Return the coordinates V √Λ, and axes V / √Λ for new points."""
        return fit_of_values(self.chain, self.spectrum, Columns())


def fit_of_values(chain: ChainInput, spectrum: Spectrum, similarity: Columns | KernelValues,
                  decoder: Affine | None = None) -> Model:
    """Return the fit of a kernel of values of two points, with the kernel's rows as a result that a run may keep."""
    values = chain.data.values
    products = kernel_product(len(values), lambda chosen: similarity.rows(values[chosen]), spectrum.centering)
    if chain.kernel.of_distances:
        products = {**products, **distances_product(chain.spatial)}
    return build_fit(chain, spectrum, similarity, decoder=decoder, products=products)
