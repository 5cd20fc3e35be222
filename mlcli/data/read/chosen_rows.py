"""Choice of rows: those that fulfill conditions, and of these a seeded sample, in the order of the file."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.rows.source import Rows, all_parts, as_array, in_memory, rows_of
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import listed
from mlcli.data.formats.block_file import is_held
from mlcli.data.formats.columns import GroupedRows
from mlcli.data.options.conditions import WHERE, condition
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, nearest, place
from mlcli.data.read.blocks import SomePairs, SomePoints, SomeRows, after_first_pass, file_of
from mlcli.data.read.id_columns import require_no_ids_in
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.sheet import FEWER
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError

Columns = Callable[[Sequence[str]], Table]  # the table with other columns as labels


def chosen_rows(table: Table, input: Input, compute: Compute, again: Columns, streams: bool = False) -> Table:
    """Return the rows that the input chooses; `again` reads columns that the table lacks.

    Rows of a file in blocks are read into memory, or also in blocks if they do not fit and the next step
    `streams`. Raises ConfigError for an unknown column, and DataError if no row is left.
    """
    count = len(table.ids)
    kept = np.flatnonzero(condition_mask(table, input, again))
    if not len(kept):
        raise DataError("WHERE", f"no row fulfills {' and '.join(input.where)}", where=place(input.path),
                        hint="change the conditions")
    if input.rows is not None and input.rows < len(kept):
        kept = np.sort(compute.generator().choice(kept, input.rows, replace=False))
    note("N-CHOSEN-ROWS", f"{len(kept):,} of {counted(count, 'row')} {'was' if len(kept) == 1 else 'were'} chosen",
         rows=len(kept))
    found = replace(take_rows(table, kept, input, compute, streams), chosen_of=count)
    if found.source is None or rows_of(found.values) is not None:
        return found
    source = replace(found.source, reading=found.source.reading + table.values.nbytes, kept=0.0)  # rows fill the gaps
    return replace(found, source=source)


def take_rows(table: Table, kept: Indices, input: Input, compute: Compute, streams: bool) -> Table:
    """Return the rows `kept`, an array of shape (m,), of a table.

    Those that do not fit in memory are read in blocks.
    """
    rows = rows_of(table.values)
    if rows is None:
        return table.take(kept)
    bare = replace(table, kind="features").names_of(kept)
    some = subset(rows, kept, square=input.square)
    columns = tuple(bare.ids) if input.square else table.columns
    table = replace(bare, values=as_array(some), kind=table.kind, columns=columns)
    if input.stream == "always" or (streams and not is_held(file_of(some), 8.0 * some.size, input, compute)):
        return after_first_pass(table, input, compute)
    compute.require_data(16.0 * some.size, f"a table of {len(some):,} x {some.shape[1]:,} numbers",
                         f"choose fewer rows ({{input.rows}}), or {FEWER}")
    values = in_memory(some)
    table = replace(table, values=values)
    if not input.square:  # its numbers are not yet checked
        require_no_ids_in(table, values, table.numbers - 1, input)
    return table


def subset(rows: Rows, kept: Indices, *, square: bool) -> Rows:
    """Return rows of a file, or points of a matrix, with the numbers `kept`, of shape (m,).

    Sparse rows keep their form.
    """
    if isinstance(rows.source, SparseRows):
        return Rows(SparseRows(rows.source.matrix[kept]))
    return Rows((SomeRows if not square else SomePairs if rows.half_stored else SomePoints)(rows.source, kept))


def condition_mask(table: Table, input: Input, again: Columns) -> AnyArray:
    """Return flags of the rows that fulfill all conditions, an (n,) array; raises ConfigError and DataError."""
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
    """Return a column: texts of ids, labels and categories, or an (n,) array of numbers."""
    if name in table.labels:
        return table.labels[name]
    if name not in table.columns:
        return table.ids
    numbers = numbers_in(table, table.columns.index(name))
    if name in table.categories:
        return [table.categories[name][int(code)] if code >= 0 else "" for code in np.nan_to_num(numbers, nan=-1)]
    return numbers


def numbers_in(table: Table, column: int) -> AnyArray:
    """Return the numbers (n) of a column."""
    rows = rows_of(table.values)
    if rows is None:
        return table.values[:, column]
    if isinstance(rows.source, SparseRows):
        return np.asarray(rows.source.matrix[:, [column]].toarray()[:, 0])
    if isinstance(rows.source, GroupedRows):  # reads a single column
        rows, column = Rows(rows.source.in_order((table.columns[column],))), 0
    return np.concatenate([part[:, column].copy() for _, part in all_parts(rows)])  # a view would keep the whole part


def _others(table: Table, input: Input, names: tuple[str, ...], again: Columns) -> dict[str, tuple[str, ...]]:
    """Return columns that the table lacks, as texts; raises ConfigError with the existing ones."""
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
    """Raise ConfigError for a choice of rows where all are used."""
    for name in ("rows", "where"):
        if getattr(input, name):
            raise ConfigError("INPUT-OPTION", f"{name} cannot be used here, where every row of the file is used",
                              where=f"input.{name}", hint="leave it out")
