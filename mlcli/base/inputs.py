"""What a method may be given: made by `data`, taken by `methods`."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar, Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.scaling import exponent_of, scaled
from mlcli.base.types import Array, Indices


@frozen
class Given:
    """The base of all inputs: named rows of finite numbers, 2**exponent times `values`."""

    kind: ClassVar[str]
    apart: ClassVar[bool] = True  # whether it says how far apart points are
    needs: ClassVar[str] = ""  # what an input must have besides its kind, and the flag that gives it
    values: Array
    ids: Sequence[str]  # n
    exponent: int = field(default=0, kw_only=True)

    @classmethod
    def described(cls) -> str:
        """The kind, what else it must have, and the flag that gives it."""
        needs, _, flag = cls.needs.partition("; give ")
        return f"{cls.kind} with {needs} (`{flag}`)" if needs else cls.kind

    @property
    def unit(self) -> int:
        """The exponent of what a coordinate of this data carries."""
        return self.exponent

    def normalized(self, reach: int = 0) -> Self:
        """The same data with its largest size in [0.5, 2), a power of two apart: squares cannot overflow.

        Data whose exponent is within `reach` of zero stays as it is, and is not copied.
        """
        exponent = self._exponent()
        if abs(exponent) <= reach:
            return self
        return self.divided(exponent)

    def divided(self, exponent: int) -> Self:
        """The same data in a unit 2**exponent times as large."""
        return replace(self, values=scaled(self.values, -exponent), exponent=self.exponent + exponent)

    @property
    def bytes(self) -> int:
        """The memory that its numbers take."""
        return self.values.nbytes

    def _exponent(self) -> int:
        return exponent_of(self.values)


@frozen
class Features(Given):
    """Points as rows of coordinates (n x d); NaN where a cell is missing, for the methods that model those."""

    kind: ClassVar[str] = "features"
    columns: Sequence[str] = ()  # d

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

    @property
    def unit(self) -> int:
        """Half the exponent: a kernel holds squares."""
        return self.exponent // 2

    def _exponent(self) -> int:
        exponent = exponent_of(self.values)
        return exponent + exponent % 2  # even, so that its root is a power of two as well


@frozen
class Covariance(Given):
    """How columns vary together (d x d), a covariance or correlation matrix: no points, so no rows to embed."""

    kind: ClassVar[str] = "covariance"
    apart: ClassVar[bool] = False
    observations: int | None = None  # that the matrix was computed from

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns (d), which are those of the rows."""
        return self.ids

    @property
    def unit(self) -> int:
        """Half the exponent: covariances are squares."""
        return self.exponent // 2

    def _exponent(self) -> int:
        exponent = exponent_of(self.values)
        return exponent + exponent % 2  # even, as that of a kernel


@frozen
class WeightedGraph(Given):
    """Points that are known by their edges alone: the points have no columns (`values` is n x 0).

    The edges stand in compressed rows, each in both directions, with a number of zero or more for each.
    """

    kind: ClassVar[str] = "graph"
    starts: Indices  # n + 1
    indices: Indices
    weights: Array

    def take(self, rows: Indices) -> Self:
        """Some of the points, and the edges between them."""
        place, left = np.full(len(self.values), -1), np.repeat(np.arange(len(self.values)), np.diff(self.starts))
        place[rows] = np.arange(len(rows))
        left, right = place[left], place[self.indices]
        inside = np.flatnonzero((left >= 0) & (right >= 0))
        inside = inside[np.lexsort((right[inside], left[inside]))]
        starts = np.concatenate([[0], np.cumsum(np.bincount(left[inside], minlength=len(rows)))])
        return replace(self, values=self.values[rows], ids=[self.ids[i] for i in rows], starts=starts,
                       indices=right[inside], weights=self.weights[inside])

    def divided(self, exponent: int) -> Self:
        """The same graph in another unit."""
        return replace(self, weights=scaled(self.weights, -exponent), exponent=self.exponent + exponent)

    @property
    def bytes(self) -> int:
        """The memory that its edges take."""
        return self.starts.nbytes + self.indices.nbytes + self.weights.nbytes

    def _exponent(self) -> int:
        return exponent_of(self.weights)


@frozen
class LengthGraph(WeightedGraph):
    """A graph whose edges have lengths; a zero length is an edge."""

    needs: ClassVar[str] = "lengths of the edges; give --set input.edges=lengths"


@frozen
class AffinityGraph(WeightedGraph):
    """A graph whose edges have affinities, above zero."""

    apart: ClassVar[bool] = False
    needs: ClassVar[str] = "affinities of the edges; give --set input.edges=affinities"


def points_of(data: Given) -> Array | None:
    """The points, where they have coordinates (n x d)."""
    return data.values if isinstance(data, Features) else None


Input = Features | Dissimilarities | Similarities | Covariance | WeightedGraph
