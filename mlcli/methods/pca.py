"""Principal component analysis."""

from dataclasses import replace
from typing import ClassVar, Literal

from mlcli.base.compute import Compute
from mlcli.base.inputs import Features, Input
from mlcli.base.options import option
from mlcli.methods.base import Decoder, Method, Model, Projector
from mlcli.stages.eigensolve import Eigensolve
from mlcli.stages.kernels import Factored, Route
from mlcli.stages.similarities import Columns


class PCA(Method):
    """The directions in which the points vary most; linear and exact.

    The kernel is that of inner products of centered points, solved on the smaller side: the
    covariance matrix of the columns (direct PCA) or the Gram matrix of the rows (dual PCA).
    Eigenvalues are variances, over n or n - 1. What is lost by keeping p axes is the sum of
    the eigenvalues left out.

    Use it first, always: it is fast, has one answer, and shows what a curved method must beat.
    It fails where the points lie on a curved surface. Source: Pearson, 1901; Hotelling, 1933;
    Jolliffe, "Principal component analysis", 2002.
    """

    accepts: ClassVar = (Features,)
    reach: ClassVar = 100  # variances up to 2**200 times n, whose squares are far from the end of the range
    name: Literal["pca"] = "pca"
    route: Route = option("auto", "Which matrix is solved: columns (covariance), rows (dual), "
                          "the data itself (svd), by power iteration (power), or the smaller side (auto).")
    divisor: Literal["n", "n-1"] = option("n", "Divisor of the covariance.")
    eigensolve: Eigensolve = Eigensolve()

    def limit(self, data: Input) -> int:
        """The smaller of n - 1 and d."""
        return min(len(data.values) - 1, data.values.shape[1])

    def solve(self, data: Features, compute: Compute) -> Model:
        """X = U Σ Vᵀ, centered; scores are V √λ, directions U."""
        kernel, centering = Factored(data.values, self.route).centered()
        spectrum = self.eigensolve(kernel, self.limit(data), compute)
        points = len(data.values)
        spectrum = replace(spectrum, divisor=max(points if self.divisor == "n" else points - 1, 1))
        directions = spectrum.feature_directions()
        projector = Projector(Columns(), centering, directions, Decoder(centering.means, directions))
        return Model(spectrum.coordinates(), spectrum, projector)
