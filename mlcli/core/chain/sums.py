"""The chain whose kernel is a sum: one kernel for each table, which is a group of columns, with a norm and a weight."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, Strict

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import FIRST_TOUCH, pass_cost, rates
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import computed, note, running, stage
from mlcli.base.stages.steps import Step, merge_steps
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.column_groups import ColumnGroup, groups_of
from mlcli.base.values.inputs import Features, Given
from mlcli.base.values.naming import listed
from mlcli.base.values.options import Options, option
from mlcli.base.values.scaling import Unit
from mlcli.core.centering import Centering, uncentered
from mlcli.core.chain.functions import IN_MEMORY, fit_of_values
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.kernels import GowerKernel
from mlcli.core.chain.scaling import solve_spectrum
from mlcli.core.chain.tables import (
    Norm,
    TableProducts,
    compare_kernels,
    comparison_step,
    describe_groups,
    figures_of,
    norms_of,
    weights_by_rv,
)
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.kernels.forms import BENT, Dense, centering_step, square_memory
from mlcli.core.kernels.functions import (
    CosineKernel,
    Gaussian,
    HalvedSquares,
    Linear,
    Polynomial,
    Sigmoid,
    fix_defaults,
    rate_step,
)
from mlcli.core.kernels.options import KernelOptions
from mlcli.core.kernels.sums import KernelSum, OfTable
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.metrics.distances import distances_cost
from mlcli.core.model import Model
from mlcli.core.similarities.kernels import KernelValues
from mlcli.errors import DataError

BESIDE = 2  # matrices of the size of a kernel in memory beside all kernels: their sum, and a term of it
WHERE = "method.kernel.tables"
LEAST = 4 * EPS  # deviation, relative to the largest number, up to which a column varies by rounding only
FARTHEST = 2100  # the binary exponents of doubles
SLACK = 64 * EPS  # of the largest entry of a kernel, up to which its centered trace is rounding
Names = Annotated[tuple[str, ...], Strict(False)]
TableKernel = Annotated[Linear | Polynomial | Gaussian | Sigmoid | CosineKernel | GowerKernel,
                        Field(discriminator="name")]


class KernelTable(Options):
    """A group of columns with a kernel of its own."""

    name: str = option(..., "Name of the table, in messages and files.", min_length=1)
    columns: Names = option(..., "Its columns: names, or ranges first:last.", min_length=1)
    kernel: TableKernel = option(Linear(), "The kernel of its rows.")
    metric: AnyMetric = EUCLIDEAN
    scale: Literal["none", "standard"] = option(
        "none", "Whether each of its columns is divided by its standard deviation (standard).")
    weight: float = option(1.0, "Factor of its kernel in the sum, after the kernel was divided by its norm; zero: the "
                           "table takes no part in the axes, and is described by them.", ge=0)

    @property
    def power(self) -> int:
        """The power of the data's unit in coordinates of its kernel alone."""
        return 0 if self.scale == "standard" else self.kernel.unit_power * self.metric.unit_power

    def length_unit(self, unit: Unit) -> Unit:
        """Return the unit of lengths between its rows, given that of the data."""
        return Unit() if self.scale == "standard" else unit**self.metric.unit_power

    def measured_in(self, unit: Unit, where: str = "method") -> Self:
        """Return the options with those that carry a power of a length in the unit of lengths between its rows."""
        return super().measured_in(self.length_unit(unit), where)

    @property
    def entry_seconds(self) -> float:
        """Seconds of a core for an entry of its kernel in memory, made the same on both sides, besides the distance."""
        return rates().bent * (BENT if isinstance(self.kernel, Gaussian | Polynomial) else IN_MEMORY)

    def function(self, points: Array, unit: Unit) -> OfTable:
        """Return the function of two rows, its defaults fixed from the table's rows (n x c), which are in `unit`."""
        metric = self.metric.fitted(points)
        if isinstance(self.kernel, GowerKernel):
            return HalvedSquares(metric)
        return fix_defaults(self.kernel, metric, points, self.length_unit(unit))


