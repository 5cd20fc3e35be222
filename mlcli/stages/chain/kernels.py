"""The kernels of a chain: each says what it is computed from and what may be asked of the result."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mlcli.base.values.options import option
from mlcli.stages.graph.affinities import Affinity, Binary
from mlcli.stages.kernels.functions import CosineKernel, Function, Gaussian, Linear, Polynomial, Sigmoid
from mlcli.stages.kernels.laplacian import LaplacianKernel
from mlcli.stages.kernels.pairwise import KernelOptions, Route
from mlcli.stages.unfolding.unfold import SOFTNESS, Unfolding

Constraints = Literal["equal", "at_most"]


class GowerKernel(KernelOptions):
    """-δ²/2 of distances δ, which centering turns into inner products."""

    name: Literal["gower"] = "gower"
    kind: ClassVar[str] = "distances"
    unit_power: ClassVar[int] = 1


class Products(KernelOptions):
    """⟨x, y⟩: with centered columns PCA, without centering the singular value decomposition."""

    name: Literal["linear"] = "linear"
    kind: ClassVar[str] = "points"
    unit_power: ClassVar[int] = 1
    by_columns: ClassVar[bool] = True
    route: Route = option("auto", "Which matrix is solved: columns (covariance), rows (dual), the data (svd), by power "
                          "iteration (power), or the smaller side, and the data where that loses digits (auto).")

    @property
    def asked_route(self) -> Route:
        """The one that was chosen."""
        return self.route

    @property
    def function(self) -> Linear:
        """The function of two points."""
        return Linear()


class Given(KernelOptions):
    """The matrix that is given (`input.kind: kernel`), as it is."""

    name: Literal["given"] = "given"
    kind: ClassVar[str] = "given"
    unit_power: ClassVar[int] = 1


class Reconstruction(KernelOptions):
    """((I - W)ᵀ(I - W))⁺, with W the weights that reproduce each point from its neighbors."""

    name: Literal["reconstruction"] = "reconstruction"
    kind: ClassVar[str] = "weights"
    unit_power: ClassVar[int] = 0
    ridge: float = option(1e-3, "Regularization of the weights, as a share of the local Gram matrix's trace.", gt=0)


class UnfoldingKernel(KernelOptions):
    """The kernel of the largest trace that keeps the distances of neighbors."""

    name: Literal["unfolding"] = "unfolding"
    kind: ClassVar[str] = "unfolding"
    unit_power: ClassVar[int] = 1
    of_points: ClassVar[tuple[str, ...]] = ("common_neighbors", "ridge")
    constraints: Constraints = option(
        "equal", "Distances of neighbors are kept (equal), or kept from growing (at_most).")
    common_neighbors: bool = option(False, "Whether pairs with a neighbor in common are held like neighbors.")
    basis: int | None = option(
        None, "Laplacian vectors that span the kernel, 0 for all (default: by the number of pairs).", ge=0)
    softness: float = option(SOFTNESS, "With a basis, the approximate error of squared distances.", gt=0)
    tolerance: float = option(1e-4, "Largest gap to the bound, and largest violation, both relative.", gt=0, lt=1)
    iterations: int = option(100, "Limit of the interior-point method's steps.", ge=1)
    accept_uncertified: bool = option(False, "Whether a result that is not proven to the tolerance is a warning only.")
    ridge: float = option(1e-3, "Regularization of the weights of new points, as in lle.", gt=0)

    def program(self) -> Unfolding:
        """The semidefinite program that the options ask for."""
        return Unfolding(equal=self.constraints == "equal", common=self.common_neighbors, basis=self.basis,
                         softness=self.softness, tolerance=self.tolerance, limit=self.iterations,
                         accepted=self.accept_uncertified)


class GraphLaplacian(KernelOptions):
    """The inverse of the graph's Laplacian D - W, without its constant solution."""

    name: Literal["graph_laplacian"] = "graph_laplacian"
    kind: ClassVar[str] = "laplacian"
    weights: Affinity = option(Binary(), "Weights of the edges.", adapts=True)
    normalized: bool = option(True, "Whether points count by the sum of their weights: L y = λ D y, or L y = λ y.")

    @property
    def unit_power(self) -> int:
        """The power of the data's unit that coordinates carry: of given weights, unless these are shares of sums."""
        return -1 if self.weights.of == "affinities" and not self.normalized else 0


KernelFunction = Annotated[Function | LaplacianKernel, Field(discriminator="name")]  # of two points
ChainKernel = Annotated[
    GowerKernel | Products | Polynomial | Gaussian | Sigmoid | LaplacianKernel | CosineKernel | Given | Reconstruction
    | UnfoldingKernel | GraphLaplacian, Field(discriminator="name")]
