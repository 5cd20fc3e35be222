"""STATIS."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.base.values.signs import leading_signs
from mlcli.core.linalg import symmetric_eigen
from mlcli.methods.tables.check import Norm
from mlcli.methods.tables.combine import GroupedMethod, TableProducts
from mlcli.methods.trials import variant


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

    Files: As in `mfa`. The weights are in `groups.csv`; the mean of the partial points with these weights is the row.

    Source: L'Hermier des Plantes, 1976; Lavit, Escoufier, Sabatier and Traissac, 1994 (`statis` of ade4); Abdi,
    Williams, Valentin and Bennani-Dosse, 2012.
    """

    norm: ClassVar[Norm] = "frobenius"
    variants: ClassVar = (
        variant("", "rotation"),
        variant("two groups", "rotation", "columns", groups=["first=x1,x2", "second=x3,x4"]))
    axis: ClassVar = "STATIS"
    name: Literal["statis"] = "statis"

    def weigh(self, compared: TableProducts, active: AnyArray) -> tuple[Array, Array]:
        """Return the Frobenius norms of the kernels, and weights from the RV coefficients of the active ones."""
        norms = np.sqrt(np.diag(compared.products))
        norms = np.where(norms > 0, norms, 1.0)
        scaled = (compared.products / np.outer(norms, norms))[np.ix_(active, active)]
        first = symmetric_eigen(scaled)[1][:, :1]
        weights = np.zeros(len(active))
        weights[active] = np.abs(first * leading_signs(first))[:, 0]
        return norms, weights / weights.sum()
