"""Kernels of pairs of points: from distances, inner products of the columns, or a matrix as input."""

from typing import TYPE_CHECKING, ClassVar, Literal

from mlcli.base.values.options import option
from mlcli.base.values.products import Name
from mlcli.core.kernels.options import OF_DISTANCES, KernelOptions, Route

if TYPE_CHECKING:
    from mlcli.core.kernels.functions import Linear


class GowerKernel(KernelOptions):
    """-δ²/2 of distances δ, which centering turns into inner products."""

    name: Literal["gower"] = "gower"
    of_distances: ClassVar[bool] = True
    makes: ClassVar[tuple[Name, ...]] = ("distances", "kernel")
    rules: ClassVar[tuple[str, ...]] = OF_DISTANCES
    unit_power: ClassVar[int] = 1


class Products(KernelOptions):
    """⟨x, y⟩: with centered columns PCA, without centering the singular value decomposition."""

    name: Literal["linear"] = "linear"
    of_coordinates: ClassVar[bool] = True
    unit_power: ClassVar[int] = 1
    by_columns: ClassVar[bool] = True
    route: Route = option("auto", "Matrix to decompose: the covariance of the columns (covariance), the Gram matrix "
                          "of the rows (dual), or the data (svd); power: power iteration, whose steps trace.csv has; "
                          "auto: the smaller of the first two, or svd where these lose digits.")

    @property
    def requested_route(self) -> Route:
        """The route that was chosen."""
        return self.route

    @property
    def function(self) -> "Linear":
        """The linear kernel function."""
        from mlcli.core.kernels.functions import Linear

        return Linear()


class Given(KernelOptions):
    """The matrix that is given (`input.kind: kernel`), as it is."""

    name: Literal["given"] = "given"
    of_input: ClassVar[bool] = True
    unit_power: ClassVar[int] = 1
