"""The weights of non-negative parts in a row as its similarities: those of least squares, or of least divergence."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.errors import DataError
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.linear.nonnegative import Objective
from mlcli.stages.linear.nonnegative_rows import RIDGE, place_rows
from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.decoders import Affine
from mlcli.stages.similarities.projector import Projector


@stored("part-weights", factor="cd")
@frozen
class PartWeights(Similarity):
    """The weights w ≥ 0 for which w H is nearest to a row."""

    keeps_distances: ClassVar[bool] = False
    objective: Objective
    factor: Array  # H, one part in each row

    def rows(self, new: Array) -> Array:
        """Return the weights (m x p) of new points (m x d); raises DataError for a negative cell."""
        require_nonnegative(new)
        return place_rows(self.objective, new, self.factor)

    def width(self, given: int) -> int:
        """Return the number of parts; 0 where the parts have another number of columns."""
        return len(self.factor) if self.factor.shape[1] == given else 0

    def check(self, new: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Raise DataError for the first negative cell of new points (m x d)."""
        require_nonnegative(new, ids, columns)

    def rounding(self, new: Array) -> Array | float:
        """Return the errors of the weights of new points (m x d), larger where parts nearly depend on each other."""
        lengths = np.linalg.norm(self.factor, axis=1)
        units = self.factor[lengths > 0] / lengths[lengths > 0, None]
        least = float(np.linalg.eigvalsh(units @ units.T).min(initial=1.0))
        return 64 * EPS * float(np.abs(new).sum(axis=1).max(initial=0.0)) / max(least, RIDGE)


def require_nonnegative(points: Array, ids: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """Raise DataError for the first negative cell of points (n x d), by row and column, and their names where known."""
    if points.size and float(points.min()) < 0:
        row, column = np.argwhere(points < 0)[0].tolist()
        named = repr(columns[column]) if len(columns) else f"{column + 1}"
        raise DataError("NEGATIVE", f"column {named}: nmf takes numbers of zero or more, not {points[row, column]:g}",
                        hint="correct the cell, leave the column out with {input.columns}, or do not center columns "
                        "({prepare.scale=none})", row=row, name=repr(ids[row]) if len(ids) else "")


def weights_projector(objective: Objective, parts: Array) -> Projector:
    """Return the projector by the weights of parts (p x d), and back by their sums."""
    count, columns = parts.shape
    return Projector(PartWeights(objective, parts), uncentered(count), np.eye(count),
                     Affine(np.zeros(columns), parts.T))
