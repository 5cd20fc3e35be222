"""STATIS."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import computed, note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray, Array
from mlcli.base.units import percent
from mlcli.base.values.check import Check
from mlcli.base.values.column_groups import ColumnGroup
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Input, ViewedDissimilarities
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.certify.projection import projector_checks
from mlcli.certify.subject import Subject
from mlcli.core.chain.tables import (
    Norm,
    TableProducts,
    compare_kernels,
    comparison_step,
    describe_groups,
    figures_of,
    unit_vectors,
)
from mlcli.core.eigen.eigensolve import NOTABLE
from mlcli.core.eigen.options import Axes, first_columns
from mlcli.core.eigen.solved import rounding_floor
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.linalg import solve_cost, symmetric_eigen
from mlcli.core.model import Model
from mlcli.core.similarities.projector import NoProjection
from mlcli.errors import ConfigError, DataError
from mlcli.methods.tables.blocks import with_supplementary
from mlcli.methods.tables.check import matrix_checks
from mlcli.methods.tables.combine import GroupedMethod
from mlcli.methods.trials import variant

NOT_PLACED = NoProjection("this run was made of several matrices of dissimilarities, and a new point would need its "
                          "dissimilarities in each of them", "fit the matrices with the new points in them")


class STATIS(GroupedMethod):
    """Rows described by several groups of columns, on the axes of the mean kernel that is most like all groups.

    It keeps what most groups agree on: a group unlike the others has a small weight. It fails where two camps of groups
    of about the same size disagree, which the RV coefficients show. Set `--groups` first.

    How it works: Each group of columns is a table with a kernel of its own, the inner products of its rows. Each kernel
    is divided by its Frobenius norm, the root of the sum of its squared entries. The RV coefficients of all pairs of
    groups, the cosines of their kernels, make a matrix, and its first eigenvector, divided by its sum, has the weights.
    The weighted sum of the kernels is the compromise, and its principal axes are the axes.

    Groups: As in `mfa`: `--groups NAME=COLUMNS`, repeated, or several files (`--view FILE`), each of which is a group;
    `supplementary` groups have the weight zero.

    New points: New rows are centered and scaled as the rows of the fit were, and placed along the same directions. A
    category that no row of the fit has is refused.

    Dissimilarities: With `--dissimilarities` each matrix is a table, and every further one is a `--view`. Their kernels
    are the inner products of classical scaling, as in `mds`; with `--set method.normalization=eigenvalue` this is
    DISTATIS. A table has the name of its file, and so has one that is supplementary. Points are matched by their names.
    `--similarities`, `input.squared` and `input.symmetrize` hold for every matrix. Matrices that are not Euclidean may
    have a negative RV coefficient; if no weights of one sign exist then, the run ends with an error that names the two.
    New points cannot be placed. Quality is measured against the compromise, distances whose squares are the weighted
    sum of the squares of all matrices, each over its norm.

    Missing cells: As in `mfa`, with `--set prepare.missing=model`; the weights are those of the completed tables.
    Matrices of dissimilarities have none.

    Larger than memory: A table of features is read in blocks of rows, columns of text as well, unless it is in several
    files or missing cells are estimated (docs/beyond-memory.md). Matrices of dissimilarities are not.

    Files: As in `mfa`: `loadings.csv` holds the correlations of columns of numbers with the axes, and the means of
    categories. The weights are in `groups.csv`; the mean of the partial points with these weights is the row. Of
    dissimilarities there is no `loadings.csv`, and negative eigenvalues stay in `spectrum.csv` but give no axes.

    Source: L'Hermier des Plantes, 1976; Lavit, Escoufier, Sabatier and Traissac, 1994 (`statis` of ade4); Abdi,
    O'Toole, Valentin and Edelman, 2005 (DISTATIS); Abdi, Williams, Valentin and Bennani-Dosse, 2012.
    """

    accepts: ClassVar = (Features, ViewedDissimilarities)
    most_views: ClassVar = float("inf")
    views_match: ClassVar = True
    averaged: ClassVar = True
    variants: ClassVar = (
        variant("", "rotation"),
        variant("two groups", "rotation", "columns", groups=["first=x1,x2", "second=x3,x4"]))
    axis: ClassVar = "STATIS"
    name: Literal["statis"] = "statis"
    normalization: Literal["frobenius", "eigenvalue"] = option(
        "frobenius", "Norm that each kernel is divided by: the root of the sum of its squared entries (frobenius), or "
        "its first eigenvalue, as in mfa and DISTATIS (eigenvalue).")

    @property
    def norm(self) -> Norm:
        """The norm that a kernel is divided by."""
        return self.normalization

    def require(self, data: Input) -> None:
        """Raise ConfigError for a single matrix, and for options of columns where there are none."""
        self.require_kind(data.kind)
        if isinstance(data, Features):
            super().require(data)
        elif not isinstance(data, ViewedDissimilarities):
            raise ConfigError("NEEDS", "statis needs two matrices of dissimilarities or more", where="input",
                              hint="give each further one by {input.view.path}")
        else:
            self.refuse_unused("dissimilarities have no columns", "groups", "center", "categories")
            self.matrices(data)

    def matrices(self, data: ViewedDissimilarities) -> list[ColumnGroup]:
        """Return the matrices as groups without columns; raises ConfigError for `supplementary` names of none."""
        return with_supplementary([ColumnGroup(name, ()) for name in data.view_names], self.supplementary)

    def composition(self, data: Any, compute: Compute, share: float | None = None) -> Composition[Model]:
        """Return the stages: kernels compared, and their sum."""
        if isinstance(data, ViewedDissimilarities):
            return DissimilaritiesComposition(self.axes, self.weigh, self.matrices(data), data, compute)
        return super().composition(data, compute, share)

    def compared(self, data: Input, model: Model) -> Input:
        """Return rows with the distance that the fit has; of matrices of dissimilarities, their compromise."""
        if isinstance(data, ViewedDissimilarities):
            return Dissimilarities(self.compromise(data), data.ids)
        return super().compared(data, model)

    def compromise(self, data: ViewedDissimilarities) -> Array:
        """Return the dissimilarities (n x n) whose inner products are the sum of the matrices' kernels.

        Kernels are linear in squares, so that these are √(Σ w D² / s), of norms s and weights w.
        """
        normalized = data.normalized()
        matrices = matrices_of(normalized)
        compared = kernel_products([products_of(matrix) for matrix in matrices], data.view_names)
        norms, weights = self.weigh(compared, active_of(self.matrices(data)))
        return np.asarray(np.sqrt(sum(matrix**2 * (weight / norm) for matrix, norm, weight in zip(
            matrices, norms, weights, strict=True))))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check axes, weights and what each table says by its kernel, computed again."""
        if isinstance(subject.data, ViewedDissimilarities):
            yield from projector_checks(subject, reproduces=False)
            yield from matrix_checks(subject.data, subject.model, active_of(self.matrices(subject.data)), self.norm)
        else:
            yield from super().checks(subject)


