"""The kinds of input of a method: `data` makes them, `methods` take them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array, Indices
from mlcli.base.values.column_groups import ColumnGroup
from mlcli.base.values.metric import RowMetric
from mlcli.base.values.scaling import Unit, largest_of
from mlcli.errors import DataError, with_paths

TextColumns = Literal["", "named", "all"]  # the columns of text that are categories: none, those named, all
# of a column of text with as many categories as ids have
LEAVE_OUT = "leave it out with {input.columns}, or name it by {input.id_column} or {input.label_columns}"
NO_CATEGORIES: Mapping[int, Sequence[str]] = MappingProxyType({})
DWARFED = 40  # power of two by which a constant column may exceed all others and leave them enough digits


@frozen
class Given:
    """The base of all inputs: named rows of finite numbers, `values` in a power of `unit`."""

    kind: ClassVar[str]
    power: ClassVar[int] = 1  # of the unit, that the values carry
    apart: ClassVar[bool] = True  # whether it says how far apart points are
    needs: ClassVar[str] = ""  # what an input must have besides its kind, and the flag that gives it
    values: Array
    ids: Sequence[str]  # n
    unit: Unit = field(default=Unit(), kw_only=True)  # of lengths

    @classmethod
    def description(cls) -> str:
        """Return the kind, with further needs and the flag for them."""
        needs, _, flag = cls.needs.partition("; give ")
        return f"{cls.kind} with {needs} (`{flag}`)" if needs else cls.kind

    @property
    def units(self) -> tuple[Unit, ...]:
        """The unit of each view."""
        return (self.unit,)

    def labels_at(self, rows: Indices) -> list[list[str]]:
        """Return each of the labels that a method uses of the points at `rows` (m); none where it uses none."""
        return []

    @property
    def value_unit(self) -> Unit:
        """The unit of the values."""
        return self.unit**self.power

    @property
    def number_unit(self) -> Unit:
        """The unit of the numbers that a run may keep of the data: lengths, or affinities of edges."""
        return self.unit

    def normalized(self, reach: int = 0) -> Self:
        """Return the data in a unit that brings its largest size to [0.25, 1): squares cannot overflow.

        Data with a size between 2**-reach and 2**reach is returned as it is, without a copy.
        """
        factor = self._unit_of_numbers
        return self if factor.within(reach) else self.over(factor)

    def held_once(self, reach: int) -> bool:
        """Whether a fit holds the numbers once, as `normalized` makes no copy of them, and has made none."""
        return self.unit == Unit() and self._unit_of_numbers.within(reach)

    @property
    def _unit_of_numbers(self) -> Unit:
        """The power of the unit that brings the largest size to [0.25, 1)."""
        return Unit.of(self.numbers, power=self.power) ** self.power

    def require_scales(self) -> None:
        """Raise DataError for numbers that cannot share a unit."""

    def over(self, factor: Unit) -> Self:
        """Return the data with numbers divided by a factor, and the unit multiplied accordingly."""
        return replace(self, values=factor.measured(self.values), unit=self.unit * self.length_unit(factor))

    def length_unit(self, factor: Unit) -> Unit:
        """Return the unit of lengths, given a unit of values."""
        return factor.root(self.power)

    @property
    def numbers(self) -> Array:
        """The numbers that are in the unit."""
        return self.values

    @property
    def points(self) -> Array | None:
        """The points, where they have coordinates (n x d)."""
        return None

    @property
    def bytes(self) -> int:
        """Bytes of its numbers."""
        return self.values.nbytes

    def plain_rows(self, rows: Array, power: int) -> Array:
        """Convert rows (d x q), one for each column, from this power of the columns' unit to plain numbers (d x q)."""
        return (self.unit**power).plain(rows)


