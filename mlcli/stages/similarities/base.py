"""What every similarity declares: its rows, its distances, and how new points are projected."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import one_by_one, row_blocks
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Given
from mlcli.base.values.products import Products
from mlcli.base.values.scaling import Unit
from mlcli.errors import ConfigError
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.algebra.distances import HELD
from mlcli.stages.algebra.metrics import EUCLIDEAN, Fitted
from mlcli.stages.graph.affinities import Affinity
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.neighborhoods import Neighborhood
from mlcli.stages.kernels.corrections import Correction
from mlcli.stages.similarities.spaces import Space
from mlcli.stages.similarities.witness import Witness


@frozen
class Parts:
    """The parts of a similarity that a certificate compares with the input and with what was asked for."""

    points: Array | None = None  # the training points that new ones are compared with
    origin: Array | None = None  # what was taken from them
    landmarks: Indices | None = None  # the training points that count, where not all do
    graph: Graph | None = None
    neighbors: Neighborhood | None = None
    affinity: Affinity | None = None
    ridge: float | None = None
    correction: Correction | None = None
    function: Any = None  # of two points or of a distance
    metric: Fitted | None = None
    latent: Any = None  # a model of the columns


@frozen
class Similarity:
    """How new points relate to the training points: one row for each, centered as the training rows were.

    Every method projects in the same way: rows, centered, times a matrix of axes (Bengio et al., 2004: out-of-sample
    extensions as kernel PCA). Only the rows differ.
    """

    keeps_distances: ClassVar[bool] = True  # whether the axes are to keep distances, the input's or others
    in_features: ClassVar[bool] = False  # whether rows are the new points themselves
    alone: ClassVar[bool] = True  # whether a row does not depend on the others
    on_equals: ClassVar[bool] = False  # whether a point that equals training points is placed on one of them

    @property
    def places(self) -> bool:
        """Whether new points can be compared with the training points: a similarity that has no rows says so."""
        return type(self).rows is not Similarity.rows

    @property
    def roundings(self) -> int:
        """How many roundings of one product a number of a row carries."""
        return 1

    @property
    def parts(self) -> Parts:
        """Its parts that follow from the input and from options."""
        return Parts()

    @property
    def source(self) -> "Similarity":
        """The similarity whose distances it is a function of; itself where it is of none."""
        return self

    def rows(self, new: Array) -> Array:
        """The rows of new points (m x c); raises ConfigError where points are known by the edges of a graph alone."""
        raise ConfigError("NO-PROJECTION", "this run was made of a graph, whose points have no features that new "
                          "points could be compared by", hint="fit the graph with the new points in it")

    def width(self, given: int) -> int:
        """c, for new rows of so many numbers."""
        return given

    def batches(self, new: Array, columns: int) -> Iterator[slice]:
        """The new points by groups small enough for memory, where rows have so many columns; or all at once."""
        if not self.alone:
            return iter([slice(None)])
        return one_by_one(row_blocks(len(new), HELD, max(columns, new.shape[1])))

    def check(self, new: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuses new points outside of the domain of the metric that they are compared by; raises DataError."""
        self.comparison.check(new, ids, columns)

    @property
    def comparison(self) -> Fitted:
        """The metric that new points are compared by: Euclidean where there is no choice."""
        return getattr(self, "metric", EUCLIDEAN)

    def lengths_in(self, unit: Unit) -> Unit:
        """What distances are measured in where points are measured in this."""
        return unit**self.comparison.unit_power

    def rounding(self, new: Array) -> Array | float:
        """The errors of rows, beyond one rounding of each number."""
        return 0.0

    def space(self, rows: RowsOf | None, units: tuple[Unit, Unit], compute: Compute) -> Space | None:
        """Where distances are the ones that the axes are to keep; None where those are the input's, as `seen`.

        `rows` finds rows of the kernel, where the fit gives them; `units` are those of inputs and of coordinates.
        """
        return None

    def witness(self, data: Given, fit: Indices, full: bool) -> Witness | None:
        """The kernel of the rows that carried the fit (`fit`), computed again from the rows that were embedded.

        None where there is no such kernel. With `full` every row is checked, so speed matters.
        """
        return None

    def products(self, centering: Centering) -> Products:
        """What a run may keep of the fit, as far as the similarity holds what it is made of."""
        return {}

    @property
    def walkable(self) -> Graph | None:
        """The graph between the training points on which paths have lengths, where there is one."""
        return None

    def seen(self, distances: Array) -> Array:
        """The input's distances, in the units of the computation, as the method sees them."""
        return distances

    @property
    def column_moments(self) -> Array | None:
        """The covariance of the columns (d x d) that stands for rows with missing cells, where there is one."""
        return None

    @property
    def variances(self) -> Array | None:
        """The variances behind coordinates of unit variance (p); None where coordinates have these variances."""
        return None
