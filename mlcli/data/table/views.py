"""Tables of the same rows: matched by id, prepared side by side as one, and split again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import Indices
from mlcli.data.options.second_files import View
from mlcli.data.options.wording import counted, listed, place
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, with_paths

REASON = "without a row in the second view"
REASON_OF_SEVERAL = "without a row in another view"
PATHS = {f"input.{name}": f"input.view.{name}" for name in View.model_fields}
PATHS_OF_FURTHER = dict.fromkeys(PATHS, "input.view.further")
NAMING = " or {input.label_columns}"  # a second view has no labels


@contextmanager
def errors_for_view(number: int) -> Iterator[None]:
    """Replace options of the first view in errors of reading by those of another; the second view has number 0."""
    paths = PATHS_OF_FURTHER if number else PATHS
    try:
        yield
    except (ConfigError, DataError) as error:
        hint = with_paths(error.hint.replace(NAMING, ""), paths)
        raise error.changed(where=paths.get(error.where, error.where), hint=hint) from error


def chain_views(tables: Sequence[Table]) -> Table:
    """Return the first of some tables with the others as its views, each as the view of the one before."""
    first, *others = tables
    return replace(first, view=chain_views(others) if others else None)


@frozen
class MatchedViews:
    """The rows that all views have, and their numbers in the first."""

    table: Table  # its views in the same order
    kept: Indices  # rows of the first table


def match_views(tables: Sequence[Table], policy: str) -> MatchedViews:
    """Return the first table with the others as its views, row for row by id.

    Raises DataError for unmatched rows unless dropped. Rows without ids are matched by number.
    """
    first, *others = tables
    if all(isinstance(table.ids, RowNumbers) for table in tables):
        positions = [np.arange(min(len(table.ids) for table in tables), dtype=np.int64)] * len(tables)
    else:
        places = np.array([_places(first, other) for other in others]).reshape(len(others), len(first.ids))
        rows = np.flatnonzero((places >= 0).all(axis=0))
        positions = [rows, *places[:, rows]]
    _require_matched(tables, positions, policy)
    parts = [table if np.array_equal(chosen, np.arange(len(table.ids))) else table.take(chosen)
             for table, chosen in zip(tables, positions, strict=True)]
    return MatchedViews(chain_views([replace(part, ids=parts[0].ids) for part in parts]), positions[0])


def _places(table: Table, other: Table) -> Indices:
    """Return the row of another table for each row of a table (n), -1 where it has none."""
    where = {name: row for row, name in enumerate(other.ids)}
    return np.array([where.get(name, -1) for name in table.ids], dtype=np.int64)


def _require_matched(tables: Sequence[Table], positions: Sequence[Indices], policy: str) -> None:
    """Raise DataError for rows that not all views have, or warn about them if they are dropped; some must be in all."""
    alone = [(part, np.setdiff1d(np.arange(len(part.ids)), shared).tolist())
             for part, shared in zip(tables, positions, strict=True)]
    only = "only in" if len(tables) == 2 else "that another view lacks in"
    parts = [f"{counted(len(outside), 'row')} {only} {_path(part)}: {listed([part.ids[row] for row in outside])}"
             for part, outside in alone if outside]
    if parts and (policy == "error" or not len(positions[0])):
        raise DataError("ROWS-DIFFER", "; ".join(parts), where=_path(tables[1]),
                        hint="rows are matched by id: name the id columns ({input.id_column}, "
                             "{input.view.id_column}), or "
                        "leave out what only one view has with prepare.unmatched: drop")
    if parts:
        note("W-UNMATCHED", f"left out: {'; '.join(parts)}", rows=sum(len(outside) for _, outside in alone))


def side_by_side(tables: Sequence[Table]) -> Table:
    """Return one table with the columns of all; its views stay for their names and rows."""
    return replace(chain_views(tables), values=np.hstack([table.values for table in tables]),
                   columns=tuple(name for table in tables for name in table.columns))


def split_views(whole: Table, tables: Sequence[Table]) -> list[Table]:
    """Split a table that has the columns of all tables into one for each."""
    ends = np.cumsum([0, *(len(table.columns) for table in tables)])
    return [replace(part, values=whole.values[:, start:end], columns=table.columns, ids=whole.ids)
            for part, table, start, end in zip(whole.views, tables, ends[:-1], ends[1:], strict=True)]


def _path(table: Table) -> str:
    return place(table.source.path) if table.source else "a view"
