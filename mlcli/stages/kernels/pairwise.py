"""What a kernel says of itself, and what a function of two points offers: values, or factors of blocks of points."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import Check
from mlcli.base.values.inputs import Given
from mlcli.base.values.options import Options
from mlcli.base.values.products import Name
from mlcli.stages.algebra.distances import inner_products

Route = Literal["auto", "covariance", "dual", "svd", "power"]
OF_DISTANCES = ("broken_stick", "residual_variance", "elbow")  # rules of kernels of distances
Proof = Literal["kernel", "weights", "spectrum", "latent", "own"]


class KernelOptions(Options):
    """The base of all kernels: what each is computed from, and what follows for a chain with it."""

    of_coordinates: ClassVar[bool] = False  # whether it is computed from coordinates, which no metric compares
    of_distances: ClassVar[bool] = False  # whether each value follows from one distance, of pairs or along paths
    of_graph: ClassVar[bool] = False  # whether it is computed from the neighbor graph alone
    of_weights: ClassVar[bool] = False  # whether weights of edges are enough, without their lengths
    of_input: ClassVar[bool] = False  # whether it is the matrix that is given
    one_sided: ClassVar[bool] = False  # whether each point has its own neighbors, whom no graph that is given tells
    sparse: ClassVar[bool] = False  # whether a sparse cost is factored, of a size that the points alone decide
    bent: ClassVar[bool] = False  # whether values are a function of distances other than -δ²/2
    direct: ClassVar[bool] = False  # whether values of two points follow from these alone
    by_columns: ClassVar[bool] = False  # whether it can be solved by the columns of the points
    centered: ClassVar[bool] = False  # whether it is centered as it is
    variances: ClassVar[bool] = True  # whether its eigenvalues are variances, and coordinates have a scale
    sized: ClassVar[bool] = False  # whether it has a size of coordinates of its own
    proof: ClassVar[Proof] = "kernel"  # what the certificate may check
    makes: ClassVar[tuple[Name, ...]] = ("kernel",)  # what a run may keep of it
    way: ClassVar[Any] = None  # its own Composition; None where coordinates follow from values of pairs
    rules: ClassVar[tuple[str, ...]] = ("broken_stick", "elbow")  # that may say how many axes, best first
    exponent: ClassVar[int] = 2  # the power of lengths that its factor, a rate or gamma, multiplies
    of_points: ClassVar[tuple[str, ...]] = ()  # options that a given graph has no use for

    @property
    def adapts(self) -> bool:
        """Whether a parameter is chosen by the data."""
        return False

    @property
    def chosen_route(self) -> Route:
        """Which matrix is to be solved, where there is a choice."""
        return "auto"

    def for_data(self, data: Given) -> Self:
        """The kernel with the options that the kind of data decides; raises ConfigError for those that it forbids."""
        return self

    def identities(self, similarity: Any, data: Any, embedding: Array, spectrum: Any, coordinates: Any, *, full: bool,
                   ) -> list[Check]:
        """Equations that coordinates (n x p) solve, for the certificate, from the data and the stored similarity.

        `coordinates` are the chain's options of that name; with `full` every row is looked at, however long it takes.
        """
        return []


class OfProducts(KernelOptions):
    """The base of all kernel functions."""

    direct: ClassVar[bool] = True
    of_coordinates: ClassVar[bool] = True
    if TYPE_CHECKING:
        def finish(self, products: AnyArray) -> AnyArray:
            """Values from inner products of factors, in place."""

    @property
    def function(self) -> Self:
        """The function of two points."""
        return self

    def tile(self, left: AnyArray, right: AnyArray) -> Any:
        """Values from factors of two blocks of points, on one thread."""
        return self.finish(left @ right.T)

    def block(self, left: Array, right: Array) -> Any:
        """The same on all threads."""
        return self.finish(inner_products(left, right))


class Pairwise(Protocol):
    """A kernel function, of coordinates or of a metric's distances, with its parameters fixed."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def movable(self) -> bool:
        """Whether a shift of all points leaves the centered kernel as it is."""

    def __call__(self, left: Array, right: Array) -> Array:
        """Values for all pairs (m x n)."""

    def diagonal(self, points: Array) -> Array:
        """Each point's value with itself (n)."""

    def factors(self, points: Array) -> tuple[Array, Array]:
        """What of points is needed on the left and on the right of a pair."""

    def tile(self, left: AnyArray, right: AnyArray) -> Any:
        """Values from factors of two blocks of points, on one thread."""

    def block(self, left: Array, right: Array) -> Any:
        """The same on all threads."""

    def narrow(self, points: Array) -> bool:
        """Whether single precision is good enough to begin with."""


def against(function: Pairwise, points: Array) -> Callable[[Array], Array]:
    """Values for blocks of rows, with all that depends on the points alone made ready."""
    center = points.mean(axis=0) if function.movable else np.zeros(points.shape[1])
    right = function.factors(points - center)[1]
    return lambda left: function.block(function.factors(left - center)[0], right)