def active_of(groups: Sequence[ColumnGroup]) -> AnyArray:
    """Return flags (g) of groups that take part in the axes."""
    return np.array([group.active for group in groups], dtype=bool)


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
def kernel_products(kernels: list[Array], names: Sequence[str]) -> TableProducts:
    """Compare kernels (n x n) of tables with these names by the traces of their products.

    Raises DataError for one of zeros.
    """
    for name, kernel in zip(names, kernels, strict=True):
        if not kernel.any():
            raise DataError("CONSTANT-GROUP", f"{name} tells no two points apart", where="input.view",
                            hint="leave it out")
    return compare_kernels(kernels)


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
    groups: Sequence[ColumnGroup]  # the matrices
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
        return kernel_products(self.kernels, self.data.view_names)

    @compared.cost
    def _(self) -> list[Step]:
        rows, count = len(self.data.values), len(self.data.views)
        return [comparison_step(count, rows, self.compute.thread_count(), f"{count} matrices of {rows} x {rows}")]

    @FitStage
    def weighted(self) -> tuple[Array, Array]:
        """The norms s and weights w."""
        return self.weigh(self.compared, active_of(self.groups))

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
            groups=[(group.name, group.active, 0) for group in self.groups])
        figures: dict[str, Any] = figures_of(says)
        return Model(embedding=coordinates, projector=replace(NOT_PLACED), groups=says, fit=figures,
                     spectrum=Spectrum.of_values(found.eigenvalues, found.total, complete=True))