class SumKernel(KernelOptions):
    """Σ w k / s over several tables, groups of columns, each with a kernel k, its norm s and a weight w."""

    name: Literal["sum"] = "sum"
    of_coordinates: ClassVar[bool] = True
    checked_by: ClassVar[str] = "mlcli.certify.sums:sum_checks"
    tables: Annotated[tuple[KernelTable, ...], Strict(False)] = option(
        (), "The tables: sections with a name, columns, a kernel (linear, polynomial, gaussian, sigmoid, cosine, gower "
        "for its distances), a metric, a scale (none, standard) and a weight.")
    normalization: Norm = option(
        "eigenvalue", "Norm that each kernel, centered, is divided by: the largest variance of its axes (eigenvalue; "
        "as mfa), the root of the sum of its squared entries over n (frobenius; as statis), or none.")
    weights: Literal["given", "rv"] = option(
        "given", "Weights of the kernels: those of the tables, one by default (given), or the first eigenvector of the "
        "RV coefficients over its sum (rv; as statis).")

    @property
    def unit_power(self) -> int:
        """The power of the data's unit in the coordinates: none of kernels that were divided by their norms."""
        return max((table.power for table in self.tables), default=0) if self.normalization == "none" else 0

    @property
    def unscaled(self) -> int:
        """The power of two up to which data is not scaled: tables have units of their own, or a metric that needs one.
        """
        scalable = self.normalization == "none" and all(table.metric.scalable for table in self.tables)
        return 0 if scalable else FARTHEST

    def units(self, data: Features) -> list[Unit]:
        """Return the unit of each table's columns, besides that of the data: one for all where they are added as is."""
        return [Unit.of(data.values[:, list(group.columns)]) if self.normalization != "none" and table.scale == "none"
                and table.metric.scalable else Unit()
                for group, table in zip(self.groups_of(data.columns), self.tables, strict=True)]

    @classmethod
    def way(cls, chain: ChainInput) -> "SumChain":
        """Return the computation of the coordinates."""
        return SumChain(chain)

    def measured_in(self, unit: Unit, where: str = "method") -> Self:
        """Return the options in a unit of the data; raises NumericalError where a value leaves the range of doubles."""
        tables = tuple(table.measured_in(unit, f"{where}.tables") for table in self.tables)
        return self if tables == self.tables else self.replace(tables=tables)

    def refusals(self) -> Iterable[tuple[str, str, str]]:
        """Return what does not fit: no tables, a metric that a kernel does not use, weights or units that disagree."""
        if not self.tables:
            yield "tables", "a sum has no tables", "give kernel.tables: sections with a name and columns"
        for table in self.tables:
            if "=" in table.name:  # as in COLUMN=CATEGORY, and in the name of the sum in files
                yield "tables", f"the name of table {table.name[:80]!r} has a =", "give it another name"
            if table.kernel.of_coordinates and not table.metric.plain:
                yield ("tables", f"the kernel {table.kernel.name} of table {table.name[:80]!r} is made of coordinates, "
                       "and not of distances", "leave its metric out, or use gower or gaussian")
            if self.weights == "rv" and table.weight not in (0, 1):
                yield ("weights", f"table {table.name[:80]!r} has a weight, and RV coefficients give others",
                       "leave it out, or choose weights given")
        if self.tables and not any(table.weight for table in self.tables):
            yield "tables", "all tables have the weight zero: none is left to analyze", "give one a weight"
        if self.normalization == "none" and len({table.power for table in self.tables if table.weight}) > 1:
            yield ("normalization", "kernels in different units are added as they are",
                   "choose eigenvalue or frobenius, or scale standard for all tables")

    def groups_of(self, columns: Any) -> list[ColumnGroup]:
        """Return the columns (d) of each table; raises ConfigError for unknown ones, and those of two tables."""
        named = groups_of(((table.name, table.columns) for table in self.tables), columns, WHERE)
        return [replace(group, active=table.weight > 0) for group, table in zip(named, self.tables, strict=True)]

    def for_data(self, data: Given, neighbors: Neighbors) -> Self:
        """Return the kernel; raises ConfigError for columns that the data does not have."""
        if isinstance(data, Features):
            self.groups_of(data.columns)
        return self

    def check(self, data: Any) -> None:
        """Raise DataError for features outside of the domain of a table's metric."""
        for number, (group, table) in enumerate(zip(self.groups_of(data.columns), self.tables, strict=True)):
            places = sorted(group.columns)
            try:
                table.metric.check(data.values[:, places], data.ids, [data.columns[place] for place in places])
            except DataError as error:
                raise error.changed(where=f"{WHERE}[{number}].metric") from error