@frozen
class Features(Given):
    """Points as rows of coordinates (n x d); NaN where a cell is missing, for methods that model missing cells.

    Under a metric, lengths carry its power of the values' unit.
    """

    kind: ClassVar[str] = "features"
    columns: Sequence[str] = ()  # d
    # the columns whose numbers stand for texts, each with the texts in the order of its numbers from 0
    categories: Mapping[int, Sequence[str]] = field(default_factory=dict, kw_only=True)
    # of files side by side in one table, the columns of each
    tables: Sequence[ColumnGroup] = field(default=(), kw_only=True)
    metric: RowMetric | None = field(default=None, kw_only=True)  # Euclidean where None
    unit_under_metric: Unit = field(default=Unit(), kw_only=True)  # of the values, where there is a metric

    @property
    def points(self) -> Array:
        """The values."""
        return self.values

    @property
    def value_unit(self) -> Unit:
        """The unit of the values."""
        return self.unit if self.metric is None else self.unit_under_metric

    def normalized(self, reach: int = 0) -> Self:
        """Return the points with their largest size in [0.25, 1), where the metric allows scaling."""
        return super().normalized(reach) if self.metric is None or self.metric.scalable else self

    def over(self, factor: Unit) -> Self:
        """Return the points with values divided by a factor, and the units multiplied accordingly."""
        moved = super().over(factor)
        return moved if self.metric is None else replace(moved, unit_under_metric=self.unit_under_metric * factor)

    def length_unit(self, factor: Unit) -> Unit:
        """Return the unit of lengths, given a unit of values."""
        return factor if self.metric is None else factor**self.metric.unit_power

    def plain_rows(self, rows: Array, power: int) -> Array:
        """Convert rows (d x q), one for each column, from this power of the values' unit to plain numbers (d x q)."""
        return (self.value_unit**power).plain(rows)

    def require_scales(self) -> None:
        """Raise DataError for a constant column so large that varying columns would lose their digits."""
        largest, rows = largest_of(self.values), rows_of(self.values)
        if rows is not None:
            high, low = rows.max(axis=0), rows.min(axis=0)
        elif not (self.values.size and largest > 0 and np.any(np.abs(self.values[0]) == largest)):
            return  # the largest column varies
        else:
            high, low = np.fmax.reduce(self.values, axis=0), np.fmin.reduce(self.values, axis=0)
        other = float(np.max(np.maximum(high, -low), where=high > low, initial=0.0))
        if 0 < other < np.ldexp(largest, -DWARFED):
            column = int(np.argmax(np.maximum(high, -low)))
            raise DataError("COLUMN-SCALES", f"a constant column is more than 2**{DWARFED} times larger than the "
                            "columns that vary: rounding leaves too few digits",
                            where=f"column {column + 1} of the data",
                            hint="make it zero with {prepare.scale=center}, or leave it out with {input.columns}")

    def take(self, rows: Indices) -> Self:
        """Return the points at `rows`, an (m,) array of indices."""
        return replace(self, values=self.values[rows], ids=[self.ids[i] for i in rows])


@frozen
class Labeled(Features):
    """Points with their classes, from the first label column."""

    needs: ClassVar[str] = "a label column; give {input.label_columns}"
    labels: Sequence[str] = ()  # n

    def labels_at(self, rows: Indices) -> list[list[str]]:
        """Return the classes of the points at `rows` (m)."""
        return [[self.labels[i] for i in rows]]

    def take(self, rows: Indices) -> Self:
        """Return the points at `rows`, an (m,) array of indices."""
        return replace(super().take(rows), labels=[self.labels[i] for i in rows])


@frozen
class CrossLabeled(Labeled):
    """Points with the first two label columns: `labels` are the styles, and the second ones the contents."""

    needs: ClassVar[str] = "two label columns, of styles and of contents; give {input.label_columns} twice"
    contents: Sequence[str] = ()  # n

    def labels_at(self, rows: Indices) -> list[list[str]]:
        """Return the styles and the contents of the points at `rows` (m)."""
        return [*super().labels_at(rows), [self.contents[i] for i in rows]]

    def take(self, rows: Indices) -> Self:
        """Return the points at `rows`, an (m,) array of indices."""
        return replace(super().take(rows), contents=[self.contents[i] for i in rows])


@contextmanager
def errors_of_view(number: int) -> Iterator[None]:
    """Name a view, by its number from 1, in errors about columns, with the option that leaves some of its columns out.
    """
    try:
        yield
    except DataError as error:
        columns = {1: "input.columns", 2: "input.view.columns"}.get(number, "input.view.further")
        raise error.changed(where=error.where.replace("of the data", f"of view {number}"),
                            hint=with_paths(error.hint, {"input.columns": columns})) from error


