"""Linear local tangent space alignment."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from mlcli.base.values.check import Check
from mlcli.base.values.options import option, option_of
from mlcli.certify.subject import Subject
from mlcli.core.eigen.options import Axes
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.methods.linearization import LocalLinearization
from mlcli.methods.local.ltsa import Alignment
from mlcli.methods.trials import variant


class LLTSA(LocalLinearization):
    """The linear functions of the columns nearest to affine ones of each neighborhood's tangent coordinates.

    It keeps the flat map of each neighborhood, as far as a linear function of the columns can. It fails if the
    coordinates of a surface are not nearly linear in the columns, and with p columns or fewer for p axes: all costs are
    then zero, and the axes are one choice of many. Set the number of neighbors first (`-k`), at least two more than
    there are axes.

    How it works: Each neighborhood has tangent coordinates as in `ltsa`, as many, p, as there are axes, or `dimension`.
    Coordinates y = X a are those linear functions of the columns that are nearest to affine functions of the tangent
    coordinates. They solve Xᵀ M X a = λ Xᵀ X a, with the alignment cost M of `ltsa`, and X without its mean. So λ is
    the sum over the neighborhoods of the squares of y that no affine function of the p tangent coordinates explains,
    divided by Σ y². Coordinates are uncorrelated and have unit variance (divisor n).

    Each point needs p + 2 neighbors or more; one that is no other's neighbor adds its error of reconstruction to the
    cost, as in `ltsa`. Directions in which the columns do not extend give no axes. With n - 1 independent columns for n
    rows, every function is linear in the columns, and coordinates are those of `ltsa`: leave columns out then, or take
    their principal components first (`prepare.reduce`).

    New points: New rows are placed exactly, by the same linear functions.

    Files: Axes are ranked by 1/λ: `spectrum.csv` holds these eigenvalues with their costs λ. `loadings.csv` holds the
    coefficients a, which make coordinates of centered columns.

    Source: Zhang, Yang, Zhao and Ge, "Linear local tangent space alignment and application to face recognition", 2007.
    """

    variants: ClassVar = (
        variant("", "twins", "share", neighbors={"count": 9}),
        variant("cityblock", "twins", "share", "rotation", neighbors={"count": 9}, dimension=1, metric="cityblock"))
    axis: ClassVar = "LLTSA"
    name: Literal["lltsa"] = "lltsa"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    dimension: int | None = option_of(Alignment, "dimension")
    ridge: float = option(1e-3, "Regularization of the weights of points that are no other's neighbors, as in lle.",
                          gt=0)
    axes: Axes = Axes()

    @property
    def kernel(self) -> Alignment:
        """The inverse of the alignment cost."""
        return Alignment(dimension=self.dimension, ridge=self.ridge)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check linear functions of least cost, with tangent spaces and their equations computed again."""
        from mlcli.methods.local.check import linear_checks

        return linear_checks(subject, self.kernel)