def similarity_of(kernel: SumKernel, data: Features) -> KernelValues:
    """Return the functions of all tables, each of weight one, with the rows of the data.

    Means are taken from columns that are standardized, and from those of a kernel that shifts do not change. Raises
    DataError for a table whose columns do not vary.
    """
    width = len(data.columns)
    owners, shifts, scales = np.full(width, -1), np.zeros(width), np.ones(width)
    groups, units = kernel.groups_of(data.columns), kernel.units(data)
    for number, (group, table, unit) in enumerate(zip(groups, kernel.tables, units, strict=True)):
        places = np.array(sorted(group.columns), dtype=np.int64)
        owners[places] = number
        exponents = np.frexp(np.abs(data.values[:, places]).max(axis=0, initial=0.0))[1]
        points = np.ldexp(data.values[:, places], -exponents)
        means, deviations = points.mean(axis=0), points.std(axis=0)
        if not (deviations > LEAST).any():
            raise constant_table(table.name)
        if table.scale == "standard" or (table.metric.plain and getattr(table.kernel, "movable", True)):
            shifts[places] = np.ldexp(means, exponents)
        scales[places] = np.ldexp(1.0, unit.exponent)
        if table.scale == "standard":
            scales[places] = np.where(deviations > LEAST, np.ldexp(deviations, exponents), 1.0)
    functions = list[OfTable]()
    for number, (table, unit) in enumerate(zip(kernel.tables, units, strict=True)):
        own = owners == number
        rows = (data.values[:, own] - shifts[own]) / scales[own]
        functions.append(table.measured_in(unit, f"{WHERE}[{number}]").function(rows, data.unit * unit))
    summed = KernelSum(tuple(functions), owners, means=shifts, scales=scales, weights=np.ones(len(functions)))
    return KernelValues(data.values, summed, np.zeros(width))


def constant_table(name: str) -> DataError:
    """Return the error for a table whose rows are all alike."""
    return DataError("CONSTANT-GROUP", f"table {name[:80]!r} tells no two rows apart", where="input",
                     hint="leave it out of {method.kernel.tables}")


@stage("combine")
def weighted_sum(kernels: list[Dense], weights: Array) -> Dense:
    """Return the sum of kernels, each times its weight (g), with the centering of its rows."""
    matrix, means = np.zeros_like(kernels[0].matrix), np.zeros(kernels[0].size)
    for kernel, weight in zip(kernels, weights.tolist(), strict=True):
        matrix += weight * kernel.matrix
        means += weight * kernel.centering.means
    computed("combined kernel", matrix)
    centering = Centering(means, across=True) if kernels[0].centering.across else uncentered(len(matrix))
    return Dense(matrix, centering, entries=float(sum(
        weight * kernel.entries for kernel, weight in zip(kernels, weights.tolist(), strict=True))))


