"""The kernels of a chain: those of pairs of points, and the table of all by the class that declares each.

Those of pairs are made from distances, from inner products of the columns, or of a matrix as input.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from mlcli.base.values.choices import Choices
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


KERNELS = Choices(KernelOptions, {
    "gower": "mlcli.core.chain.kernels:GowerKernel",
    "linear": "mlcli.core.chain.kernels:Products",
    "polynomial": "mlcli.core.kernels.functions:Polynomial",
    "gaussian": "mlcli.core.kernels.functions:Gaussian",
    "sigmoid": "mlcli.core.kernels.functions:Sigmoid",
    "laplacian": "mlcli.core.kernels.functions:LaplacianKernel",
    "cosine": "mlcli.core.kernels.functions:CosineKernel",
    "sum": "mlcli.core.chain.sums:SumKernel",
    "given": "mlcli.core.chain.kernels:Given",
    "reconstruction": "mlcli.methods.local.lle:Reconstruction",
    "modified_reconstruction": "mlcli.methods.local.mlle:ModifiedReconstruction",
    "alignment": "mlcli.methods.local.ltsa:Alignment",
    "hessian": "mlcli.methods.local.hlle:Hessian",
    "unfolding": "mlcli.methods.unfolding.sde:UnfoldingKernel",
    "graph_laplacian": "mlcli.methods.laplacian.laplacian:GraphLaplacian",
    "diffusion": "mlcli.methods.laplacian.diffusion:DiffusionKernel",
})


if TYPE_CHECKING:
    ChainKernel = KernelOptions
else:
    ChainKernel = Annotated[KernelOptions, KERNELS]
