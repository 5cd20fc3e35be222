"""Several files of the same rows as one table, read in blocks: the rows of each lie in the order of the first."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise

import numpy as np

from mlcli.base.rows.source import Rows, column_of, rows_of
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import shown
from mlcli.data.options.input import InBlocksBesideOthers, Input, check
from mlcli.data.prepare.missing import where_of
from mlcli.data.prepare.views import errors_for_view, in_one_order, join_views, matched_rows
from mlcli.data.read.blocks import Unread, after_first_pass
from mlcli.data.read.id_columns import require_no_ids_in
from mlcli.data.table.table import Table
from mlcli.errors import DataError

ALL = "give each file the rows that all of them have"  # remedy where rows differ, which blocks cannot leave out


def read_joined(input: Input, compute: Compute, read: Callable[[Input], Table]) -> Table:
    """Return one table with the columns of all files of an input, which are read in blocks, after one pass over them.

    `read` returns the table of one file. Raises ConfigError for a file without blocks, and DataError for rows that are
    not those of the first file, or are in another order, and for ids among the features.
    """
    check(input)
    files, tables = input.chosen_as(InBlocksBesideOthers).files, list[Table]()
    for number, file in enumerate(files):
        with errors_for_view(number - 1, file.path) if number else nullcontext():
            tables.append(read(file))
    require_one_order(tables)
    table = after_first_pass(with_types(join_views(tables, "error")[0], tables), input, compute)
    rows = rows_of(table.values)
    assert rows is not None
    if not rows.sketched:
        bounds = np.cumsum([0, *(len(file.columns) for file in table.files)]).tolist()
        for number, (file, columns) in enumerate(zip(files, pairwise(bounds), strict=True)):
            with errors_for_view(number - 1, file.path) if number else nullcontext():
                require_no_ids(tables[number], rows, slice(*columns), file)
    return table


def require_one_order(tables: Sequence[Table]) -> None:
    """Raise DataError for a table whose rows are others than those of the first, or in another order."""
    if in_one_order(tables):
        return
    matched_rows(tables, "error", ALL)
    first = tables[0]
    for table in tables[1:]:
        for row, (expected, found) in enumerate(zip(first.ids, table.ids, strict=True), 1):
            if found != expected:
                raise DataError(
                    "ROW-ORDER", f"row {row} is {shown(found)}, and {shown(expected)} in {where_of(first)}: files that "
                    "are read in blocks have their rows in one order", where=where_of(table),
                    hint="sort the files alike, or give {input.stream=never}: in memory, rows are matched by id")


def with_types(joined: Table, tables: Sequence[Table]) -> Table:
    """Return a table of several files with the types of the columns that they have."""
    known = [table.types if isinstance(table, Unread) else () for table in tables]
    types = [kind for table, own in zip(tables, known, strict=True)
             for kind in [*own, *(None for _ in table.columns)][:len(table.columns)]]
    return replace(joined, types=types) if isinstance(joined, Unread) else joined


def require_no_ids(table: Table, rows: Rows, columns: slice, file: Input) -> None:
    """Raise DataError for ids among the features of one of several files, whose `columns` are some of those of all."""
    assert rows.sample is not None
    require_no_ids_in(table, rows.sample.values[:, columns], table.numbers[rows.sample.places] - 1, file,
                      lambda column: (column_of(rows, columns.start + column), table.numbers - 1))
