"""Missing and infinite cells: locate, count, report."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.naming import LISTED, shown
from mlcli.base.values.scaling import all_finite, least_of
from mlcli.data.options.wording import counted, joined
from mlcli.errors import DataError

ROWS = 4096  # rows in a block, so that temporary arrays stay small


def named(first: Sequence[tuple[int, int]], total: int, ids: Sequence[str], columns: Sequence[str],
          numbers: Indices | None = None) -> str:
    """Return the first of `total` cells in words, by row id and column; `numbers` are those of all rows in the file."""
    parts = [f"row {row + 1 if numbers is None else numbers[row]} ({shown(ids[row])}), column {shown(columns[column])}"
             for row, column in first]
    return joined(parts, total)


def refuse_nonfinite(values: Array, ids: Sequence[str], columns: Sequence[str], where: str, hint: str,
                     numbers: Indices | None = None) -> None:
    """Raise DataError for missing and infinite cells of an (n, d) array, with the first five.

    `numbers` are those of the rows in their file (n), from 1, where the array has not all of them.
    """
    if all_finite(values):
        return
    masks = np.isnan(values), np.isinf(values)
    first = [(row, column, bool(infinite)) for infinite, mask in enumerate(masks)
             for row, column in np.argwhere(mask)[:LISTED].tolist()]
    missing, infinite = (int(np.count_nonzero(mask)) for mask in masks)
    refuse_gaps(first, (missing, infinite), ids, columns, where, hint, numbers)


def refuse_gaps(first: Sequence[tuple[int, int, bool]], totals: tuple[int, int], ids: Sequence[str],
                 columns: Sequence[str], where: str, hint: str, numbers: Indices | None = None) -> None:
    """Raise DataError for missing cells and infinite ones, with their numbers `totals`.

    `first` are the first ones by row and column, and whether they are infinite.
    """
    parts = [f"{counted(total, 'cell')} {word}: "
             + named([(row, column) for row, column, kind in first if kind == infinite], total, ids, columns,
                     numbers)
             for infinite, (total, word) in enumerate(zip(totals, ("missing", "infinite"), strict=True)) if total]
    raise DataError("MISSING" if totals[0] else "INFINITE", "; ".join(parts), where=where, hint=hint)


def warn_of_underflow(cells: int) -> None:
    """Warn about numbers too small for double precision."""
    if cells:
        note("W-UNDERFLOW", f"{counted(cells, 'number')} too small for double precision read as 0", cells=cells)


def warn_of_rounding(names: Sequence[str]) -> None:
    """Warn about columns of integers that lost digits."""
    if names:
        note("W-INT-PRECISION", f"integers above 2**53 were rounded in {counted(len(names), 'column')}",
             columns=list(names[:100]))


def refuse_negative(values: Array, ids: Sequence[str], columns: Sequence[str], where: str) -> None:
    """Raise DataError for dissimilarities below zero in an (m, n) array."""
    if least_of(values) < 0:
        mask = values < 0
        count = int(np.count_nonzero(mask))
        raise DataError("NEGATIVE", f"{counted(count, 'cell')} below zero: "
                        + named(np.argwhere(mask)[:LISTED].tolist(), count, ids, columns), where=where, kind="kernel",
                        hint="dissimilarities are zero or more; similarities are {input.kind=kernel}")
