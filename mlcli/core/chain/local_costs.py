"""Kernels M⁺ of a cost M = RᵀR whose root R has rows of numbers on single neighborhoods, and their overlaps.

A kernel says how the rows follow from the data and the neighbor lists (`root`); the graph, the eigenproblem, the scale
of coordinates and new points are the same for all.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import SPARSE
from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Indices
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.base.values.options import option
from mlcli.base.values.products import Products
from mlcli.core.centering import uncentered
from mlcli.core.chain.graphs import neighbor_steps, neighborhood, predict_cost
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.scaling import scale_coordinates, solve_spectrum
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.options import AUTO, DEFAULT_COUNT
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.connecting import shortest_links
from mlcli.core.graph.graph import by_size, union_recipe
from mlcli.core.graph.neighbors import Neighborhood, Neighbors
from mlcli.core.graph.pieces import (
    Policy,
    connected_lists,
    extend,
    fewest_neighbors,
    first_ids,
    keep_largest,
    listed,
    note_connected,
)
from mlcli.core.graph.search import Lists, some_lists
from mlcli.core.kernels.inverse import CostSize, Inverse, inverse_step
from mlcli.core.kernels.options import KernelOptions
from mlcli.core.metrics.distances import metric_of, squares_of_pairs
from mlcli.core.model import Model
from mlcli.core.similarities.projector import Projector
from mlcli.core.similarities.weights import Barycenters
from mlcli.core.sparse_factors import CompressedRows
from mlcli.errors import ConfigError, GeometryError


def overlapping_lists(data: Spatial, neighbors: Neighborhood, policy: Policy) -> tuple[Lists, Indices | None]:
    """Return neighbor lists whose neighborhoods overlap in one group, and the rows kept where some are left out.

    A function that is constant on each group of overlapping neighborhoods costs nothing, so more than one group leaves
    no room for coordinates. Raises GeometryError under the policy `error`.
    """
    lists, kept = neighbors.lists(data), None
    with running("graph"):
        groups = overlap_groups(lists)
        if groups.max() > 0 and policy == "connect":
            return _connect(data, lists, groups), None
        if groups.max() > 0 and policy == "largest":
            kept = keep_largest(groups)
            if len(kept) <= neighbors.least:
                raise GeometryError("FEW-POINTS", f"the largest group of overlapping neighborhoods has {len(kept)} "
                                    f"points, too few for {neighbors.least} neighbors each", where="method.neighbors",
                                    hint="use fewer neighbors, or give {method.neighbors.pieces=connect}")
            data = data.take(kept)
            lists = neighbors.lists(data)
            groups = overlap_groups(lists)
        if groups.max() > 0:
            raise _error_of_overlaps(data, neighbors, lists, groups)
    return lists, kept


def overlap_groups(lists: Lists) -> Indices:
    """Return the group of each point (n), numbered from the largest.

    Members of one neighborhood are in one group. A point that is in none counts as a member of its own.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    size, own = len(lists.counts), strangers(lists)
    members = lists.matrix(size)
    members = members + sparse.csr_array((np.ones(len(own)), (own, own)), shape=members.shape)
    both = sparse.block_array([[None, members], [members.T, None]], format="csr")
    return by_size(connected_components(both, directed=False)[1][size:])


def strangers(lists: Lists) -> Indices:
    """Return the points that are neighbors of no other (m)."""
    return np.flatnonzero(np.bincount(lists.indices, minlength=len(lists.counts)) == 0)


def _connect(data: Spatial, lists: Lists, groups: Indices) -> Lists:
    """Return lists in which one end of each shortest link between groups has the other end's neighborhood as well.

    So its neighborhood has enough members in both groups for one tangent space to align them.
    """
    edges = 0
    while groups.max() > 0:
        left, right, _ = shortest_links(data, groups)
        edges += len(left)
        others = some_lists(lists, right)
        rows = np.concatenate([left, left[others.rows]])
        columns = np.concatenate([right, others.indices])
        order = np.argsort(rows, kind="stable")
        rows, columns = rows[order], columns[order]
        apart = rows != columns
        rows, columns = rows[apart], columns[apart]
        lists = extend(lists, rows, columns, np.sqrt(squares_of_pairs(data, rows, columns)))
        groups = overlap_groups(lists)
    note_connected(edges)
    return lists


def _error_of_overlaps(data: Spatial, neighbors: Neighborhood, lists: Lists, groups: Indices) -> GeometryError:
    """Return the error with the groups' sizes, members of the small ones, and advice that joins them."""
    fewest = partial(fewest_neighbors, data, lists, lambda found: overlap_groups(found).max() == 0)
    return GeometryError("OVERLAP", f"the neighborhoods are in {groups.max() + 1} groups of "
                         f"{listed(np.bincount(groups))} points that do not overlap",
                         where=f"outside the largest: {first_ids(data.ids, groups > 0)}",
                         hint=neighbors.remedy(data, groups, fewest))


