"""STATIS."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.stages.composition import Composition
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input, Viewed, ViewedDissimilarities
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.certify.projection import projector_checks
from mlcli.certify.subject import Subject
from mlcli.core.linalg import symmetric_eigen
from mlcli.core.model import Model
from mlcli.errors import ConfigError, DataError
from mlcli.methods.tables.check import Norm, matrix_checks
from mlcli.methods.tables.combine import GroupedMethod, TableProducts
from mlcli.methods.tables.dissimilarities import (
    DissimilaritiesComposition,
    kernel_products,
    matrices_of,
    products_of,
)
from mlcli.methods.trials import variant

ROUNDING = 1e-10  # of RV coefficients and of the weights' unit vector


class STATIS(GroupedMethod):
    """Rows described by several groups of columns, on the axes of the mean kernel that is most like all groups.

    It keeps what most groups agree on: a group unlike the others has a small weight. It fails where two camps of groups
    of about the same size disagree, which the RV coefficients show. Set `--groups` first.

    How it works: Each group of columns is a table with a kernel of its own, the inner products of its rows. Each kernel
    is divided by its Frobenius norm, the root of the sum of its squared entries. The RV coefficients of all pairs of
    groups, the cosines of their kernels, make a matrix, and its first eigenvector, divided by its sum, has the weights.
    The weighted sum of the kernels is the compromise, and its principal axes are the axes.

    Groups: As in `mfa`: `--groups NAME=COLUMNS`, repeated; `supplementary` groups have the weight zero.

    New points: New rows are centered and scaled as the rows of the fit were, and placed along the same directions. A
    category that no row of the fit has is refused.

    Dissimilarities: With `--dissimilarities` each matrix is a table, and every further one is a `--view`. Their kernels
    are the inner products of classical scaling, as in `mds`; with `--set method.normalization=eigenvalue` this is
    DISTATIS. Points are matched by their names. `--similarities`, `input.squared` and `input.symmetrize` hold for every
    matrix. Matrices that are not Euclidean may have a negative RV coefficient; if no weights of one sign exist then,
    the run ends with an error that names the two. New points cannot be placed.

    Not included: Tables that are read in blocks; models of missing cells: their rows are left out (`--set
    prepare.missing=drop`), or `mean` fills them in a table of numbers alone; a sum of kernels as a stage of `chain`.

    Files: As in `mfa`. The weights are in `groups.csv`; the mean of the partial points with these weights is the row.
    Of dissimilarities there is no `loadings.csv`, and negative eigenvalues stay in `spectrum.csv` but give no axes.

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
        """Raise ConfigError for a table with further views, and for options of columns where there are none."""
        self.require_kind(data.kind)
        if isinstance(data, Features) and isinstance(data, Viewed):
            raise ConfigError("VIEW", "statis of features takes one table, whose tables are groups of columns",
                              where="input.view", hint="put the columns of all views into one file, and give "
                              "{method.groups}")
        if isinstance(data, Features):
            super().require(data)
        elif not isinstance(data, ViewedDissimilarities):
            raise ConfigError("NEEDS", "statis needs two matrices of dissimilarities or more", where="input",
                              hint="give each further one by {input.view.path}")
        else:
            self.refuse_unused("dissimilarities have no columns", "groups", "supplementary", "center", "categories")

    def composition(self, data: Any, compute: Compute, share: float | None = None) -> Composition[Model]:
        """Return the stages: kernels compared, and their sum."""
        if isinstance(data, ViewedDissimilarities):
            return DissimilaritiesComposition(self.axes, self.weigh, data, compute)
        return super().composition(data, compute, share)

    def compromise(self, data: ViewedDissimilarities) -> Array:
        """Return the dissimilarities (n x n) whose inner products are the sum of the matrices' kernels.

        Kernels are linear in squares, so that these are √(Σ w D² / s), of norms s and weights w.
        """
        normalized = data.normalized()
        matrices = matrices_of(normalized)
        compared = kernel_products([products_of(matrix) for matrix in matrices])
        norms, weights = self.weigh(compared, np.ones(len(matrices), dtype=bool))
        return np.asarray(np.sqrt(sum(matrix**2 * (weight / norm) for matrix, norm, weight in zip(
            matrices, norms, weights, strict=True))))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check axes, weights and what each table says by its kernel, computed again."""
        if isinstance(subject.data, ViewedDissimilarities):
            yield from projector_checks(subject, reproduces=False)
            yield from matrix_checks(subject.data, subject.model, self.norm)
        else:
            yield from super().checks(subject)

    def weigh(self, compared: TableProducts, active: AnyArray) -> tuple[Array, Array]:
        """Return the norms of the kernels, and weights from the RV coefficients of the active ones."""
        lengths = np.sqrt(np.diag(compared.products))
        norms = lengths if self.normalization == "frobenius" else compared.eigenvalues
        norms = np.where(norms > 0, norms, 1.0)
        cosines = compared.cosines[np.ix_(active, active)]
        first = symmetric_eigen(cosines)[1][:, :1]
        first = (first * leading_signs(first))[:, 0]
        if cosines.min() < -ROUNDING and first.min() < -ROUNDING:
            one, other = sorted(np.unravel_index(int(cosines.argmin()), cosines.shape))
            raise DataError("OPPOSED-TABLES", f"tables {one + 1} and {other + 1} are opposed: their RV coefficient is "
                            f"{cosines[one, other]:.3g}, and no weights of one sign make a compromise of all tables",
                            where="input.view", hint="leave one of the two out, or give dissimilarities that are "
                            "Euclidean, whose RV coefficients are never negative")
        weights = np.zeros(len(active))
        weights[active] = np.abs(first)  # an eigenvector too where no coefficient is negative
        return norms, weights / weights.sum()

