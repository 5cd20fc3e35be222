"""Cells without a finite number in rows that are read a few at a time: counted, and the first of them named."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices

LISTED = 5  # cells named in messages


@frozen
class Gaps:
    """Cells without a finite number."""

    rows: Indices  # that have any
    missing: int = 0  # how many cells are not a number
    infinite: int = 0
    first: tuple[tuple[int, int, bool], ...] = ()  # some cells by row and column, and whether they are infinite
    present: AnyArray | int = 0  # finite cells of each column, in the rows that have gaps (d)
    sums: Array | float = 0.0  # what these add to the sums about the shift (d)

    def __add__(self, other: "Gaps") -> "Gaps":
        first = [*self.first, *other.first]
        kept = [cell for infinite in (False, True) for cell in [c for c in first if c[2] == infinite][:LISTED]]
        with np.errstate(over="ignore", invalid="ignore"):
            return Gaps(np.concatenate([self.rows, other.rows]), self.missing + other.missing,
                        self.infinite + other.infinite, tuple(kept), self.present + other.present,
                        self.sums + other.sums)

    @classmethod
    def of(cls, first: int, rows: Array, shift: Array) -> "Gaps":
        """Return the gaps of `rows`, an (m, d) array whose first row has number `first`; sums are about `shift` (d)."""
        finite = np.isfinite(rows)
        where = np.flatnonzero(~finite.all(axis=1))
        some, there = rows[where], finite[where]
        cells: list[tuple[int, int, bool]] = []
        for infinite, mask in ((False, np.isnan(some)), (True, np.isinf(some))):
            cells += [(first + int(where[row]), int(column), infinite) for row, column in np.argwhere(mask)[:LISTED]]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            sums = np.where(there, some - shift, 0.0).sum(axis=0)
        return cls(first + where, int(np.isnan(some).sum()), int(np.isinf(some).sum()), tuple(cells),
                   there.sum(axis=0), sums)


NO_GAPS = Gaps(np.zeros(0, dtype=np.int64))
