"""Linear versions of graph methods: among functions that are linear in the columns, those of least cost on a graph.

A graph method minimizes a cost ‖R y‖² of functions y on the points, under a norm of them; its linear version minimizes
it over y = X a. With white columns U (Uᵀ D U = Σd I) the costs are squares of singular values of R U: no matrix is
squared, and none is n x n. Slow features are those of the graph that joins each row to the next.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import LINEAR
from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.products import Name, Products
from mlcli.base.values.scaling import Unit
from mlcli.base.values.signs import leading_signs
from mlcli.core.centering import Centering, uncentered
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.eigen.options import Axes, SpectrumRequest, first_columns
from mlcli.core.eigen.solved import Closeness, Solved
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.graph import union_recipe
from mlcli.core.graph.pieces import graph_steps
from mlcli.core.kernels.inverse import closeness_of_costs, rounding_of_costs
from mlcli.core.linalg import lowest_directions, singular_cost, singular_step, triangle_of
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Projector
from mlcli.core.sparse_factors import CompressedRows
from mlcli.core.whitening import WHITE, Whitening, whiten
from mlcli.errors import ConfigError, NumericalError
from mlcli.methods.method import Method

if TYPE_CHECKING:
    from mlcli.core.chain.local_costs import LocalKernel
    from mlcli.core.kernels.options import KernelOptions

ROOM = 2**21  # numbers of R U in memory at a time
TALL = 4  # rows that are made a triangle together, for each column, at least
SOLVING = 2.0  # arrays of the size of the points in memory besides the white ones


@frozen
class GraphCost:
    """A cost of functions on points: y costs ‖R y‖² as a share of Σ d y²."""

    root: CompressedRows  # R, m x n; constant functions cost nothing
    products: Products
    roots: Array | None = None  # n: √d; None where all are one
    kept: Indices | None = None  # rows of the data that the graph joins, where some are left out
    figures: Mapping[str, Any] = field(default_factory=dict)  # of the fit


@frozen
class RootShape:
    """The predicted size of a root."""

    rows: int
    each: int  # numbers in a row that are not zero

    @property
    def bytes(self) -> float:
        """Memory of the numbers and of their places."""
        return 16.0 * self.rows * self.each


@frozen
class LinearInverse:
    """K = M⁺ on functions that are linear in the columns, for a cost M = RᵀR: eigenvalues are one over costs."""

    root: CompressedRows  # R, m x n
    white: Whitening
    roots: Array | None = None  # n: √d

    definite, inverse, by_factor, rank, remedy, name = True, True, False, None, "", "M⁺"
    tolerance, entries, trace, frobenius = 0.0, 0.0, float("nan"), float("nan")

    @property
    def centering(self) -> Centering:
        """No centering: white columns have no constant part."""
        return uncentered(len(self.white.points))

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Return the whole spectrum; the vectors are √d y / √Σd of functions y of variance one."""
        points, size = self.white.points, len(self.white.points)
        sizes, directions = lowest_directions(cost_triangle(self.root, points))
        masses = np.ones(size) if self.roots is None else self.roots
        scale = float(np.linalg.norm(masses))
        costs = np.maximum((sizes / scale) ** 2, rounding_of_costs(self.root) * size / scale**2)

        def take(count: int) -> tuple[Array, Array]:
            chosen = first_columns(directions, count)
            return points @ chosen * (masses / scale)[:, None], chosen

        values = 1 / costs if len(costs) else np.zeros(1)  # the columns may extend in no direction
        return Solved(values, take, size, True, 0.0, own_digits=True)

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerances for equal eigenvalues."""
        return closeness_of_costs(solved, self.white.condition)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> None:
        """Return None: small costs are accurate. Takes (k,) `values` and (n, k) `vectors`."""


def cost_triangle(root: CompressedRows, functions: Array) -> Array:
    """Return the triangle T (at most r x r) of R Y = Q T, for R (m x n) and functions Y (n x r), a few rows at a time.
    """
    width = functions.shape[1]
    matrix, triangle = root.matrix(), np.zeros((0, width))
    for rows in row_blocks(root.shape[0], max(ROOM, TALL * width**2), width):
        triangle = triangle_of(np.vstack([triangle, matrix[rows] @ functions]))
    return triangle


def linear_step(shape: tuple[int, int], root: RootShape, threads: int) -> Step:
    """Return the step of the costs of white columns of points of a shape (n x d)."""
    rows, columns = shape
    rank = min(rows, columns)
    seconds = (2.0 * root.rows * rank**2 * rates().decomposed / threads + singular_cost((rank, rank), threads)
               + pass_cost(root.rows * root.each * rank))
    together = min(max(ROOM, TALL * rank**2), root.rows * rank)
    return Step("eigensolve", f"singular values of the costs of {rank} white columns", seconds,
                root.bytes + 8.0 * (SOLVING * rows * rank + 6.0 * rank**2 + 3.0 * together),
                needs=LINEAR)  # of the certificate


REACH = 400  # power of two up to which numbers have safe squares and reciprocals


class Linearization(Method):
    """The base of methods that minimize a graph method's cost over functions that are linear in the columns.

    The constraint is that of the graph method. Source of the idea: Yan and others, "Graph embedding and extensions",
    2007.
    """

    accepts: ClassVar = (Features,)
    judged_by: ClassVar = "neighbors"
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

    def composition(self, data: Features, compute: Compute, share: float | None = None) -> "LinearComposition":
        """Return the stages: the cost of the graph, white columns, and the functions of least cost."""
        return LinearComposition(self, data, compute)


@frozen
class LinearComposition(Composition[Model]):
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
