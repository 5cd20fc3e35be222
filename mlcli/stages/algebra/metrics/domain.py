"""Checks of a metric's domain. Errors name the row, its id, the column and a remedy."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.errors import DataError

CONSTANT = 8 * np.finfo(np.float64).eps  # of a row's largest number: variation as small as this is rounding
FIRST = 256  # rows that are compared before all others: most often they differ


@frozen
class Domain:
    """Points with their names, and the metric whose domain they are checked for."""

    metric: str
    points: Array  # n x d, finite
    ids: Sequence[str]  # n
    columns: Sequence[str]  # d

    def require_cells(self, inside: AnyArray, numbers: str, remedy: str) -> None:
        """Raise DataError for the first cell that is not `inside`, an (n, d) array of booleans."""
        if not inside.all():
            row, column = np.argwhere(~inside)[0].tolist()
            raise self._refused(row, f"column {self.columns[column]!r}: {self.metric} is defined for numbers "
                                f"{numbers}, not {self.points[row, column]:g}", remedy)

    def require_amounts(self) -> None:
        """Raise DataError for numbers below zero, and for rows of zeros."""
        self.require_nonnegative()
        self.require_nonzero()

    def require_nonnegative(self) -> None:
        """Raise DataError for numbers below zero."""
        self.require_cells(self.points >= 0, "of zero or more",
                           "correct the cell, or choose euclidean or cityblock, which take all numbers")

    def require_nonzero(self) -> None:
        """Raise DataError for rows of zeros."""
        self.require_rows(np.asarray(self.points.any(axis=1)), "a row of zeros",
                          "leave the row out, or choose euclidean or cityblock")

    def require_varying(self) -> None:
        """Raise DataError for rows whose numbers are all equal but for rounding."""
        size = np.abs(self.points).max(axis=1, initial=0.0)
        with np.errstate(over="ignore"):
            range_ = self.points.max(axis=1, initial=-np.inf) - self.points.min(axis=1, initial=np.inf)
        self.require_rows(range_ > CONSTANT * size, "a row without variation",
                          "leave the row out, or choose cosine or euclidean")

    def require_rows(self, inside: AnyArray, what: str, remedy: str) -> None:
        """Raise DataError for the first row that is not `inside`, an (n,) array of booleans."""
        if not inside.all():
            raise self._refused(int(np.flatnonzero(~inside)[0]), f"{self.metric} is not defined for {what}", remedy)

    def _refused(self, row: int, what: str, remedy: str) -> DataError:
        return DataError("METRIC", what, where="method.metric", hint=remedy, row=row, name=repr(self.ids[row]))
