"""Two tables of the same rows: matched by id, prepared side by side as one, and split again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.data.options.second_files import View
from mlcli.data.options.wording import counted, listed, place
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, with_paths

REASON = "without a row in the second view"
PATHS = {f"input.{name}": f"input.view.{name}" for name in View.model_fields}
NAMING = " or {input.label_columns}"  # a second view has no labels


@contextmanager
def errors_for_second_view() -> Iterator[None]:
    """Replace options of the first view in errors of reading by those of the second."""
    try:
        yield
    except (ConfigError, DataError) as error:
        hint = with_paths(error.hint.replace(NAMING, ""), PATHS)
        raise error.changed(where=PATHS.get(error.where, error.where), hint=hint) from error


@frozen
class MatchedViews:
    """The rows that both views have, and their numbers in the first."""

    table: Table  # its view in the same order
    kept: Indices  # rows of the first table


def match_views(table: Table, other: Table, policy: str) -> MatchedViews:
    """Return a table with its second view, row for row by id; raises DataError for unmatched rows unless dropped.

    Rows without ids are matched by number.
    """
    if isinstance(table.ids, RowNumbers) and isinstance(other.ids, RowNumbers):
        shared = min(len(table.ids), len(other.ids))
        rows = positions = np.arange(shared, dtype=np.int64)
    else:
        where = {name: row for row, name in enumerate(other.ids)}
        places = np.array([where.get(name, -1) for name in table.ids], dtype=np.int64)
        rows = np.flatnonzero(places >= 0)
        positions = places[rows]
    _require_matched(table, other, rows, positions, policy)
    alone = replace(table, view=None)  # the second view's rows are not yet matched
    first = alone if len(rows) == len(table.ids) else alone.take(rows)
    second = other if np.array_equal(positions, np.arange(len(other.ids))) else other.take(positions)
    return MatchedViews(replace(first, view=replace(second, ids=first.ids)), rows)


def _require_matched(table: Table, other: Table, rows: Indices, positions: Indices, policy: str) -> None:
    """Raise DataError for rows in one view only, or warn about them if they are dropped; some rows must be in both."""
    alone = [(part, np.setdiff1d(np.arange(len(part.ids)), shared).tolist())
             for part, shared in ((table, rows), (other, positions))]
    parts = [f"{counted(len(outside), 'row')} only in {_path(part)}: {listed([part.ids[row] for row in outside])}"
             for part, outside in alone if outside]
    if parts and (policy == "error" or not len(rows)):
        raise DataError("ROWS-DIFFER", "; ".join(parts), where=_path(other),
                        hint="rows are matched by id: name the id columns ({input.id_column}, "
                             "{input.view.id_column}), or "
                        "leave out what only one view has with prepare.unmatched: drop")
    if parts:
        note("W-UNMATCHED", f"left out: {'; '.join(parts)}", rows=sum(len(outside) for _, outside in alone))


def side_by_side(table: Table) -> Table:
    """Return a table with the columns of both views; its view stays for the names."""
    other = table.view
    if other is None:
        return table
    return replace(table, values=np.hstack([table.values, other.values]), columns=table.columns + other.columns)


def split_views(whole: Table, table: Table) -> Table:
    """Split a table with the columns of both views into a table with its second view."""
    if whole.view is None:
        return whole
    first: Array = whole.values[:, : len(table.columns)]
    second = replace(whole.view, values=whole.values[:, len(table.columns):], ids=whole.ids)
    return replace(whole, values=first, columns=table.columns, view=second)


def _path(table: Table) -> str:
    return place(table.source.path) if table.source else "a view"
