"""Views: tables of the same rows, matched by id, and prepared alike, side by side as one table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from operator import eq

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import beside
from mlcli.base.stages.stage import note
from mlcli.base.types import Indices
from mlcli.base.values.naming import listed
from mlcli.data.files.formats import file_name
from mlcli.data.options.input import View
from mlcli.data.options.wording import counted, duplicates, place
from mlcli.data.prepare import missing
from mlcli.data.prepare.missing import Dropped, dropped_row
from mlcli.data.prepare.prepare import Prepare, Prepared, no_preparation, preparation_of
from mlcli.data.prepare.transforms import TRANSFORMS, Name
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import HERE, Table, TableFile, number_names
from mlcli.errors import ConfigError, DataError, with_paths

REASON = "without a row in the second view"
REASON_OF_SEVERAL = "without a row in another view"
UNMATCHED = "leave out what only one view has with {prepare.unmatched=drop}"  # advice for a fit
PATHS = {f"input.{name}": f"input.view.{name}" for name in View.model_fields}
PATHS_OF_FURTHER = dict.fromkeys(PATHS, "input.view.further")
NAMING = " or {input.label_columns}"  # a second view has no labels


@contextmanager
def errors_for_view(number: int, path: str) -> Iterator[None]:
    """Replace options of the first view in errors of reading by those of another, and name its file.

    The second view has number 0.
    """
    paths = PATHS_OF_FURTHER if number else PATHS
    try:
        yield
    except (ConfigError, DataError) as error:
        hint = with_paths(error.hint.replace(NAMING, ""), paths)
        where = path if error.where in (HERE, "input") else paths.get(error.where, error.where)
        found = f"{error.found} in {place(path)}" if error.where in paths else error.found
        raise error.changed(found=found, where=where, hint=hint) from error


def chain_views(tables: Sequence[Table]) -> Table:
    """Return the first of some tables with the others as its views, each as the view of the one before."""
    first, *others = tables
    return replace(first, view=chain_views(others) if others else None)


@frozen
class MatchedViews:
    """The rows that all views have, and their numbers in each."""

    table: Table  # its views in the same order
    rows: Sequence[Indices]  # of each view (m each), in the order of the first

    @property
    def kept(self) -> Indices:
        """The rows of the first table."""
        return self.rows[0]


def match_views(tables: Sequence[Table], policy: str, remedy: str = UNMATCHED) -> MatchedViews:
    """Return the first table with the others as its views, row for row by id.

    Raises DataError for unmatched rows unless dropped, with a remedy. Rows without ids are matched by number.
    """
    positions = matched_rows(tables, policy, remedy)
    parts = [table if np.array_equal(chosen, np.arange(len(table.ids))) else table.take(chosen)
             for table, chosen in zip(tables, positions, strict=True)]
    return MatchedViews(chain_views([replace(part, ids=parts[0].ids) for part in parts]), positions)


def matched_rows(tables: Sequence[Table], policy: str, remedy: str = UNMATCHED) -> list[Indices]:
    """Return the rows of each table that all have (m each), matched by id; raises DataError as `match_views` does."""
    first, *others = tables
    if all(isinstance(table.ids, RowNumbers) for table in tables) or in_one_order(tables):
        positions = [np.arange(min(len(table.ids) for table in tables), dtype=np.int64)] * len(tables)
    else:
        places = np.array([_places(first, other) for other in others]).reshape(len(others), len(first.ids))
        rows = np.flatnonzero((places >= 0).all(axis=0))
        positions = [rows, *places[:, rows]]
    _require_matched(tables, positions, policy, remedy)
    return positions


def in_one_order(tables: Sequence[Table]) -> bool:
    """Whether all tables have the same ids in the same order."""
    first, *others = tables
    return all(len(other.ids) == len(first.ids) and all(map(eq, first.ids, other.ids)) for other in others)


def without_rows(tables: Sequence[Table], rows: Sequence[Indices]) -> tuple[Table, Table]:
    """Return the first table with the others as its views without some rows of each, and these alone (m each)."""
    others = [np.delete(np.arange(len(table.ids)), gone) for table, gone in zip(tables, rows, strict=True)]
    left, taken = (chain_views([table.take(chosen) for table, chosen in zip(tables, parts, strict=True)])
                   for parts in (others, rows))
    return left, taken


def _places(table: Table, other: Table) -> Indices:
    """Return the row of another table for each row of a table (n), -1 where it has none."""
    where = {name: row for row, name in enumerate(other.ids)}
    return np.array([where.get(name, -1) for name in table.ids], dtype=np.int64)


def _require_matched(tables: Sequence[Table], positions: Sequence[Indices], policy: str, remedy: str) -> None:
    """Raise DataError for rows that not all views have, or warn about them if they are dropped; some must be in all."""
    alone = [(part, np.setdiff1d(np.arange(len(part.ids)), shared).tolist())
             for part, shared in zip(tables, positions, strict=True)]
    only = "only in" if len(tables) == 2 else "that another view lacks in"
    paths = [missing.where_of(table) or "a view" for table in tables]
    parts = [f"{counted(len(outside), 'row')} {only} {path}: {listed([part.ids[row] for row in outside])}"
             for (part, outside), path in zip(alone, paths, strict=True) if outside]
    if parts and (policy == "error" or not len(positions[0])):
        differs = next((path for part, path in zip(tables[1:], paths[1:], strict=True)
                        if {*part.ids} != {*tables[0].ids}), paths[1])
        raise DataError("ROWS-DIFFER", "; ".join(parts), where=differs,
                        hint="rows are matched by id: name the id columns ({input.id_column}, {input.view.id_column}), "
                             f"or {remedy}")
    if parts:
        note("W-UNMATCHED", f"left out: {'; '.join(parts)}", rows=sum(len(outside) for _, outside in alone))


def require_cellwise(transform: Sequence[Name]) -> None:
    """Raise ConfigError for a transform that takes a row as a whole, which lies in several files."""
    if whole := [name for name in transform if TRANSFORMS[name].whole]:
        raise ConfigError("PREPARE-OPTION", f"{whole[0]} takes a row as a whole, and rows lie in several files",
                          where="prepare.transform", hint="transform each file by itself, or give one with all columns")


def join_views(tables: Sequence[Table], policy: str, remedy: str = UNMATCHED) -> tuple[Table, tuple[Dropped, ...]]:
    """Return one table with the columns of several files, row for row by id, and the rows of the first without others.

    A column whose name two files have is called FILE.NAME. Labels are those of the first file. Raises DataError for
    unmatched rows unless dropped, and for names of columns that are still the same.
    """
    pairs = match_views(tables, policy, remedy)
    paths = [f"view {number}" if table.source is None or table.source.path == HERE else file_name(table.source.path)
             for number, table in enumerate(tables, start=1)]
    names = number_names(paths)
    count = Counter(name for table in tables for name in table.columns)
    columns = {name: tuple(column if count[column] == 1 else f"{name}.{column}" for column in table.columns)
               for name, table in zip(names, tables, strict=True)}
    if again := duplicates([name for held in columns.values() for name in held]):
        raise DataError("DUPLICATE-COLUMNS", f"columns of several files are called {listed(again)}",
                        where="input.view.path", hint="rename them in one of the files")
    return join_columns(pairs.table.views, columns, tables), tuple(_alone(tables, pairs.kept))


def join_columns(tables: Sequence[Table], columns: Mapping[str, tuple[str, ...]], given: Sequence[Table]) -> Table:
    """Return one table with the columns of tables of the same rows side by side, called as `columns` has them.

    These are by the name of each file, as it was `given` with all of its rows.
    """
    categories = {new: table.categories[old] for table, names in zip(tables, columns.values(), strict=True)
                  for old, new in zip(table.columns, names, strict=True) if old in table.categories}
    named = [replace(table, columns=names) for table, names in zip(tables, columns.values(), strict=True)]
    return replace(side_by_side(named), view=None, categories=categories, files=files_of(given, columns))


def files_of(given: Sequence[Table], columns: Mapping[str, tuple[str, ...]]) -> tuple[TableFile, ...]:
    """Return the files of a table, with the names of their columns there."""
    return tuple(TableFile(name, replace(table, values=np.empty((len(table.ids), 0))), held)
                 for table, (name, held) in zip(given, columns.items(), strict=True))


def side_by_side(tables: Sequence[Table]) -> Table:
    """Return one table with the columns of all; its views stay for their names and rows."""
    return replace(chain_views(tables), values=beside([table.values for table in tables]),
                   columns=tuple(name for table in tables for name in table.columns))


def split_views(whole: Table, tables: Sequence[Table]) -> list[Table]:
    """Split a table that has the columns of all tables into one for each."""
    return [replace(part, values=whole.values[:, place], columns=table.columns, ids=whole.ids)
            for part, table, place in zip(whole.views, tables, places_of(tables), strict=True)]


def prepare_views(options: Prepare, table: Table) -> Prepared:
    """Keep the rows of all views, and prepare each view's columns in the same way; raises DataError."""
    tables = table.views
    pairs = match_views(tables, options.unmatched)
    if options.missing == "error":
        for part in tables:
            missing.refuse(part)
    whole, fill, gaps = options.completed(side_by_side(pairs.table.views))
    ready = [options.transformed(part) for part in split_views(whole, tables)]  # a row's total is that of its view
    parts = [part for part, _, _ in ready]
    joint = side_by_side(parts)
    scale = options.fit_scale(joint)
    first, *others = [
        preparation_of(part.columns, options.missing, fill[before], scale.of_columns(place), options.transform, chosen,
                       sizes)
        for part, before, place, (_, chosen, sizes) in zip(tables, places_of(tables), places_of(parts), ready,
                                                           strict=True)]
    scaled = preparation_of(joint.columns, options.missing, missing.NO_FILL, scale).scaled(joint)
    return Prepared(chain_views(split_views(scaled, parts)), first,
                    (*_alone(tables, pairs.kept), *gaps), tuple(others))


def match_points(options: Prepare, table: Table) -> Prepared:
    """Keep the points of a square matrix that its views have as well; these need all cells. Raises DataError."""
    pairs = match_views(table.views, options.unmatched)
    for view in table.views[1:]:
        missing.refuse(view, "correct them, or leave columns out with {input.view.columns}")
    return Prepared(pairs.table, no_preparation(()), tuple(_alone(table.views, pairs.kept)))


def _alone(tables: Sequence[Table], kept: Indices) -> list[Dropped]:
    """Return the rows of the first table that are not among the `kept` ones, an (m,) array."""
    reason = REASON if len(tables) == 2 else REASON_OF_SEVERAL
    alone = np.setdiff1d(np.arange(len(tables[0].ids)), kept)
    return [dropped_row(tables[0], row, reason) for row in alone.tolist()]


def places_of(tables: Sequence[Table]) -> list[slice]:
    """Return the places of each table's columns where the tables lie side by side."""
    return [slice(*pair) for pair in pairwise(np.cumsum([0, *(len(table.columns) for table in tables)]).tolist())]
