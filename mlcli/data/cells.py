"""Cells that hold no finite number: found, counted and named."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.scaling import all_finite
from mlcli.base.stage import note
from mlcli.base.types import AnyArray, Array
from mlcli.data.wording import LISTED, counted, joined, shown
from mlcli.errors import DataError

ROWS = 4096  # rows examined together, so that temporary arrays stay small


def positions(mask: AnyArray, ids: Sequence[str], columns: Sequence[str]) -> str:
    """The first five places of a mask by row id and column, and how many more there are."""
    first = np.argwhere(mask)[:LISTED]
    parts = [f"row {row + 1} ({shown(ids[row])}), column {shown(columns[column])}" for row, column in first]
    return joined(parts, int(np.count_nonzero(mask)))


def refuse_nonfinite(values: Array, ids: Sequence[str], columns: Sequence[str], where: str, hint: str) -> None:
    """Refuses missing and infinite cells, the first five of them named; raises DataError."""
    if all_finite(values):
        return
    missing, infinite = np.isnan(values), np.isinf(values)
    parts = [f"{counted(int(np.count_nonzero(mask)), 'cell')} {word}: {positions(mask, ids, columns)}"
             for mask, word in ((missing, "missing"), (infinite, "infinite")) if mask.any()]
    raise DataError("MISSING" if missing.any() else "INFINITE", "; ".join(parts), where=where, hint=hint)


def warn_of_underflow(cells: int) -> None:
    """Notes numbers too small for double precision."""
    if cells:
        note("W-UNDERFLOW", f"{counted(cells, 'number')} too small for double precision read as 0", cells=cells)


def refuse_negative(values: Array, ids: Sequence[str], columns: Sequence[str], where: str) -> None:
    """Refuses dissimilarities below zero; raises DataError."""
    if values.min(initial=0.0) < 0:
        mask = values < 0
        raise DataError("NEGATIVE", f"{counted(int(np.count_nonzero(mask)), 'cell')} below zero: "
                        + positions(mask, ids, columns), where=where,
                        hint="dissimilarities are zero or more; similarities are --kind kernel")