OPERATIONS = 100  # of LAPACK's decompositions of a neighborhood, in units of k² max(k, d) operations of a product
CALLS = 2  # what they take however small it is, in calls of NumPy


@frozen
class LocalRoot:
    """The root R of a cost, and what else comes of it."""

    rows: CompressedRows  # m x n
    products: Products = field(default_factory=dict)  # what a run may keep, besides the graph
    figures: Mapping[str, Any] = field(default_factory=dict)  # of the fit


@frozen
class LocalChain(Composition[Model]):
    """Coordinates by the bottom eigenvectors of M = RᵀR, with rows of R on neighborhoods."""

    chain: ChainInput

    @FitStage
    def neighborhoods(self) -> tuple[Lists, Spatial, Indices | None]:
        """The neighbor lists in one group, their points, and which of all these are, where some are left out (m)."""
        chain, data = self.chain, self.chain.spatial
        lists, kept = chain.kernel.lists(data, neighborhood(chain), chain.joining.neighbors.pieces)
        data = data if kept is None else data.take(kept)
        chain.kernel.require_members(data, lists, chain.kernel.local_dimension(chain.stages.eigensolve))
        return lists, data, kept

    @neighborhoods.cost
    def _(self) -> list[Step]:
        return neighbor_steps(self.chain)

    @FitStage
    def root(self) -> LocalRoot:
        """R, with rows for each neighborhood."""
        kernel, (lists, data, _) = self.chain.kernel, self.neighborhoods
        with running(kernel.stage):
            return kernel.root(data, lists, kernel.local_dimension(self.chain.stages.eigensolve))

    @root.cost
    def _(self) -> list[Step]:
        return [self.chain.kernel.step(self.chain.data.values.shape, self.count, self.axes,
                                       self.chain.compute.thread_count())]

    @property
    def count(self) -> int:
        """The predicted number of neighbors of a point."""
        return neighborhood(self.chain).usual

    @property
    def axes(self) -> int:
        """The predicted dimension of neighborhoods, whose neighbors span no more than the columns."""
        return min(self.chain.kernel.local_dimension(self.chain.stages.eigensolve), self.chain.data.values.shape[1])

    @FitStage
    def spectrum(self) -> Spectrum:
        """The bottom eigenvectors of M, by filters or one sparse factorization."""
        where, hint = self.chain.kernel.remedy
        inverse = Inverse(self.root.rows, where=where, hint=hint,
                          filtered=self.cost_size.by_filters(self.chain.stages.eigensolve))
        return solve_spectrum(self.chain, inverse, inverse.size - 1)

    @spectrum.cost
    def _(self) -> list[Step]:
        return [inverse_step(self.chain.stages.eigensolve, self.cost_size)]

    @property
    def cost_size(self) -> CostSize:
        """The predicted size of M."""
        rows, columns = self.chain.data.values.shape
        tall = rows * self.chain.kernel.height(self.count, self.axes)
        return predict_cost(self.chain, neighborhood(self.chain), CostSize(
            rows=rows, count=self.count, columns=columns, tall=tall, numbers=tall * self.count, squared=True))

    def result(self) -> Model:
        """Return the eigenvectors as coordinates, and the weights of neighbors for new points."""
        chain, root, spectrum, (lists, data, kept) = self.chain, self.root, self.spectrum, self.neighborhoods
        embedding = scale_coordinates(chain, spectrum, spectrum.vectors * np.sqrt(len(data.values)))
        similarity = Barycenters(neighborhood(chain), data.values, chain.kernel.ridge,
                                 isinstance(data, Dissimilarities), metric_of(data))
        return Model(embedding=embedding, spectrum=spectrum, kept=kept,
                     projector=Projector(similarity, uncentered(len(data.values)), embedding),
                     products={"graph": union_recipe(lists), **root.products},
                     fit={**root.figures, "cost_of_coordinates": float(np.sum(np.square(root.rows.times(embedding))))})


