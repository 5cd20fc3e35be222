"""The chain whose kernel is the products of the columns."""

from dataclasses import replace
from functools import cached_property
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import map_blocks
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.steps import Step
from mlcli.base.values.quantity import Quantity
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.scaling import solve_spectrum, stretches
from mlcli.core.chain.stages import limit_of_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.kernels.factor_solver import side_steps
from mlcli.core.kernels.row_factor import AnyFactor, factor_of, row_steps
from mlcli.core.model import Model
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Affine, Projector


@frozen
class ColumnChain(Composition[Model]):
    """Coordinates from X = U Σ Vᵀ, with centered columns (PCA) or not; scores are U Σ, directions V."""

    chain: ChainInput

    @property
    def centered(self) -> bool:
        """Whether columns are centered."""
        return self.chain.stages.centering == "columns"

    @cached_property
    def kernel(self) -> AnyFactor:
        """X, as the factor of the kernel X Xᵀ."""
        return factor_of(self.chain.data.values, self.chain.kernel.route, self.centered).with_products()

    @FitStage
    def spectrum(self) -> Spectrum:
        """U Σ² Uᵀ, by products of columns or rows and the eigenproblem of that side, or by X itself."""
        return solve_spectrum(self.chain, self.kernel, limit_of_columns(self.chain.data.values, self.centered))

    @spectrum.cost
    def _(self) -> list[Step]:
        chain, rows, threads = self.chain, rows_of(self.chain.data.values), self.chain.compute.thread_count()
        if rows is not None:
            return row_steps(rows, chain.stages.eigensolve, threads)
        steps = side_steps(chain.data.values, chain.kernel.route, chain.stages.eigensolve, threads)
        return steps if self.centered else [step for step in steps if step.stage != "centering"]

    def result(self) -> Model:
        """Return the scores on the directions of the columns."""
        chain, kernel, spectrum = self.chain, self.kernel, self.spectrum
        directions, (stretch, shrink) = spectrum.feature_directions(), stretches(chain, spectrum)
        projector = Projector(Columns(), kernel.centering, directions * stretch,
                              Affine(kernel.centering.means, directions * shrink))
        sizes = chain.stages.coordinates.sizes(spectrum)
        embedding = map_blocks(lambda some: some * sizes, spectrum.vectors)
        # columns that are not centered have no variances to report
        spectrum = spectrum if self.centered else replace(spectrum, directions=None)
        return Model(embedding=embedding, spectrum=spectrum, projector=projector, **power_curves(spectrum))


def power_curves(spectrum: Spectrum) -> dict[str, Any]:
    """Return the objective and curves of power iteration: an axis's eigenvalue and residual after each of its steps."""
    axes, estimates, residuals = spectrum.steps.T
    return {"objective": Quantity(estimates / spectrum.divisor, 2),
            "curves": {"axis": Quantity(axes), "residual": Quantity(residuals)}} if len(axes) else {}
