"""The base of linear versions of graph methods: input, costs, the eigenproblem in the columns, and the linear map."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.products import Name
from mlcli.base.values.scaling import Unit
from mlcli.base.values.signs import leading_signs
from mlcli.core.centering import Centering
from mlcli.core.costs import singular_step
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.eigen.options import Axes
from mlcli.core.graph.graph import union_recipe
from mlcli.core.graph.pieces import graph_steps
from mlcli.core.kernels.linearization import GraphCost, LinearInverse, RootShape, linear_step
from mlcli.core.similarities.columns import Columns
from mlcli.core.similarities.projector import Projector
from mlcli.core.whitening import WHITE, Whitening, whiten
from mlcli.errors import ConfigError, NumericalError
from mlcli.methods.method import Method
from mlcli.methods.model import Loadings, Model, Powers

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

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the graph, the singular values of the columns, and those of their costs."""
        shape, threads = data.values.shape, compute.thread_count()
        costs, root = self.cost_steps(data, threads)
        white = singular_step("whitening", shape, threads, WHITE)
        return [*graph_steps(data, self.neighbors.neighborhood(data), compute), *costs,
                replace(white, memory=white.memory + root.bytes), linear_step(shape, root, threads)]

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute y = (x - mean) A: min ‖R Y‖² with YᵀD Y = Σd I, by the singular values of R U, U white columns."""
        _require_reach(data)
        cost = self.cost(data)
        points = data.values if cost.kept is None else data.values[cost.kept]
        white = whiten(points, equal_columns=True, roots=cost.roots)
        self._note_rank(white)
        kernel = LinearInverse(cost.root, white, cost.roots)
        spectrum = ForAxes.of(self.axes)(kernel, self.limit(data), compute)
        assert spectrum.directions is not None
        axes = white.into @ spectrum.directions
        embedding: Array = (points - white.means) @ axes
        signs = leading_signs(embedding)
        return Model(embedding=embedding * signs, kept=cost.kept, products=cost.products, fit=cost.figures,
                     spectrum=replace(spectrum, directions=None),
                     projector=Projector(Columns(), Centering(white.means, across=False), axes * signs),
                     loadings=Loadings(axes * signs, data.columns, power=-1))

    def _note_rank(self, white: Whitening) -> None:
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
