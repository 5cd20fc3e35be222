"""Columns of numbers that look like ids, found before they become features."""

from collections.abc import Callable, Sequence

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.naming import listed, shown
from mlcli.data.options.column_names import columns_named_as_ids
from mlcli.data.options.input import Input
from mlcli.data.options.numbers import EXACT
from mlcli.data.options.wording import COMPARED, counted, place
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.errors import DataError, option

DOUBTFUL = frozenset({"number", "code"})  # words of names that only warn
FEWEST = 3  # rows; two numbers differ by chance
ALL = 30  # columns of text that a message names
Whole = Callable[[int], tuple[Array, AnyArray]]  # all numbers of a column with the places of their rows


def distinct_integers(values: AnyArray) -> bool:
    """Whether numbers of shape (n,), without missing ones, are whole and distinct, up to the precision of doubles."""
    known = values[~np.isnan(values)]
    told = known[np.abs(known) < EXACT]
    return bool(len(known) >= FEWEST and np.all(np.isfinite(known)) and np.all(known == np.floor(known))
                and len(np.unique(told)) == len(told))


def counts_rows(values: AnyArray, rows: AnyArray) -> bool:
    """Whether numbers of shape (n,) count their rows, given by their places, from any whole number."""
    with np.errstate(over="ignore", invalid="ignore"):
        first = values - rows
        return len(first) >= FEWEST and bool(values[0] == np.floor(values[0]) and np.ptp(first) == 0)


def require_no_ids(values: Array, rows: AnyArray, columns: Sequence[str], words: Sequence[str], input: Input, *,
                   named: bool, apart: bool = False, whole: Whole | None = None) -> None:
    """Raise DataError for ids among the features, or warn if the options choose the ids.

    `values` is an (n, d) array of rows at the places `rows`, of shape (n,): all rows or a sample. For a
    sample, `whole` reads a suspicious column, as a number may recur in other rows. `words` are the columns
    of text that no option names; `named` is whether the rows have names, and `apart` whether no column can
    be the ids. DataError is for whole and distinct numbers with a name such as `id`, or beside text alone.
    """
    if input.columns or input.without_ids:
        return
    alone = bool(words) and len(columns) == 1

    def distinct(column: int) -> bool:
        return distinct_integers(values[:, column]) and (whole is None or distinct_integers(whole(column)[0]))

    suspects = [column for column in ((0,) if alone else columns_named_as_ids(columns)) if distinct(column)]
    if suspects and not input.chosen("id_column"):
        _refuse(columns[suspects[0]], words if alone else (), input, apart)
    doubtful = [column for column in columns_named_as_ids(columns, DOUBTFUL) if distinct(column)]
    for column in dict.fromkeys([*suspects, *doubtful]):
        _warn(columns[column], "looks like ids")
    if not (suspects or doubtful or named) and len(columns) > 1 and counts_rows(values[:, 0], rows) and (
            whole is None or counts_rows(*whole(0))):
        _warn(columns[0], "is the first, counts the rows")


def require_no_ids_in(table: Table, values: Array, rows: AnyArray, input: Input, whole: Whole | None = None) -> None:
    """Raise DataError for ids among the features of a table; `values` is an (m, d) array of its rows at `rows`.

    Labels of a file of their own (`--labels`) are not columns of text of the table.
    """
    words = () if input.labels.path else tuple(name for name in table.labels if name not in input.label_columns)
    require_no_ids(values, rows, table.columns, words, input, named=not isinstance(table.ids, RowNumbers),
                   whole=whole)


def _warn(name: str, says: str) -> None:
    """Warn about a column that may be ids."""
    note("W-ID-LIKE", f"column {shown(name)} {says} and is used as a feature; if it names the rows, give "
         f"{option('input.id_column', name)}", column=name)


def _refuse(name: str, words: Sequence[str], input: Input, apart: bool) -> None:
    """Raise the error of ids among the features; beside text alone, `words`, choosing them leaves no number."""
    aside = "choose the others by {input.columns}" if apart else f"give {option('input.id_column', name)}"
    ways = f"{aside} if it names the rows, or {'give ' if apart else ''}{{input.id_column=none}} to keep it as data"
    where = place(input.path)
    if not words:
        raise DataError("ID-COLUMN", f"column {shown(name)} holds whole numbers, all distinct, as ids do", where=where,
                        hint=ways)
    raise DataError("ALL-TEXT", f"the only column of numbers, {shown(name)}, holds whole numbers, all distinct, as ids "
                    f"do, and {counted(len(words), 'column')} {'is' if len(words) == 1 else 'are'} text: "
                    f"{listed(words, ALL)}", where=where,
                    hint=f"{ways}; {{input.answers}} codes ordered answers as numbers; {COMPARED}")