class LocalKernel(KernelOptions):
    """The base of kernels M⁺ whose cost M is a sum over neighborhoods."""

    of_graph: ClassVar[bool] = True
    one_sided: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    centered: ClassVar[bool] = True
    variances: ClassVar[bool] = False
    way: ClassVar = LocalChain
    checked_by: ClassVar[str] = "mlcli.methods.local.check:local_checks"
    unit_power: ClassVar[int] = 0
    stage: ClassVar[str] = "weights"
    remedy: ClassVar[tuple[str, str]] = "method.ridge", "use a larger ridge or more neighbors"
    if TYPE_CHECKING:  # every kernel has this
        ridge: float

    def local_dimension(self, eigensolve: Eigensolve) -> int:
        """Return the dimension of tangent spaces; the number of axes asked for, where there is none."""
        return eigensolve.wanted(1)

    def lists(self, data: Spatial, neighbors: Neighborhood, policy: Policy) -> "tuple[Lists, Indices | None]":
        """Return neighbor lists in one group, and the rows kept where some are left out; raises GeometryError."""
        return connected_lists(data, neighbors, policy)

    def require_members(self, data: Spatial, lists: Lists, dimension: int) -> None:
        """Raise GeometryError for a point with too few neighbors within a radius; for kernels that have a limit."""

    def height(self, count: int, axes: int) -> int:
        """Return the number of rows of R for a neighborhood of `count` neighbors."""
        return 1

    def step(self, shape: tuple[int, int], count: int, axes: int, threads: int) -> Step:
        """Return the cost of the rows of R, for data of a shape."""
        raise NotImplementedError

    def root(self, data: Spatial, lists: Lists, axes: int) -> LocalRoot:
        """Return the root of the cost."""
        raise NotImplementedError


class TangentKernel(LocalKernel):
    """The base of kernels whose rows need tangent spaces: as many dimensions as axes, unless chosen."""

    stage: ClassVar[str] = "tangents"
    remedy: ClassVar[tuple[str, str]] = "method.neighbors.count", "use more neighbors"
    makes: ClassVar[tuple[()]] = ()
    if TYPE_CHECKING:
        dimension: int | None

    @classmethod
    def least(cls, dimension: int) -> int:
        """Return the fewest neighbors for tangent spaces of a dimension."""
        raise NotImplementedError

    def lists(self, data: Spatial, neighbors: Neighborhood, policy: Policy) -> "tuple[Lists, Indices | None]":
        """Return neighbor lists that overlap in one group, and the rows kept where some are left out."""
        return overlapping_lists(data, neighbors, policy)

    def step(self, shape: tuple[int, int], count: int, axes: int, threads: int) -> Step:
        """Return the cost of the tangent spaces, for data of a shape, and the memory of R."""
        (rows, columns), height = shape, self.height(count, axes)
        each = CALLS * rates().called / threads + OPERATIONS * count**2 * max(columns, count) / product_rate(threads)
        return Step(self.stage, f"{rows} neighborhoods of {count}", rows * each, 24.0 * rows * height * count,
                    needs=SPARSE)  # of the certificate

    def local_dimension(self, eigensolve: Eigensolve) -> int:
        """Return the dimension of tangent spaces; raises ConfigError where neither it nor axes are counted."""
        if self.dimension is not None:
            return self.dimension
        if eigensolve.components == AUTO:
            return DEFAULT_COUNT
        if not isinstance(eigensolve.components, int):
            raise ConfigError("DIMENSION", "tangent spaces have as many dimensions as there are axes, which is no "
                              f"count here: {eigensolve.components}", where=f"{eigensolve.where}.components",
                              hint="give a count of axes, or the dimension with {method.dimension}")
        return eigensolve.components

    def require_axes(self, eigensolve: Eigensolve, neighbors: Neighbors, points: int) -> None:
        """Raise ConfigError for too few neighbors for the dimension, with the fewest that do; GeometryError of points.
        """
        dimension = self.local_dimension(eigensolve)
        least = self.least(dimension)
        if points <= least:
            raise GeometryError("FEW-POINTS", f"{points} points are too few: {dimension} dimensions of a neighborhood "
                                f"need {least} neighbors of each point", hint=f"give {least + 1} points, or fewer axes")
        if neighbors.count is not None and neighbors.count < least:
            raise ConfigError("FEW-NEIGHBORS", f"{neighbors.count} neighbors are too few for {dimension} dimensions of "
                              "a neighborhood", where="method.neighbors.count",
                              hint=f"use at least {least}, or fewer axes")

    def require_members(self, data: Spatial, lists: Lists, dimension: int) -> None:
        """Raise GeometryError for a point with too few neighbors within a radius."""
        least, few = self.least(dimension), np.flatnonzero(lists.counts < self.least(dimension))
        if len(few):
            raise GeometryError("FEW-MEMBERS", f"{len(few)} points have fewer than {least} neighbors, which "
                                f"{dimension} dimensions of a neighborhood need",
                                where=f"the first: {data.ids[few[0]]}",
                                hint="use a larger radius, or a count of neighbors")


def dimension_option() -> Any:
    """Return the option of the tangent spaces' dimension."""
    return option(None, "Dimension of the tangent spaces (default: the number of axes).", ge=1)


def ridge_option() -> Any:
    """Return the option of the weights of new points, and of points that are in no neighborhood."""
    return option(1e-3, "Regularization of the weights of new points, as in lle.", gt=0)
