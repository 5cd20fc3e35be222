"""The base of all similarities: their rows and distances; and the plainest, whose rows are the points themselves."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import one_by_one, row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.products import Products
from mlcli.base.values.scaling import Unit
from mlcli.core.centering import Centering
from mlcli.core.euclidean_distances import HELD
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Neighborhood
from mlcli.core.kernels.corrections import Correction
from mlcli.core.metrics import EUCLIDEAN, RowMetric
from mlcli.core.similarities.spaces import Space
from mlcli.errors import ConfigError

if TYPE_CHECKING:
    from mlcli.core.graph.affinities import Affinity

@frozen
class Parts:
    """The parts of a similarity that a certificate compares with the input and the options."""

    points: Array | None = None  # the training points that new ones are compared with
    origin: Array | None = None  # the shift that was subtracted from them
    landmarks: Indices | None = None  # the training points in use; None: all
    graph: Graph | None = None
    neighbors: Neighborhood | None = None
    affinity: "Affinity | None" = None
    ridge: float | None = None
    correction: Correction | None = None
    function: Any = None  # a kernel function, of two points or of a distance
    metric: RowMetric | None = None
    latent: Any = None  # a model of the columns


@frozen
class Similarity:
    """How new points relate to the training points: a row of c numbers for each, centered as the training rows were.

    Every method projects in the same way: rows, centered, times a matrix of axes (Bengio et al., 2004: out-of-sample
    extensions as kernel PCA). Only the rows differ.
    """

    keeps_distances: ClassVar[bool] = True  # whether the axes approximate distances, the input's or others
    in_features: ClassVar[bool] = False  # whether rows are the new points themselves
    rowwise: ClassVar[bool] = True  # whether a row does not depend on the others
    on_equals: ClassVar[bool] = False  # whether a duplicate of a training point gets that point's coordinates

    @property
    def places(self) -> bool:
        """Whether new points can be compared with the training points: true for similarities that define `rows`."""
        return type(self).rows is not Similarity.rows

    @property
    def roundings(self) -> int:
        """Number of roundings of one product in a number of a row."""
        return 1

    @property
    def parts(self) -> Parts:
        """The parts that depend on the input and the options."""
        return Parts()

    @property
    def source(self) -> "Similarity":
        """The similarity whose distances this is a function of; this one where there is none."""
        return self

    def rows(self, new: Array) -> Array:
        """Return an (m, c) array of rows for an (m, d) array of new points.

        Raises ConfigError where points have no features, only the edges of a graph.
        """
        raise ConfigError("NO-PROJECTION", "this run was made from a graph: new points cannot be compared with its "
                          "points, which have no features", hint="fit the graph with the new points in it")

    def columns(self, new: Array) -> Array:
        """Return what axes are combinations of, or are described by: an (m, c) array of (m, d) new points.

        These are the rows up to a factor of each column.
        """
        return self.rows(new)

    def diagonal(self, new: Array) -> Array | None:
        """Return k(x, x), an (m,) array, of an (m, d) array of new points; None where no kernel of theirs is known, or
        it may have negative eigenvalues.
        """
        return None

    def combine(self, rows: Array, axes: Array) -> Array:
        """Return the coordinates (m x p) of centered rows (m x c) along axes (c x p)."""
        return rows @ axes

    def width(self, given: int) -> int:
        """Return c, the number of columns of `rows(new)` where `new` has `given` columns."""
        return given

    def batches(self, new: Array, columns: int) -> Iterator[slice]:
        """Yield slices of an (m, d) array of new points, small enough for memory at `columns` numbers a row; or one of
        all.
        """
        if not self.rowwise:
            return iter([slice(None)])
        return one_by_one(row_blocks(len(new), HELD, max(columns, new.shape[1])))

    def check(self, new: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Raise DataError for new points, an (m, d) array, outside the domain of the metric that compares them."""
        self.comparison.check(new, ids, columns)

    @property
    def comparison(self) -> RowMetric:
        """The metric that compares new points: Euclidean where there is no choice."""
        return getattr(self, "metric", EUCLIDEAN)

    def distance_unit(self, unit: Unit) -> Unit:
        """Return the unit of distances, given the unit of points."""
        return unit**self.comparison.unit_power

    def rounding(self, new: Array) -> Array | float:
        """Return the errors of the rows of an (m, d) array beyond one rounding of each number: (m, c) or one number."""
        return 0.0

    def space(self, rows: RowsOf | None, units: tuple[Unit, Unit], compute: Compute) -> Space | None:
        """Return the space whose distances the axes approximate; None where these are the `method_distances`.

        `rows` computes rows of the kernel, where the fit provides them; `units` are those of inputs and of coordinates.
        """
        return None

    def products(self, centering: Centering) -> Products:
        """Return the matrices of the fit that a run may keep, of those that the similarity can compute."""
        return {}

    @property
    def path_graph(self) -> Graph | None:
        """The graph between training points on which paths have lengths; None where there is none."""
        return None

    def method_distances(self, distances: Array) -> Array:
        """Return the distances that the method approximates, from the input's: an array of any shape."""
        return distances

    @property
    def column_moments(self) -> Array | None:
        """The covariance of the columns (d x d) that represents rows with missing cells; None where there is none."""
        return None

    @property
    def variances(self) -> Array | None:
        """The variances (p) of coordinates that were scaled to unit variance; None where they were not scaled."""
        return None


class OfOtherDistances(Similarity):
    """Numbers of at most one that are computed from the distances δ of another similarity, which has rows -δ²/2."""

    base: Similarity

    @property
    def places(self) -> bool:
        """Whether distances of new points can be computed."""
        return self.base.places

    @property
    def parts(self) -> Parts:
        """The parts of the distances."""
        return self.base.parts

    @property
    def source(self) -> Similarity:
        """The similarity that computes the distances."""
        return self.base

    @property
    def comparison(self) -> RowMetric:
        """The metric of the distances."""
        return self.base.comparison

    def rounding(self, new: Array) -> Array | float:
        """Return a few roundings of numbers of at most one, for an (m, d) array of new points."""
        return 16 * EPS


class AmongFixed(Similarity):
    """The base of similarities with coordinates (n x p) of the training points, their rows, and the metric of these."""

    coordinates: Array
    points: Array | None
    metric: RowMetric

    @property
    def parts(self) -> Parts:
        """The points and their metric."""
        return Parts(points=self.points, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of axes."""
        return self.coordinates.shape[1]


@stored("columns")
@frozen
class Columns(Similarity):
    """The features themselves: PCA, whose axes are vectors in feature space; or given kernel values."""

    in_features: ClassVar[bool] = True

    def rows(self, new: Array) -> Array:
        """Return the new points unchanged, an (m, d) array."""
        return new
