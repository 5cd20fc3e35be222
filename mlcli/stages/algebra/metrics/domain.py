"""Which numbers a metric is defined for: refused with the row, its id, the column and what to do."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.errors import DataError

CONSTANT = 8 * np.finfo(np.float64).eps  # of a row's largest number: variation as small as this is rounding
FIRST = 256  # rows that are compared before all are: most often they differ


@frozen
class Domain:
    """Points by their names, and the metric that they are checked for."""

    metric: str
    points: Array  # n x d, finite
    ids: Sequence[str]  # n
    columns: Sequence[str]  # d

    def require_cells(self, inside: AnyArray, numbers: str, remedy: str) -> None:
        """Refuses the first cell that is not inside (n x d)."""
        if not inside.all():
            row, column = np.argwhere(~inside)[0].tolist()
            raise self._refused(row, f"column {self.columns[column]!r}: {self.metric} is defined for numbers "
                                f"{numbers}, not {self.points[row, column]:g}", remedy)

    def require_amounts(self) -> None:
        """Refuses numbers below zero, and rows of zeros."""
        self.require_cells(self.points >= 0, "of zero or more",
                           "correct the cell, or choose euclidean or cityblock, which take all numbers")
        self.require_nonzero()

    def require_nonzero(self) -> None:
        """Refuses rows of zeros."""
        self.require_rows(np.asarray(self.points.any(axis=1)), "a row of zeros",
                          "leave the row out, or choose euclidean or cityblock")

    def require_varying(self) -> None:
        """Refuses rows whose numbers are all equal."""
        size = np.abs(self.points).max(axis=1, initial=0.0)
        with np.errstate(over="ignore"):
            range_ = self.points.max(axis=1, initial=-np.inf) - self.points.min(axis=1, initial=np.inf)
        self.require_rows(range_ > CONSTANT * size, "a row without variation",
                          "leave the row out, or choose cosine or euclidean")

    def require_rows(self, inside: AnyArray, what: str, remedy: str) -> None:
        """Refuses the first row that is not inside (n)."""
        if not inside.all():
            raise self._refused(int(np.flatnonzero(~inside)[0]), f"{self.metric} is not defined for {what}", remedy)

    def _refused(self, row: int, what: str, remedy: str) -> DataError:
        return DataError("METRIC", what, where="method.metric", hint=remedy, row=row, name=repr(self.ids[row]))
