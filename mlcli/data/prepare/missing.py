"""Policies for cells without a finite number: error, drop the rows, fill in means, or leave them to a model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.naming import listed
from mlcli.base.values.scaling import all_finite
from mlcli.data.options.texts import questionnaire
from mlcli.data.options.wording import counted, place
from mlcli.data.prepare.scales import exponents, means, times_power
from mlcli.data.table.cells import refuse_nonfinite
from mlcli.data.table.table import Table
from mlcli.errors import DataError

REMEDY = "correct them, or give {prepare.missing=drop} or mean; or model, with ppca, fa, lgssm, mfa, famd or statis"
WITH_CATEGORIES = "correct them, or give {prepare.missing=drop} or, with mfa, famd or statis, model"  # texts: no mean
MODELS = ("ppca", "fa", "lgssm", "mfa", "famd", "statis")  # methods that model missing cells of the rows of their fit
NEW = "correct them, or place them by a run that was made with {prepare.missing=drop}, mean or model"
NO_FILL = np.zeros(0)


@frozen
class Dropped:
    """A dropped row, and the reason."""

    id: str
    row: int  # in the file's data, from 1
    reason: str


def dropped_row(table: Table, row: int, reason: str) -> Dropped:
    """Return a dropped row of a table, by its number in the file."""
    return Dropped(table.ids[row], table.place(row) + 1, reason)


def where_of(table: Table) -> str:
    """Return the table's file, for messages."""
    return place(table.source.path) if table.source else ""


def refuse(table: Table, remedy: str = REMEDY) -> None:
    """Raise DataError for missing and infinite cells, with the first five.

    Where most columns are answers in words, which are not analyzed, the hint proposes to code them.
    """
    if remedy == REMEDY and table.categories:
        remedy = WITH_CATEGORIES
    elif remedy == REMEDY and len(table.labels) > len(table.columns) and not all_finite(table.values):
        scale, items = questionnaire(table.labels, len(table.columns))
        remedy = f"are the columns of text answers? {scale} gives them numbers; {REMEDY}" if items else REMEDY
    refuse_nonfinite(table.values, table.ids, table.columns, where_of(table), remedy, table.numbers)


def complete_rows(table: Table) -> AnyArray:
    """Return flags of the rows with a finite number in every column; raises DataError if there are none."""
    kept = finite_rows(table.values)
    if not kept.any():
        raise no_complete_row(table, len(kept))
    if not kept.all():
        note_dropped([table.ids[row] for row in np.flatnonzero(~kept).tolist()])
    return kept


def finite_rows(values: Array) -> AnyArray:
    """Return flags (n) of the rows of an (n, d) array with a finite number in every column."""
    return np.ones(len(values), dtype=bool) if all_finite(values) else np.all(np.isfinite(values), axis=1)


def no_complete_row(table: Table, rows: int) -> DataError:
    """Return the error of a table in which every row has a gap."""
    filled = "{prepare.missing=model}, with mfa, famd or statis" if table.categories else "{prepare.missing=mean}"
    return DataError("EMPTY", f"every one of the {counted(rows, 'row')} has a missing or infinite cell",
                     where=where_of(table), hint=f"leave columns out with {{input.columns}}, or give {filled}")


def note_dropped(ids: Sequence[str]) -> None:
    """Warn about dropped rows."""
    note("W-DROPPED", f"{counted(len(ids), 'row')} with missing or infinite cells dropped: {listed(ids)}",
         rows=len(ids))


def warn_of_gaps(ids: Sequence[str], places: Indices, remedy: str) -> None:
    """Warn of rows of a sequence, with ids (m) and ascending places in it (m), between which others were dropped."""
    before = np.flatnonzero(np.diff(places) > 1)
    if len(before):
        note("W-GAPS", "rows are a sequence in equal steps here, and those that were dropped leave "
             f"{counted(len(before), 'gap')} in it, after {listed([ids[row] for row in before.tolist()])}: {remedy}",
             gaps=len(before))


def reason(values: Array, columns: tuple[str, ...]) -> str:
    """Return why a row was dropped: its missing and its infinite columns. `values` is a row, of shape (d,)."""
    parts = [f"{word}: {listed([columns[column] for column in np.flatnonzero(mask)])}"
             for mask, word in ((np.isnan(values), "missing"), (np.isinf(values), "infinite")) if mask.any()]
    return "; ".join(parts)


def require_columns(table: Table) -> AnyArray:
    """Return flags of the cells with a finite number, an (n, d) array; raises DataError for a column without one."""
    present = np.isfinite(table.values)
    empty = [table.columns[column] for column in np.flatnonzero(~present.any(axis=0))]
    if empty:
        raise DataError("ALL-MISSING", f"{counted(len(empty), 'column')} without any finite number: {listed(empty)}",
                        where=where_of(table), hint="leave them out with {input.columns}")
    return present


def column_means(table: Table) -> Array:
    """Return the mean of every column's finite values, a (d,) array; raises DataError for a column without one."""
    present = require_columns(table)
    known = np.where(present, table.values, 0.0)
    exponent = exponents(known)
    return times_power(means(times_power(known, -exponent), present.astype(np.float64)), exponent)


def note_filled(cells: int) -> None:
    """Warn about cells that are filled in."""
    note("W-FILLED", f"{counted(cells, 'cell')} missing or infinite, filled with the means of the columns", cells=cells)


def complete(table: Table, policy: str, fill: Array, remedy: str = REMEDY) -> tuple[Table, tuple[Dropped, ...]]:
    """Apply a policy for missing cells, with `fill`, a (d,) array; return the table and the dropped rows.

    Of the policy `model`, infinite cells become missing ones (NaN).
    """
    if policy == "error":
        refuse(table, remedy)
        return table, ()
    if policy in ("mean", "model"):
        if all_finite(table.values):
            return table, ()
        present = np.isfinite(table.values)
        cells = int(present.size - np.count_nonzero(present))
        if policy == "mean":
            note_filled(cells)
        else:
            note("N-MODELED", f"{counted(cells, 'cell')} missing or infinite, modeled by the method", cells=cells)
        return replace(table, values=np.where(present, table.values, fill if policy == "mean" else np.nan)), ()
    kept = complete_rows(table)
    if kept.all():
        return table, ()
    gaps = tuple(dropped_row(table, row, reason(table.values[row], table.columns))
                 for row in np.flatnonzero(~kept).tolist())
    return table.take(np.flatnonzero(kept)), gaps
