"""Monomials of white coordinates as rows: slow feature analysis."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.stages.linear.slowness import monomials, monomials_rounding
from mlcli.stages.similarities.base import Similarity


@stored("monomials", means="d", into="dr")
@frozen
class Monomials(Similarity):
    """White coordinates and, with degree 2, products of two of them: slow feature analysis."""

    means: Array  # d
    into: Array  # d x r
    degree: int

    def rows(self, new: Array) -> Array:
        """Return the monomials of new points (m x r, or m x r (r + 3) / 2)."""
        return monomials((new - self.means) @ self.into, self.degree)

    def width(self, given: int) -> int:
        """Return the number of monomials."""
        rank = self.into.shape[1]
        return rank if self.degree == 1 else rank * (rank + 3) // 2

    def rounding(self, new: Array) -> Array:
        """Return errors of the monomials of an (m, d) array, from the rounding of the white coordinates."""
        wrong = EPS * new.shape[1] * (np.abs(new) + np.abs(self.means)) @ np.abs(self.into)
        return monomials_rounding((new - self.means) @ self.into, wrong, self.degree)