@frozen
class SumChain(Composition[Model]):
    """K = Σ w K / s of the tables' kernels, by the eigenvectors of H K H or of K."""

    chain: ChainInput

    @property
    def square(self) -> float:
        """Bytes of a kernel."""
        return 8.0 * self.chain.size**2

    @property
    def widths(self) -> list[int]:
        """The number of columns of each table."""
        return [len(group.columns) for group in self.chain.kernel.groups_of(self.chain.features.columns)]

    @FitStage
    def similarity(self) -> KernelValues:
        """The function of each table, its defaults fixed from the points."""
        return similarity_of(self.chain.kernel, self.chain.features)

    @similarity.cost
    def _(self) -> list[Step]:
        size, threads = self.chain.size, self.chain.compute.thread_count()
        rates = [rate_step(table.metric, (size, width), threads)
                 for width, table in zip(self.widths, self.chain.kernel.tables, strict=True) if table.kernel.adapts]
        return [merge_steps(rates)] if rates else []

    @FitStage
    def kernels(self) -> list[Dense]:
        """H K H or K of each table."""
        chain, found = self.chain, list[Dense]()
        square_memory(chain.compute, chain.size, len(chain.kernel.tables) + BESIDE, "the kernels", "give fewer points")
        function, points = self.similarity.function, self.similarity.points
        assert isinstance(function, KernelSum)
        for number, (own, table) in enumerate(zip(function.functions, chain.kernel.tables, strict=True)):
            rows = function.table(number, points)
            with running("kernel"):
                matrix = np.asarray(own(rows, rows))
                matrix = (matrix + matrix.T) / 2
            size = float(np.abs(matrix).max(initial=0.0))
            found.append(Dense.of(matrix) if chain.double else Dense(matrix, uncentered(len(matrix)), entries=size))
            if found[-1].trace <= SLACK * len(matrix) * size and own.definite:
                raise constant_table(table.name)
        return found

    @kernels.cost
    def _(self) -> list[Step]:
        chain, threads, count = self.chain, self.chain.compute.thread_count(), len(self.widths)
        seconds = sum(distances_cost(table.metric, chain.size, width, threads) + chain.size**2 * table.entry_seconds
                      for width, table in zip(self.widths, chain.kernel.tables, strict=True))
        centering = centering_step(count * chain.size**2, (count + 1) * self.square, "give fewer points", square=True)
        return [Step("kernel", f"{count} of {chain.size} x {chain.size}, in memory", seconds,
                     (count + 2) * self.square, remedy="give fewer points", square=True),
                *([centering] if chain.double else [])]

    @FitStage
    def compared(self) -> TableProducts:
        """The traces of K_g K_h / n², and the first eigenvalue of each K_g / n."""
        with running("groups"):
            found, size = compare_kernels([kernel.matrix for kernel in self.kernels]), max(self.chain.size, 1)
        return TableProducts(found.products / size**2, found.eigenvalues / size)

    @compared.cost
    def _(self) -> list[Step]:
        count = len(self.chain.kernel.tables)
        step = comparison_step(count, self.chain.size, self.chain.compute.thread_count(), f"{count} kernels compared")
        return [replace(step, memory=(count + BESIDE) * self.square)]

    @FitStage
    def weighted(self) -> tuple[Array, Array]:
        """The norms s and weights w."""
        kernel = self.chain.kernel
        given = np.array([table.weight for table in kernel.tables])
        weights = given if kernel.weights == "given" else weights_by_rv(self.compared, given > 0, WHERE)
        return norms_of(self.compared, kernel.normalization), weights

    @weighted.cost
    def _(self) -> list[Step]:
        return []

    @FitStage
    def combined(self) -> Dense:
        """Σ w K / s."""
        norms, weights = self.weighted
        return weighted_sum(self.kernels, weights / norms)

    @combined.cost
    def _(self) -> list[Step]:
        count = len(self.chain.kernel.tables)
        return [Step("combine", "the weighted sum", FIRST_TOUCH * pass_cost(count * self.chain.size**2),
                     (count + BESIDE) * self.square, remedy="give fewer points", square=True)]

    @FitStage
    def spectrum(self) -> Spectrum:
        """V Λ Vᵀ of the sum."""
        return solve_spectrum(self.chain, self.combined, self.chain.size - self.chain.double)

    @spectrum.cost
    def _(self) -> list[Step]:
        chain, count = self.chain, len(self.chain.kernel.tables)
        return [chain.stages.eigensolve.step(chain.size, chain.compute.thread_count(), (count + 1) * self.square,
                                             "give fewer points", square=True)]

    def result(self) -> Model:
        """Return the coordinates V √Λ, axes V / √Λ for new points, and what each table says about the axes."""
        chain, spectrum, (norms, weights) = self.chain, self.spectrum, self.weighted
        tables, size = chain.kernel.tables, max(chain.size, 1)
        groups = chain.kernel.groups_of(chain.features.columns)
        note_left_out(groups, chain.features)
        function = self.similarity.function
        assert isinstance(function, KernelSum)
        similarity = replace(self.similarity, function=replace(function, weights=weights / norms))
        model = fit_of_values(chain, spectrum, similarity)
        values = spectrum.axis_eigenvalues / size
        units = np.where(values > 0, spectrum.vectors, 0.0)
        plain = np.array([(table.length_unit(chain.data.unit * unit)**2).number(value) if table.power else value
                          for table, unit, value in zip(tables, chain.kernel.units(chain.features),
                                                        self.compared.eigenvalues.tolist(), strict=True)])
        says = describe_groups(
            (kernel.matrix @ units / (size * norm) for kernel, norm in zip(self.kernels, norms, strict=True)),
            units * np.sqrt(values * size), values, compared=self.compared, norms=norms, weights=weights,
            eigenvalues=plain, groups=[(group.name, group.active, len(group.columns)) for group in groups],
            partial=chain.stages.coordinates.scale == "roots")
        return replace(model, groups=says, fit={**model.fit, **figures_of(says)})


def note_left_out(groups: Iterable[ColumnGroup], data: Features) -> None:
    """Note columns that are in no table."""
    held = {place for group in groups for place in group.columns}
    if rest := [name for place, name in enumerate(data.columns) if place not in held]:
        note("W-NO-GROUP", f"left out {len(rest)} of {len(data.columns)} columns, which are in no table: "
             f"{listed(rest)}; put them into a table, which may have the weight zero", columns=len(rest))
