"""Some of a table's rows: those that fulfill conditions, and of these a seeded sample, in the order of the file."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.rows.source import Rows, as_array, rows_of
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Indices
from mlcli.base.values.compute import Compute
from mlcli.data.options.conditions import WHERE, condition
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, listed, nearest, place
from mlcli.data.read.block_file import SMALL
from mlcli.data.read.blocks import passed_over
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.sheet import FEWER
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError

Columns = Callable[[Sequence[str]], Table]  # the table with other columns as labels


def chosen_rows(table: Table, input: Input, compute: Compute, again: Columns) -> Table:
    """The rows that the input asks for, in memory where they are not sparse; `again` reads columns that lack.

    Raises ConfigError for a column that is not there, and DataError where no row is left.
    """
    count = len(table.ids)
    kept = np.flatnonzero(fulfilled(table, input, again))
    if not len(kept):
        raise DataError("WHERE", f"no row fulfills {' and '.join(input.where)}", where=place(input.path),
                        hint="change the conditions")
    if input.rows is not None and input.rows < len(kept):
        kept = np.sort(compute.generator().choice(kept, input.rows, replace=False))
    note("N-CHOSEN-ROWS", f"{len(kept):,} of {counted(count, 'row')} were chosen", rows=len(kept))
    found = replace(taken(table, kept, compute), chosen_of=count)
    if found.source is None:
        return found
    return replace(found, source=replace(found.source, reading=found.source.reading + table.values.nbytes))


def taken(table: Table, kept: Indices, compute: Compute) -> Table:
    """Some rows: of a table that is read in blocks they are held in memory, of a sparse one by their entries."""
    rows = rows_of(table.values)
    if rows is None:
        return table.take(kept)
    if isinstance(rows.source, SparseRows):
        bare = replace(table, values=np.empty((len(rows), 0))).take(kept)
        return replace(bare, values=as_array(Rows(SparseRows(rows.source.matrix[kept]))))
    compute.require(16.0 * len(kept) * rows.shape[1], f"a table of {len(kept):,} x {rows.shape[1]:,} numbers",
                    f"choose fewer rows (--rows), or {FEWER}")
    return table.take(kept)


def of_sparse(table: Table, input: Input, compute: Compute, streams: bool) -> Table:
    """Chosen rows of a sparse table: by their entries where these are taken and many, else with their zeros."""
    rows = rows_of(table.values)
    assert rows is not None
    size = 8.0 * rows.size
    if streams and size > SMALL:
        return passed_over(table, input, compute)
    compute.require(2 * size, f"{len(rows):,} rows of a sparse table with all their zeros", FEWER)
    return replace(table, values=rows[np.arange(len(rows))])


def fulfilled(table: Table, input: Input, again: Columns) -> AnyArray:
    """Which rows fulfill all conditions (n)."""
    conditions = [condition(text) for text in input.where]
    lacking = tuple(dict.fromkeys(one.column for one in conditions if not is_column(table, one.column)))
    others = _others(table, input, lacking, again) if lacking else {}
    mask = np.ones(len(table.ids), dtype=bool)
    for one in conditions:
        cells = others[one.column] if one.column in others else column_of(table, one.column)
        mask &= one.holds(cells, table.point)
    return mask


def is_column(table: Table, name: str) -> bool:
    """Whether a table has a column of this name: its ids, a label or numbers."""
    return name in table.labels or name in table.columns or (
        name == table.id_name and not isinstance(table.ids, RowNumbers))


def column_of(table: Table, name: str) -> AnyArray | Sequence[str]:
    """A column: texts of ids, labels and categories, else numbers (n)."""
    if name in table.labels:
        return table.labels[name]
    if name not in table.columns:
        return table.ids
    column = table.columns.index(name)
    if name in table.categories:
        return [table.categories[name][int(code)] if code >= 0 else "" for code in
                np.nan_to_num(table.values[:, column], nan=-1)]
    rows = rows_of(table.values)
    if rows is None:
        return table.values[:, column]
    if isinstance(rows.source, SparseRows):
        return np.asarray(rows.source.matrix[:, [column]].toarray()[:, 0])
    parts = (part for number in range(rows.blocks) for _, part in rows.parts(number))
    return np.concatenate([part[:, column].copy() for part in parts])  # a view would keep the whole part


def _others(table: Table, input: Input, names: tuple[str, ...], again: Columns) -> dict[str, tuple[str, ...]]:
    """Columns that the table lacks, as texts; raises ConfigError with those that there are."""
    known = [*table.labels, *table.columns]
    error = ConfigError("UNKNOWN-COLUMN", f"there is no column {listed(names)}", where=WHERE,
                        hint=nearest(names[0], known))
    if input.transpose or input.kind != "features" or input.path == "-":
        raise error
    try:
        labels = again(names).labels
    except ConfigError as unknown:
        if unknown.where != "input.label_columns":
            raise error from unknown
        raise unknown.changed(where=WHERE) from unknown
    return {name: labels[name] for name in names}


def require_all(input: Input) -> None:
    """Refuses a choice of rows where all are used; raises ConfigError."""
    for name in ("rows", "where"):
        if getattr(input, name):
            raise ConfigError("INPUT-OPTION", f"{name} has no use here, where every row of the file is used",
                              where=f"input.{name}", hint="leave it out")
