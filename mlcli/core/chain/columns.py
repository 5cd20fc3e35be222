"""Chains whose kernel is a function of two points, the products of the columns, or an input matrix."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.scratch import map_blocks
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.steps import Step
from mlcli.base.values.quantity import Quantity
from mlcli.core.centering import uncentered
from mlcli.core.chain.input import ChainInput, Fitted, limit_of_columns
from mlcli.core.chain.scaling import build_fit, solve_spectrum, stretches
from mlcli.core.costs import BENT, LANDMARKS, STREAMED, centering_step
from mlcli.core.distances import BLOCK
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.kernels.factor_solver import side_steps
from mlcli.core.kernels.forms import Dense
from mlcli.core.kernels.row_factor import factor_of, row_steps
from mlcli.core.kernels.square import distances_product, kernel_product
from mlcli.core.metrics.distances import distances_cost
from mlcli.core.metrics.points import metric_of
from mlcli.core.similarities.columns import Columns
from mlcli.core.similarities.decoders import Affine, linear_decoder
from mlcli.core.similarities.projector import Projector

if TYPE_CHECKING:
    from mlcli.core.kernels.functions import Function
    from mlcli.core.similarities.kernels import KernelValues

IN_MEMORY = 6  # functions of one distance that an entry of a kernel in memory is worth besides
HALF = 0.75  # of a pass over all pairs, for one that computes each once and multiplies it twice
CACHED = 0.5  # of its time, where the values do not leave the cache


@frozen
class ColumnChain:
    """Coordinates from X = U Σ Vᵀ, with centered columns (PCA) or not; scores are U Σ, directions V."""

    chain: ChainInput

    def steps(self, share: float | None) -> list[Step]:
        """Return the steps of one product and the eigenproblem of the smaller side."""
        chain, rows = self.chain, rows_of(self.chain.data.values)
        if rows is not None:
            return row_steps(rows, chain.eigensolve, chain.compute.thread_count())
        steps = side_steps(chain.data.values, chain.kernel.route, chain.eigensolve, chain.compute.thread_count())
        return steps if chain.centering == "columns" else [step for step in steps if step.stage != "centering"]

    def fit(self) -> Fitted:
        """Return the fit: scores on the directions of the columns."""
        chain, points = self.chain, self.chain.data.values
        kernel = factor_of(points, chain.kernel.route, chain.centering == "columns").with_products()
        spectrum = solve_spectrum(chain, kernel, limit_of_columns(points, chain.centering == "columns"))
        directions, (stretch, shrink) = spectrum.feature_directions(), stretches(chain, spectrum)
        projector = Projector(Columns(), kernel.centering, directions * stretch,
                              Affine(kernel.centering.means, directions * shrink))
        sizes = chain.coordinates.sizes(spectrum)
        embedding = map_blocks(lambda some: some * sizes, spectrum.vectors)
        # columns that are not centered have no variances to report
        spectrum = spectrum if chain.centering == "columns" else replace(spectrum, directions=None)
        return Fitted(embedding=embedding, spectrum=spectrum, projector=projector, **power_curves(spectrum))


def power_curves(spectrum: Spectrum) -> dict[str, Any]:
    """Return the objective and curves of power iteration: an axis's eigenvalue and residual after each of its steps."""
    axes, estimates, residuals = spectrum.steps.T
    return {"objective": Quantity(estimates / spectrum.divisor, 2),
            "curves": {"axis": Quantity(axes), "residual": Quantity(residuals)}} if len(axes) else {}


@frozen
class FunctionChain:
    """Coordinates from a function of two points, or from an input kernel, centered or not."""

    chain: ChainInput

    def steps(self, share: float | None) -> list[Step]:
        """Return the steps of the kernel, in memory or streamed, and its spectrum."""
        chain, count = self.chain, self.chain.size
        threads, square = chain.compute.thread_count(), 8.0 * count**2
        centering = [centering_step(count**2, square)] if chain.centering == "double" else []
        whole = [*centering, chain.eigensolve.step(count, threads, square, square=True)]
        if chain.kernel.of_input:
            return whole
        from mlcli.core.kernels.radial import rate_step
        from mlcli.core.kernels.streamed import fits_in_memory
        from mlcli.core.kernels.tiles import stays_in_cache, tiled_passes

        metric, shape = metric_of(chain.data), chain.data.values.shape
        seconds = distances_cost(metric, count, shape[1], threads)
        rate = [rate_step(metric, shape, threads)] if chain.kernel.adapts else []
        if fits_in_memory(count, chain.compute):
            seconds += count**2 * rates().bent * (IN_MEMORY if chain.kernel.adapts else BENT)
            return [*rate, Step("kernel", f"{count} x {count}, in memory", seconds,
                                square * (1 if chain.kernel.adapts else 2) + 8.0 * min(count**2, BLOCK)), *whole]
        seconds *= HALF * (CACHED if metric.plain and stays_in_cache(chain.kernel.function, shape[1]) else 1.0)
        stored = 3 * square if chain.eigensolve.components == "all" else 8.0 * (LANDMARKS * count + 2**20)
        return [*rate, Step("eigensolve", f"block Krylov: {STREAMED}, in each of which the kernel is "
                            "computed and centered", STREAMED.usual * seconds, stored,
                            passes=tiled_passes(chain.data.values, STREAMED.usual, seconds * threads),
                            spread=STREAMED.spread)]

    def fit(self) -> Fitted:
        """Return the fit by the eigenvectors of H K H, or of K."""
        chain, double = self.chain, self.chain.centering == "double"
        if chain.kernel.of_input:
            matrix = chain.data.values.copy()
            kernel = Dense.of(matrix) if double else Dense(matrix, uncentered(len(matrix)))
            return self._build_fit(solve_spectrum(chain, kernel, chain.size - double), Columns())
        from mlcli.core.kernels.streamed import kernel_of
        from mlcli.core.similarities.kernels import KernelValues

        function: Function = chain.kernel.function
        similarity = KernelValues.of(function, metric_of(chain.data), chain.features)
        kernel_ = kernel_of(similarity.function, similarity.points, chain.compute, double)
        spectrum = solve_spectrum(chain, kernel_, chain.size - double)
        linear = linear_decoder(chain.data.values, spectrum) if chain.kernel.by_columns else None
        return self._build_fit(spectrum, similarity, linear)

    def _build_fit(self, spectrum: Spectrum, similarity: "Columns | KernelValues",
                   decoder: Affine | None = None) -> Fitted:
        values = self.chain.data.values
        products = kernel_product(len(values), lambda chosen: similarity.rows(values[chosen]), spectrum.centering)
        if self.chain.kernel.of_distances:
            products = {**products, **distances_product(self.chain.spatial)}
        return build_fit(self.chain, spectrum, similarity, decoder=decoder, products=products)
