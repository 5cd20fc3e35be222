"""The base of linear versions of graph methods: input, costs, the eigenproblem in the columns, and the linear map."""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mlcli.base.frozen import frozen
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.products import Name
from mlcli.base.values.scaling import Unit
from mlcli.base.values.signs import leading_signs
from mlcli.core.centering import Centering
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.eigen.options import Axes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.graph import union_recipe
from mlcli.core.graph.pieces import graph_steps
from mlcli.core.kernels.linearization import GraphCost, LinearInverse, RootShape, linear_step
from mlcli.core.linalg import singular_step
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Projector
from mlcli.core.whitening import WHITE, Whitening, whiten
from mlcli.errors import ConfigError, NumericalError
from mlcli.methods.method import Method

if TYPE_CHECKING:
    from mlcli.core.chain.local_costs import LocalKernel
    from mlcli.core.kernels.options import KernelOptions

REACH = 400  # power of two up to which numbers have safe squares and reciprocals


class Linearization(Method):
    """The base of methods that minimize a graph method's cost over functions that are linear in the columns.

    The constraint is that of the graph method. Source of the idea: Yan and others, "Graph embedding and extensions",
    2007.
    """

    accepts: ClassVar = (Features,)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    decodes: ClassVar = None
    rules: ClassVar = ("two_nn", "maximum_likelihood")
    scaleless: ClassVar = True
    if TYPE_CHECKING:  # every method has this

        @property
        def kernel(self) -> KernelOptions:
            """The kernel of the graph method, with the method's options."""

    def cost(self, data: Features) -> GraphCost:
        """Return the cost on the graph of the points; raises GeometryError where that is in pieces."""
        raise NotImplementedError

    def cost_steps(self, data: Features, threads: int) -> tuple[list[Step], RootShape]:
        """Return the steps of the cost once there is a graph, and the shape of its root."""
        raise NotImplementedError

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d."""
        return min(len(data.values) - 1, data.values.shape[1])

    def makes(self, kind: str = "features") -> tuple[Name, ...]:
        """Return the graph, and what the kernel makes."""
        return "graph", *self.kernel.makes

    def resampling(self, kind: str) -> Literal["bootstrap", "subsample"] | None:
        """Return a sample without repetition: repeated rows would be neighbors."""
        return "subsample"

    def require(self, data: Input) -> None:
        """Raise ConfigError also for columns of text, which have no linear functions."""
        super().require(data)
        if isinstance(data, Features) and data.categories:
            raise ConfigError("TEXT-COLUMNS", f"{self.name} takes linear functions of the columns, and "
                              f"{data.columns[min(data.categories)]} holds text", where="input.columns",
                              hint="leave columns of text out")

    def composition(self, data: Features, compute: Compute, share: float | None = None) -> "LinearFit":
        """Return the stages: the cost of the graph, white columns, and the functions of least cost."""
        return LinearFit(self, data, compute)


@frozen
class LinearFit(Composition[Model]):
    """y = (x - mean) A of least cost: min ‖R Y‖² with YᵀD Y = Σd I, by the singular values of R U, U white columns."""

    method: Linearization
    data: Features
    compute: Compute

    @cached_property
    def planned(self) -> tuple[list[Step], RootShape]:
        """The predicted steps of R once there is a graph, and its size."""
        return self.method.cost_steps(self.data, self.compute.thread_count())

    @FitStage
    def of_graph(self) -> GraphCost:
        """R on the neighbor graph, and D."""
        _require_reach(self.data)
        return self.method.cost(self.data)

    @of_graph.cost
    def _(self) -> list[Step]:
        neighbors = self.method.neighbors.neighborhood(self.data)
        return [*graph_steps(self.data, neighbors, self.compute), *self.planned[0]]

    @property
    def points(self) -> Array:
        """The points of the graph."""
        kept = self.of_graph.kept
        return self.data.values if kept is None else self.data.values[kept]

    @FitStage
    def white(self) -> Whitening:
        """U."""
        white = whiten(self.points, equal_columns=True, roots=self.of_graph.roots)
        _note_rank(white)
        return white

    @white.cost
    def _(self) -> list[Step]:
        white = singular_step("whitening", self.data.values.shape, self.compute.thread_count(), WHITE)
        return [replace(white, memory=white.memory + self.planned[1].bytes)]

    @FitStage
    def spectrum(self) -> Spectrum:
        """The singular values of R U."""
        kernel = LinearInverse(self.of_graph.root, self.white, self.of_graph.roots)
        return ForAxes.of(self.method.axes)(kernel, self.method.limit(self.data), self.compute)

    @spectrum.cost
    def _(self) -> list[Step]:
        return [linear_step(self.data.values.shape, self.planned[1], self.compute.thread_count())]

    def result(self) -> Model:
        """Return the coordinates, and A, which places new points."""
        cost, white, spectrum = self.of_graph, self.white, self.spectrum
        assert spectrum.directions is not None
        axes = white.into @ spectrum.directions
        embedding: Array = (self.points - white.means) @ axes
        signs = leading_signs(embedding)
        return Model(embedding=embedding * signs, kept=cost.kept, products=cost.products, fit=cost.figures,
                     spectrum=replace(spectrum, directions=None),
                     projector=Projector(Columns(), Centering(white.means, across=False), axes * signs),
                     loadings=Loadings(axes * signs, self.data.columns, power=-1))


def _note_rank(white: Whitening) -> None:
    rows, columns, rank = len(white.points), len(white.means), white.rank
    if rank and rank == rows - 1:
        note("W-SATURATED", f"with {rank} independent columns in {rows} rows, every function of the points is "
             "linear in the columns: these are the coordinates of the graph alone", rank=rank)
    elif rank < columns:
        note("N-DIRECTIONS", f"{columns} columns extend in {rank} directions; the others give no axes", rank=rank)


def _require_reach(data: Features) -> None:
    """Raise NumericalError for numbers whose squares leave the range of doubles; some metrics let no unit prevent it.
    """
    if not Unit.of(data.values).within(REACH):
        raise NumericalError("RANGE", "the numbers are too large or too small for linear functions of them",
                             hint="give the data in another unit, or with {prepare.scale=standard}")


class LocalLinearization(Linearization):
    """The base of those whose cost is a sum over neighborhoods, as that of LLE and of tangent spaces."""

    repeat_tolerance: ClassVar = 1e-5  # what rounding in the local systems leaves
    if TYPE_CHECKING:
        axes: Axes

        @property
        def kernel(self) -> LocalKernel:
            """The kernel of the graph method, with the method's options."""

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return the neighbors; raises ConfigError where they are too few for the dimension of tangent spaces."""
        found = super().resolved_stages(data)
        count = min(self.axes.count, max(self.limit(data), 1))
        self.kernel.require_axes(ForAxes.of(self.axes.replace(components=count)), found["neighbors"], len(data.values))
        return found

    def cost_steps(self, data: Features, threads: int) -> tuple[list[Step], RootShape]:
        """Return the step of the rows of R, and their shape."""
        shape, count = data.values.shape, self.neighbors.neighborhood(data).usual
        dimension = self.kernel.local_dimension(ForAxes.of(self.axes))
        return [self.kernel.step(shape, count, dimension, threads)], RootShape(
            shape[0] * self.kernel.height(count, dimension), count)

    def cost(self, data: Features) -> GraphCost:
        """Return the rows of R on neighborhoods."""
        kernel, dimension = self.kernel, self.kernel.local_dimension(ForAxes.of(self.axes))
        lists, kept = kernel.lists(data, self.neighbors.neighborhood(data), self.neighbors.pieces)
        data = data if kept is None else data.take(kept)
        kernel.require_members(data, lists, dimension)
        with running(kernel.stage):
            root = kernel.root(data, lists, dimension)
        return GraphCost(root.rows, {"graph": union_recipe(lists), **root.products}, kept=kept,
                         figures=root.figures)
