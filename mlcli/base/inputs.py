"""What a method may be given: made by `data`, taken by `methods`."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar, Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.scaling import Unit
from mlcli.base.types import Array, Indices


@frozen
class Given:
    """The base of all inputs: named rows of finite numbers, `values` in a power of `unit`."""

    kind: ClassVar[str]
    power: ClassVar[int] = 1  # of the unit, that the values carry
    needs: ClassVar[str] = ""  # what an input must have besides its kind, and the flag that gives it
    values: Array
    ids: Sequence[str]  # n
    unit: Unit = field(default=Unit(), kw_only=True)  # of lengths

    @classmethod
    def described(cls) -> str:
        """The kind, what else it must have, and the flag that gives it."""
        needs, _, flag = cls.needs.partition("; give ")
        return f"{cls.kind} with {needs} (`{flag}`)" if needs else cls.kind

    @property
    def units(self) -> tuple[Unit, ...]:
        """The unit of each view."""
        return (self.unit,)

    @property
    def value_unit(self) -> Unit:
        """The unit of the values."""
        return self.unit**self.power

    def normalized(self, reach: int = 0) -> Self:
        """The same data with its largest size in [0.25, 1), in another unit: squares cannot overflow.

        Data of a size between 2**-reach and 2**reach stays as it is, and is not copied.
        """
        factor = Unit.of(self.values, power=self.power) ** self.power
        return self if factor.within(reach) else self.over(factor)

    def over(self, factor: Unit) -> Self:
        """The same data with values smaller by a factor, in a unit that is larger."""
        return replace(self, values=factor.measured(self.values), unit=self.unit * self.length_unit(factor))

    def length_unit(self, factor: Unit) -> Unit:
        """What lengths are measured in where the values are measured in this."""
        return factor.root(self.power)

    def plain_rows(self, rows: Array, power: int) -> Array:
        """What numbers with a row for each column stand for, in this power of the columns' unit."""
        return (self.unit**power).plain(rows)


@frozen
class Features(Given):
    """Points as rows of coordinates (n x d); NaN where a cell is missing, for the methods that model those."""

    kind: ClassVar[str] = "features"
    columns: Sequence[str] = ()  # d
    categories: Sequence[int] = field(default=(), kw_only=True)  # columns whose numbers stand for texts

    def take(self, rows: Indices) -> Self:
        """Some of the points."""
        return replace(self, values=self.values[rows], ids=[self.ids[i] for i in rows])


@frozen
class Labeled(Features):
    """Points with the class that each belongs to: the first label column."""

    needs: ClassVar[str] = "a label column; give --label-column"
    labels: Sequence[str] = ()  # n

    def take(self, rows: Indices) -> Self:
        """Some of the points."""
        return replace(super().take(rows), labels=[self.labels[i] for i in rows])


@frozen
class TwoViews(Features):
    """Points seen twice, as rows of two tables (n x d and n x e), each with units of its own."""

    needs: ClassVar[str] = "a second view of the same rows; give --view"
    view: Features = Features(np.zeros((0, 0)), ())

    def take(self, rows: Indices) -> Self:
        """Some of the points."""
        return replace(super().take(rows), view=self.view.take(rows))

    def normalized(self, reach: int = 0) -> Self:
        """The same data with each view's largest size in [0.5, 2), a power of two of its own apart."""
        return replace(super().normalized(reach), view=self.view.normalized(reach))

    @property
    def units(self) -> tuple[Unit, ...]:
        """The unit of each view."""
        return (self.unit, self.view.unit)

    def plain_rows(self, rows: Array, power: int) -> Array:
        """The same of the first view's columns, then of the second's."""
        first = self.values.shape[1]
        return np.vstack([super().plain_rows(rows[:first], power), self.view.plain_rows(rows[first:], power)])


@frozen
class Dissimilarities(Given):
    """How far apart every two points are (n x n): symmetric, zero on the diagonal, nowhere negative."""

    kind: ClassVar[str] = "dissimilarities"

    def take(self, rows: Indices) -> "Dissimilarities":
        """Some of the points."""
        return replace(self, values=self.values[np.ix_(rows, rows)], ids=[self.ids[i] for i in rows])


@frozen
class Similarities(Given):
    """A kernel given as a matrix (n x n): how similar every two points are, symmetric."""

    kind: ClassVar[str] = "kernel"
    power: ClassVar[int] = 2  # a kernel holds squares


@frozen
class Covariance(Given):
    """How columns vary together (d x d), a covariance or correlation matrix: no points, so no rows to embed."""

    kind: ClassVar[str] = "covariance"
    power: ClassVar[int] = 2  # covariances are squares
    observations: int | None = None  # that the matrix was computed from

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns (d), which are those of the rows."""
        return self.ids


Input = Features | Dissimilarities | Similarities | Covariance
Spatial = Features | Dissimilarities  # what has distances