@frozen
class Viewed(Given):
    """The base of inputs with a second view of the same points, a table (n x e) with a unit of its own.

    The second has a view itself where there are three, and so on.
    """

    needs: ClassVar[str] = "a second view of the same rows; give {input.view.path}"
    view: Features = Features(np.zeros((0, 0)), ())

    def take(self, rows: Indices) -> Self:
        """Return the points at `rows`, an (m,) array of indices."""
        return replace(super().take(rows), view=self.view.take(rows))  # type: ignore[misc]

    def normalized(self, reach: int = 0) -> Self:
        """Return the data with each view in a unit of its own that brings its largest size to [0.5, 1)."""
        return replace(super().normalized(reach), view=self.view.normalized(reach))

    def require_scales(self) -> None:
        """Raise DataError for a view whose numbers cannot share a unit."""
        with errors_of_view(1):
            super().require_scales()
        for number, view in enumerate(self.views[1:], start=2):
            with errors_of_view(number):
                Features.require_scales(view)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The unit of each view."""
        return (self.unit, *self.view.units)

    @property
    def views(self) -> tuple[Any, ...]:
        """The views in their order; only the numbers of each are its own. All but the first are features."""
        return (self, *(self.view.views if isinstance(self.view, TwoViews) else (self.view,)))


@frozen
class TwoViews(Viewed, Features):
    """Two views of the same points, as rows of two tables (n x d and n x e), each with a unit of its own."""

    def plain_rows(self, rows: Array, power: int) -> Array:
        """Convert rows of the first view's columns, then of the others' ((d + e) x q), to plain numbers."""
        first = self.values.shape[1]
        return np.vstack([super().plain_rows(rows[:first], power), self.view.plain_rows(rows[first:], power)])


@frozen
class Dissimilarities(Given):
    """Dissimilarities of all pairs of points (n x n): symmetric, zero on the diagonal, nowhere negative."""

    kind: ClassVar[str] = "dissimilarities"

    def take(self, rows: Indices) -> Self:
        """Return the points at `rows`, an (m,) array of indices."""
        return replace(self, values=self.values[np.ix_(rows, rows)], ids=[self.ids[i] for i in rows])


@frozen
class ViewedDissimilarities(Viewed, Dissimilarities):
    """Dissimilarities of all pairs of points, with a second view of these, a table (n x e)."""

    names: tuple[str, ...] = field(default=(), kw_only=True)  # of the views, by their files; none: by their numbers

    @property
    def view_names(self) -> tuple[str, ...]:
        """The name of each view."""
        return self.names or tuple(f"table {number}" for number in range(1, len(self.views) + 1))


@frozen
class Similarities(Given):
    """A kernel as a symmetric matrix (n x n): similarities of all pairs of points."""

    kind: ClassVar[str] = "kernel"
    power: ClassVar[int] = 2  # a kernel holds squares


@frozen
class Covariance(Given):
    """A covariance or correlation matrix of columns (d x d): it has no points, so no rows to embed."""

    kind: ClassVar[str] = "covariance"
    power: ClassVar[int] = 2  # covariances are squares
    apart: ClassVar[bool] = False
    observations: int | None = None  # number of rows that the matrix was computed from

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns (d), which are those of the rows."""
        return self.ids


@frozen
class WeightedGraph(Given):
    """A graph of points without coordinates (`values` is n x 0).

    The edges are in compressed rows, each in both directions, with a number of zero or more for each.
    """

    kind: ClassVar[str] = "graph"
    starts: Indices  # n + 1
    indices: Indices
    weights: Array

    def take(self, rows: Indices) -> Self:
        """Return the points at `rows`, an (m,) array of indices, and the edges between them."""
        place, left = np.full(len(self.values), -1), np.repeat(np.arange(len(self.values)), np.diff(self.starts))
        place[rows] = np.arange(len(rows))
        left, right = place[left], place[self.indices]
        inside = np.flatnonzero((left >= 0) & (right >= 0))
        inside = inside[np.lexsort((right[inside], left[inside]))]
        starts = np.concatenate([[0], np.cumsum(np.bincount(left[inside], minlength=len(rows)))])
        return replace(self, values=self.values[rows], ids=[self.ids[i] for i in rows], starts=starts,
                       indices=right[inside], weights=self.weights[inside])

    def over(self, factor: Unit) -> Self:
        """Return the graph with weights divided by a factor, and the unit multiplied accordingly."""
        return replace(self, weights=factor.measured(self.weights), unit=self.unit * self.length_unit(factor))

    @property
    def numbers(self) -> Array:
        """The weights of the edges."""
        return self.weights

    @property
    def bytes(self) -> int:
        """Bytes of its edges."""
        return self.starts.nbytes + self.indices.nbytes + self.weights.nbytes


@frozen
class LengthGraph(WeightedGraph):
    """A graph whose edges have lengths; a zero length is an edge."""

    needs: ClassVar[str] = "lengths of the edges; give {input.edges=lengths}"


@frozen
class AffinityGraph(WeightedGraph):
    """A graph whose edges have affinities, above zero."""

    power: ClassVar[int] = 2  # their inverses are squares of distances
    apart: ClassVar[bool] = False
    needs: ClassVar[str] = "affinities of the edges; give {input.edges=affinities}"

    @property
    def number_unit(self) -> Unit:
        """The unit of affinities."""
        return self.value_unit


Input = Features | Dissimilarities | Similarities | Covariance | WeightedGraph
Spatial = Features | Dissimilarities  # inputs with distances
Joined = Spatial | WeightedGraph  # inputs with a neighbor graph
