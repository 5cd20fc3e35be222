"""Bases of kernel options, and the protocol of kernel functions: values, or factors of blocks of points."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.base.values.inputs import Given
from mlcli.base.values.options import Options
from mlcli.base.values.products import Name
from mlcli.base.values.scaling import Unit
from mlcli.core.euclidean_distances import inner_products

if TYPE_CHECKING:
    from mlcli.core.graph.neighbors import Neighbors

Route = Literal["auto", "covariance", "dual", "svd", "power"]
OF_DISTANCES = ("broken_stick", "residual_variance", "elbow")  # rules for the number of axes, of kernels of distances


class KernelOptions(Options):
    """Base of all kernels: what each is computed from, and what that means for a chain."""

    of_coordinates: ClassVar[bool] = False  # whether it is computed from coordinates, without a metric
    of_distances: ClassVar[bool] = False  # whether each value is a function of one distance, of pairs or along paths
    of_graph: ClassVar[bool] = False  # whether it is computed from the neighbor graph alone
    of_weights: ClassVar[bool] = False  # whether weights of edges are enough, without their lengths
    of_input: ClassVar[bool] = False  # whether it is the input matrix itself
    one_sided: ClassVar[bool] = False  # whether each point has its own neighbors, which a given graph does not contain
    sparse: ClassVar[bool] = False  # whether a sparse cost is factored, whose fill depends on the points alone
    bent: ClassVar[bool] = False  # whether values are a function of distances other than -δ²/2
    direct: ClassVar[bool] = False  # whether the value of two points depends on these alone
    by_columns: ClassVar[bool] = False  # whether it can be solved by the columns of the points
    centered: ClassVar[bool] = False  # whether it is centered by construction
    variances: ClassVar[bool] = True  # whether its eigenvalues are variances, and coordinates have a scale
    sized: ClassVar[bool] = False  # whether it fixes the scale of coordinates itself
    # the function of a subject and its chain that yields the certificate's checks of it, by module and name
    checked_by: ClassVar[str] = "mlcli.certify.chains:eigenpair_checks"
    makes: ClassVar[tuple[Name, ...]] = ("kernel",)  # matrices that a run may keep
    way: ClassVar[Any] = None  # its own Composition; None where coordinates come from values of pairs
    rules: ClassVar[tuple[str, ...]] = ("broken_stick", "elbow")  # rules that may choose the number of axes, best first
    exponent: ClassVar[int] = 2  # the power of lengths that its factor, a rate or gamma, multiplies
    of_points: ClassVar[tuple[str, ...]] = ()  # options without effect on a given graph
    if TYPE_CHECKING:  # every kernel has these
        name: Any

        @property
        def unit_power(self) -> int:
            """Power of the data's unit in the coordinates."""

    @property
    def adapts(self) -> bool:
        """Whether a parameter is chosen by the data."""
        return False

    @property
    def of_cost(self) -> bool:
        """Whether its eigenvalues are those of a sparse cost."""
        return self.sparse

    @property
    def requested_route(self) -> Route:
        """The matrix to solve (option `route`), where there is a choice."""
        return "auto"

    def for_data(self, data: Given, neighbors: "Neighbors") -> Self:
        """Return the kernel with the options that depend on data and neighbors; raises ConfigError for forbidden ones.
        """
        return self

    @property
    def unscaled(self) -> int:
        """The power of two up to which data is used without a scaled copy."""
        return 0

    def refusals(self) -> Iterable[tuple[str, str, str]]:
        """Return what does not fit within these options: the path of one below the kernel's, why, and what to do."""
        return ()

    def check(self, data: Any) -> None:
        """Raise DataError for features outside of the domain of metrics that the kernel has itself."""

    def require_axes(self, eigensolve: Any, neighbors: Any, points: int) -> None:
        """Raise ConfigError where the numbers of axes and of neighbors do not fit; for kernels that have a limit."""


class OfProducts(KernelOptions):
    """Base of kernel functions of coordinates, computed from inner products."""

    direct: ClassVar[bool] = True
    of_coordinates: ClassVar[bool] = True
    definite: ClassVar[bool] = True  # whether no matrix of its values has a negative eigenvalue
    movable: ClassVar[bool] = False  # whether a shift of all points leaves the centered kernel as it is
    exponential: ClassVar[bool] = False  # whether values are exp of the factors' inner products, which are at most zero
    unit_power: ClassVar[int] = 0  # power of the data's unit in the coordinates

    def for_points(self, points: Array, unit: Unit) -> Self:
        """Return the kernel with defaults fixed from an (n, d) array of points, measured in `unit`."""
        return self

    def __call__(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values for all pairs."""
        return self.finish(inner_products(left, right))

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array, for an (n, d) array of points."""
        return self.finish(np.einsum("ij,ij->i", points, points))

    def factors(self, points: Array) -> tuple[Array, Array]:
        """Return left and right factors, (n, c) arrays whose inner products `finish` turns into values."""
        return points, points

    def finish(self, products: Array) -> Array:
        """Turn an array of inner products of factors, of any shape, into values in place."""
        return products

    def narrow(self, points: Array) -> bool:
        """Whether single precision is enough for the first passes over an (n, d) array of points."""
        return False

    @property
    def function(self) -> Self:
        """The function of two points."""
        return self

    def tile(self, left: AnyArray, right: AnyArray) -> Any:
        """Return values from factors of two blocks of points, on one thread."""
        return self.finish(left @ right.T)

    def block(self, left: Array, right: Array) -> Any:
        """Return the (m, n) array of values from (m, c) and (n, c) factors, on all threads."""
        return self.finish(inner_products(left, right))


class Pairwise(Protocol):
    """A kernel function, of coordinates or of a metric's distances, with its parameters fixed."""

    @property
    def name(self) -> str:
        """Name of the function, for messages."""

    @property
    def definite(self) -> bool:
        """Whether no matrix of its values has a negative eigenvalue."""

    @property
    def movable(self) -> bool:
        """Whether a shift of all points leaves the centered kernel unchanged."""

    @property
    def exponential(self) -> bool:
        """Whether values are exp of the factors' inner products, which are at most zero."""

    def __call__(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values for all pairs."""

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array, for an (n, d) array of points."""

    def factors(self, points: Array) -> tuple[Array, Array]:
        """Return the left and the right factor of an (n, d) array of points, (n, c) arrays."""

    def tile(self, left: AnyArray, right: AnyArray) -> Any:
        """Return values from factors of two blocks of points, on one thread."""

    def block(self, left: Array, right: Array) -> Any:
        """Return the (m, n) array of values from (m, c) and (n, c) factors, on all threads."""

    def narrow(self, points: Array) -> bool:
        """Whether single precision is enough for the first passes over an (n, d) array of points."""


def values_against(function: Pairwise, points: Array) -> Callable[[Array], Array]:
    """Return a function from an (m, d) array to its (m, n) values with the (n, d) `points`, whose factor is computed
    once.
    """
    center = points.mean(axis=0) if function.movable else np.zeros(points.shape[1])
    right = function.factors(points - center)[1]
    return lambda left: function.block(function.factors(left - center)[0], right)
