"""What a method may be given: made by `data`, taken by `methods`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from mlcli.base.scaling import exponent_of, scaled
from mlcli.base.types import Array, Indices


@dataclass(frozen=True)
class Given:
    """What all inputs share: named rows of finite numbers, 2**exponent times `values`."""

    kind: ClassVar[str]
    values: Array
    ids: Sequence[str]  # n
    exponent: int = field(default=0, kw_only=True)

    def normalized(self, reach: int = 0) -> Self:
        """The same data with its largest size in [0.5, 2), a power of two apart: squares cannot overflow.

        Data whose exponent is within `reach` of zero stays as it is, and is not copied.
        """
        exponent = self._exponent()
        if abs(exponent) <= reach:
            return self
        return replace(self, values=scaled(self.values, -exponent), exponent=self.exponent + exponent)

    def _exponent(self) -> int:
        return exponent_of(self.values)


@dataclass(frozen=True)
class Features(Given):
    """Points as rows of coordinates (n x d)."""

    kind: ClassVar[str] = "features"
    columns: Sequence[str] = ()  # d

    def take(self, rows: Indices) -> "Features":
        """Some of the points."""
        return replace(self, values=self.values[rows], ids=[self.ids[i] for i in rows])


@dataclass(frozen=True)
class Dissimilarities(Given):
    """How far apart every two points are (n x n): symmetric, zero on the diagonal, nowhere negative."""

    kind: ClassVar[str] = "dissimilarities"

    def take(self, rows: Indices) -> "Dissimilarities":
        """Some of the points."""
        return replace(self, values=self.values[np.ix_(rows, rows)], ids=[self.ids[i] for i in rows])


@dataclass(frozen=True)
class Similarities(Given):
    """A kernel given as a matrix (n x n): how similar every two points are, symmetric."""

    kind: ClassVar[str] = "kernel"

    def _exponent(self) -> int:
        exponent = exponent_of(self.values)
        return exponent + exponent % 2  # even, so that its root is a power of two as well


Input = Features | Dissimilarities | Similarities
