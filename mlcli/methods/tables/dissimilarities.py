"""Several matrices of dissimilarities of the same points: their inner products, and the axes of a sum of these."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import computed, note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray, Array
from mlcli.base.units import percent
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import ViewedDissimilarities
from mlcli.base.values.signs import leading_signs
from mlcli.core.eigen.eigensolve import NOTABLE
from mlcli.core.eigen.options import Axes, first_columns
from mlcli.core.eigen.solved import rounding_floor
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.linalg import solve_cost, symmetric_eigen, symmetric_eigenvalues
from mlcli.core.model import Model
from mlcli.core.similarities.projector import NoProjection
from mlcli.errors import DataError
from mlcli.methods.tables.combine import TableProducts, describe_groups, figures_of, unit_vectors

NOT_PLACED = NoProjection("this run was made of several matrices of dissimilarities, and a new point would need its "
                          "dissimilarities in each of them", "fit the matrices with the new points in them")


def matrices_of(data: ViewedDissimilarities) -> list[Array]:
    """Return all matrices (n x n), rows and columns in the order of the points (n).

    A view is a matrix with columns of the points' names, and of others that were left out of the fit.
    """
    names, found = list(map(str, data.ids)), [data.values]
    for view in data.views[1:]:
        places = {str(name): place for place, name in enumerate(view.columns)}
        found.append(np.asarray(view.values)[:, [places[name] for name in names]])
    return found


def products_of(matrix: Array) -> Array:
    """Return -J D² J / 2n (n x n) of dissimilarities (n x n), J taking away the mean (Torgerson; Gower, 1966)."""
    squared = matrix**2
    squared = squared - squared.mean(axis=0)
    squared -= squared.mean(axis=1, keepdims=True)
    squared *= -0.5 / max(len(matrix), 1)
    return (squared + squared.T) / 2


@stage("groups")
def kernel_products(kernels: list[Array]) -> TableProducts:
    """Compare kernels (n x n) by the traces of their products; raises DataError for one of zeros."""
    for number, kernel in enumerate(kernels, 1):
        if not kernel.any():
            raise DataError("CONSTANT-GROUP", f"table {number} tells no two points apart", where="input.view",
                            hint="leave it out")
    products = np.array([[np.sum(one * other) for other in kernels] for one in kernels])
    return TableProducts(products, np.array([symmetric_eigenvalues(kernel)[0] for kernel in kernels]))


@frozen
class SumAxes:
    """The axes of a sum of kernels that may have negative eigenvalues."""

    eigenvalues: Array  # m: those above rounding, descending, then negative ones
    vectors: Array  # n x p, of length one
    total: float


@stage("combine")
def sum_axes(kernel: Array, count: int) -> SumAxes:
    """Return all eigenvalues of a sum of kernels (n x n) besides zeros, and up to `count` axes of positive ones."""
    computed("combined kernel", kernel)
    values, vectors = symmetric_eigen(kernel)
    floor = rounding_floor(values, len(kernel))
    first = int(np.sum(values > floor))
    negative = values[values < -floor]
    if negative.min(initial=0.0) < -NOTABLE * values.max(initial=0.0):
        share = float(-negative.sum() / np.abs(values).sum())
        note("W-NEGATIVE", f"not Euclidean: {percent(share)} of the sum of absolute eigenvalues is negative; negative "
             "eigenvalues stay in the spectrum but give no axes", share=share)
    return SumAxes(np.concatenate([values[:first], negative]), vectors[:, : min(count, first)],
                   float(np.trace(kernel)))


@frozen
class DissimilaritiesComposition(Composition[Model]):
    """K = Σ w K / s = U Λ Uᵀ of the matrices' inner products: coordinates are √n U √Λ."""

    axes: Axes
    weigh: Callable[[TableProducts, AnyArray], tuple[Array, Array]]
    data: ViewedDissimilarities
    compute: Compute

    @FitStage
    def kernels(self) -> list[Array]:
        """Inner products -J D² J / 2n of each matrix."""
        return [products_of(matrix) for matrix in matrices_of(self.data)]

    @kernels.cost
    def _(self) -> list[Step]:
        return []

    @FitStage
    def compared(self) -> TableProducts:
        """The traces of K_g K_h, and the first eigenvalue of each K_g."""
        return kernel_products(self.kernels)

    @compared.cost
    def _(self) -> list[Step]:
        rows, count, threads = len(self.data.values), len(self.data.views), self.compute.thread_count()
        seconds = 2.0 * count**2 * rows**2 / product_rate(threads) + count * solve_cost(rows, threads) / 2
        return [Step("groups", f"{count} matrices of {rows} x {rows}", seconds, 8.0 * (count + 3) * rows**2,
                     remedy="give fewer points", square=True)]

    @FitStage
    def weighted(self) -> tuple[Array, Array]:
        """The norms s and weights w."""
        return self.weigh(self.compared, np.ones(len(self.kernels), dtype=bool))

    @weighted.cost
    def _(self) -> list[Step]:
        return []

    @FitStage
    def combined(self) -> SumAxes:
        """Λ and U."""
        norms, weights = self.weighted
        whole = np.zeros_like(self.kernels[0])
        for kernel, norm, weight in zip(self.kernels, norms, weights, strict=True):
            whole += kernel * (weight / norm)
        return sum_axes(whole, self.axes.count)

    @combined.cost
    def _(self) -> list[Step]:
        rows, count, threads = len(self.data.values), len(self.data.views), self.compute.thread_count()
        return [Step("combine", f"the whole spectrum of {rows} x {rows}", solve_cost(rows, threads),
                     8.0 * (count + 4) * rows**2, remedy="give fewer points", square=True)]

    def result(self) -> Model:
        """Return the coordinates, and what each matrix says about the axes."""
        found, (norms, weights) = self.combined, self.weighted
        count = self.axes.available_count(int(np.sum(found.eigenvalues > 0)))
        kept = np.maximum(found.eigenvalues[:count], 0.0)  # one axis of zeros where none is positive
        values = np.pad(kept, (0, count - len(kept)))
        coordinates = first_columns(found.vectors, count) * np.sqrt(values * len(self.data.values))
        coordinates = coordinates * leading_signs(coordinates)
        units = unit_vectors(coordinates, values)
        says = describe_groups(
            (kernel @ units / norm for kernel, norm in zip(self.kernels, norms, strict=True)), coordinates, values,
            compared=self.compared, norms=norms, weights=weights, partial=True,
            eigenvalues=np.array([float((unit**2).plain(np.asarray(value))) for unit, value in zip(
                self.data.units, self.compared.eigenvalues, strict=True)]),
            groups=[(f"table {number}", True, 0) for number in range(1, len(self.kernels) + 1)])
        figures: dict[str, Any] = figures_of(says)
        return Model(embedding=coordinates, projector=replace(NOT_PLACED), groups=says, fit=figures,
                     spectrum=Spectrum.of_values(found.eigenvalues, found.total, complete=True))
