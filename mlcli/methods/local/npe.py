"""Neighborhood preserving embedding."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from mlcli.base.values.check import Check
from mlcli.base.values.options import option_of
from mlcli.certify.subject import Subject
from mlcli.core.eigen.options import Axes
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.methods.linearization import LocalLinearization
from mlcli.methods.local.lle import Reconstruction
from mlcli.methods.trials import variant


class NPE(LocalLinearization):
    """The linear functions of the columns best reproduced by the weights of each point's neighbors: linear LLE.

    It keeps each point's place among its neighbors, as far as a linear function of the columns can. It fails if the
    coordinates of a surface are not nearly linear in the columns. Set the number of neighbors first (`-k`), and with
    many columns their principal components (`prepare.reduce`).

    How it works: Weights reproduce each point from its neighbors as in `lle`. Coordinates y = X a are those linear
    functions of the columns that the same weights reproduce best. They solve Xᵀ M X a = λ Xᵀ X a, with M = (I - W)ᵀ(I -
    W), and X without its mean. So λ is the mean squared error of reproducing the values of y from those of neighbors,
    divided by the variance of y. Coordinates are uncorrelated and have unit variance (divisor n).

    Directions in which the columns do not extend give no axes. With n - 1 independent columns for n rows, every
    function is linear in the columns, and coordinates are those of `lle`: leave columns out then, or take their
    principal components first (`prepare.reduce`). With fewer columns than neighbors, weights reproduce every linear
    function, and costs measure only the regularization (`ridge`).

    New points: New rows are placed exactly, by the same linear functions.

    Files: Axes are ranked by 1/λ: `spectrum.csv` holds these eigenvalues with their costs λ. `loadings.csv` holds the
    coefficients a, which make coordinates of centered columns.

    Source: He, Cai, Yan and Zhang, "Neighborhood preserving embedding", 2005.
    """

    variants: ClassVar = (
        variant("", "twins", "share", neighbors={"count": 9}),
        variant("cityblock", "twins", "share", "rotation", neighbors={"count": 9}, metric="cityblock"))
    axis: ClassVar = "NPE"
    name: Literal["npe"] = "npe"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    ridge: float = option_of(Reconstruction, "ridge")
    axes: Axes = Axes()

    @property
    def kernel(self) -> Reconstruction:
        """The inverse of the cost of reconstruction."""
        return Reconstruction(ridge=self.ridge)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check linear functions of least cost, with weights of neighbors and their equations computed again."""
        from mlcli.methods.local.check import linear_checks

        return linear_checks(subject, self.kernel)
