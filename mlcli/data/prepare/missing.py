"""What to do with cells that hold no finite number: refuse, drop the rows, fill in means, or leave to a model."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.scaling import all_finite
from mlcli.data.options.wording import counted, listed, place
from mlcli.data.prepare.scales import exponents, means, times_power
from mlcli.data.table.cells import refuse_nonfinite
from mlcli.data.table.table import Table
from mlcli.errors import DataError

REMEDY = "correct them, or give {prepare.missing=drop} or mean; or model, with ppca, fa or lgssm"
NEW = "correct them, or place them by a run that was made with {prepare.missing=drop}, mean or model"
NO_FILL = np.zeros(0)


def where_of(table: Table) -> str:
    """The table's file, for messages."""
    return place(table.source.path) if table.source else ""


def refuse(table: Table, remedy: str = REMEDY) -> None:
    """Refuses missing and infinite cells, the first five of them named."""
    refuse_nonfinite(table.values, table.ids, table.columns, where_of(table), remedy)


def kept_rows(table: Table) -> AnyArray:
    """Which rows have a finite number in every column; at least one must."""
    kept: AnyArray = (np.ones(len(table.values), dtype=bool) if all_finite(table.values)
                      else np.all(np.isfinite(table.values), axis=1))
    if not kept.any():
        raise nothing_left(table, len(kept))
    if not kept.all():
        note_dropped([table.ids[row] for row in np.flatnonzero(~kept).tolist()])
    return kept


def nothing_left(table: Table, rows: int) -> DataError:
    """The error of a table in which every row has a gap."""
    return DataError("EMPTY", f"every one of the {counted(rows, 'row')} has a missing or infinite cell",
                     where=where_of(table), hint="leave columns out with {input.columns}, or give "
                                                 "{prepare.missing=mean}")


def note_dropped(ids: Sequence[str]) -> None:
    """Warns of rows that are dropped."""
    note("W-DROPPED", f"{counted(len(ids), 'row')} with missing or infinite cells dropped: {listed(ids)}",
         rows=len(ids))


def reason(values: Array, columns: tuple[str, ...]) -> str:
    """Why a row was dropped: which columns are missing, which infinite."""
    parts = [f"{word}: {listed([columns[column] for column in np.flatnonzero(mask)])}"
             for mask, word in ((np.isnan(values), "missing"), (np.isinf(values), "infinite")) if mask.any()]
    return "; ".join(parts)


def require_some(table: Table) -> AnyArray:
    """Which cells hold a finite number (n x d); raises DataError where a column has none."""
    present = np.isfinite(table.values)
    empty = [table.columns[column] for column in np.flatnonzero(~present.any(axis=0))]
    if empty:
        raise DataError("ALL-MISSING", f"{counted(len(empty), 'column')} without any finite number: {listed(empty)}",
                        where=where_of(table), hint="leave them out with {input.columns}")
    return present


def column_means(table: Table) -> Array:
    """The mean of every column's finite values; raises DataError where there are none."""
    present = require_some(table)
    known = np.where(present, table.values, 0.0)
    exponent = exponents(known)
    return times_power(means(times_power(known, -exponent), present.astype(np.float64)), exponent)


def filled(table: Table, fill: Array) -> Array:
    """The values with every missing or infinite cell replaced by its column's fill."""
    if all_finite(table.values):
        return table.values
    present = np.isfinite(table.values)
    count = int(present.size - np.count_nonzero(present))
    note("W-FILLED", f"{counted(count, 'cell')} missing or infinite, filled with the means of the columns", cells=count)
    return np.where(present, table.values, fill)


def left(table: Table) -> Array:
    """The values with NaN for every missing or infinite cell."""
    if all_finite(table.values):
        return table.values
    present = np.isfinite(table.values)
    count = int(present.size - np.count_nonzero(present))
    note("N-MODELED", f"{counted(count, 'cell')} missing or infinite, left to the model", cells=count)
    return np.where(present, table.values, np.nan)
