"""Tables for a finished run: new rows, in memory or in blocks, with columns matched to its own, and coordinates."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from functools import partial
from typing import cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Rows, all_parts, rows_of
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.stages.stage import no_listeners, note, stage
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import listed
from mlcli.data.files.formats import format_of
from mlcli.data.files.source import open_input
from mlcli.data.formats.block_file import BlockFile, NamedColumns, RowFile, reads_blocks, sheet_of_blocks
from mlcli.data.formats.cell_names import matrix_in
from mlcli.data.formats.parts import parts_of, read_parts, source_of_parts
from mlcli.data.formats.reader import block_file_of, read_folder, read_sheet
from mlcli.data.options.input import Input, check, like_run
from mlcli.data.options.wording import counted, place
from mlcli.data.prepare.categories import Categories, encode, require_known
from mlcli.data.prepare.missing import finite_rows, no_complete_row, note_dropped
from mlcli.data.read.blocks import unread_table
from mlcli.data.read.labels import add_labels
from mlcli.data.read.table import points_as_rows, source_of, table_of
from mlcli.data.read.text_columns import with_codes
from mlcli.data.table.cells import refuse_negative, refuse_nonfinite
from mlcli.data.table.coding import Coding
from mlcli.data.table.selection import naming_hint, note_others
from mlcli.data.table.sheet import Sheet
from mlcli.data.table.similarities import SimilarityRule
from mlcli.data.table.table import Source, Table
from mlcli.data.text.delimited import LayoutOf
from mlcli.data.text.layout import crossed_layout, features_layout
from mlcli.errors import ConfigError, DataError


def match_columns(sheet: Sheet, wanted: tuple[str, ...], path: str, noun: str) -> Array:
    """Return the (n, d) array with the wanted columns in their order; columns without names are matched by position.

    Columns beside the wanted ones are left out with a note, but points of a matrix are not. Raises DataError.
    """
    if sheet.columns == wanted:
        return sheet.values
    if not sheet.named and by_position(sheet.columns, wanted, noun):
        return sheet.values
    require_named(sheet.columns, wanted, path, noun, strict=noun == "point" or not sheet.named or bool(sheet.image))
    positions = {name: column for column, name in enumerate(sheet.columns)}
    return np.ascontiguousarray(sheet.values[:, [positions[name] for name in wanted]])


def by_position(columns: Sequence[str], wanted: Sequence[str], noun: str) -> bool:
    """Whether columns without names are as many as the wanted ones; if so, note the match."""
    if len(columns) == len(wanted):
        note("N-BY-POSITION", f"the file does not name its columns; they were taken in the order of the run's {noun}s")
    return len(columns) == len(wanted)


def require_named(ids: Sequence[str], wanted: Sequence[str], path: str, noun: str, *, strict: bool) -> None:
    """Raise DataError with lists of missing columns, and of additional ones if `strict`; note these, and the order."""
    present, needed = set(ids), set(wanted)
    missing = [name for name in wanted if name not in present]
    extra = [name for name in ids if name not in needed]
    if missing or (extra and strict):
        names_rows = naming_hint(extra)
        parts = [f"{counted(len(names), 'column')} {word}: {listed(names)}"
                 for names, word in ((missing, "missing"), (extra, "not of the run")) if names]
        raise DataError("COLUMNS-DIFFER", "; ".join(parts), where=place(path),
                        hint=f"{names_rows}{'; ' * bool(names_rows)}the run needs one column for each of its "
                        f"{counted(len(wanted), noun)}; choose them with {{input.columns}}, and name ids and labels "
                        "with {input.id_column} and {input.label_columns}")
    note_others(extra, naming_hint(extra))
    if [name for name in ids if name in needed] != list(wanted):
        note("N-REORDERED", "the columns were put in the order of the run", columns=len(wanted))


def match_points(sheet: Sheet, points: tuple[str, ...], input: Input, rule: SimilarityRule | None = None) -> Array:
    """Return the (m, n) array of dissimilarities or kernel values from m new points to the n points of the run.

    Similarities become dissimilarities by the `rule` of the run. Raises DataError.
    """
    where = place(input.path)
    if sheet.values.ndim != 2:
        raise DataError("ARRAY", "a condensed vector holds no dissimilarities to the points of the run", where=where,
                        hint="give a matrix: a row for every new point, a column for every point of the run")
    values = match_columns(sheet, points, input.path, "point")
    refuse_nonfinite(values, sheet.row_names(), points, where,
                     "every new point needs a number to every point of the run")
    if rule is not None:
        rule.refuse_outside(values, sheet.row_names(), points, where)
        return rule.apply(values)
    if input.kind == "dissimilarities":
        refuse_negative(values, sheet.row_names(), points, where)
    return np.sqrt(values) if input.squared else values


def new_in_blocks(found: BlockFile | None, source: Source, input: Input, run: "RunInput",
                  compute: Compute) -> Table | None:
    """Return new rows of features with the run's columns; None if they fit in memory. Raises DataError."""
    if not reads_blocks(found, input, compute):
        return None
    assert found is not None
    wanted = tuple(name for name in run.columns if name not in run.categories)
    if found.choice.columns != wanted and not (
            not found.named and by_position(found.choice.columns, wanted, "column")):
        require_named(found.choice.columns, wanted, input.path, "column",
                      strict=not found.named or bool(found.image))
        found = replace(found, file=in_order(found, wanted))
    if run.categories:  # after all other columns in the run as well
        from mlcli.data.read.text_columns import CodedRows

        coded = CodedRows(found.file, tuple(run.categories), tuple(run.categories.values()))
        found = replace(found, file=coded, choice=replace(found.choice, categories=()), categories=run.categories)
    return unread_table(found, run.columns, input, compute, source)


def in_order(found: BlockFile, wanted: tuple[str, ...]) -> RowFile:
    """Return a file with its named columns in the order of `wanted`."""
    if isinstance(found.file, SparseRows):
        places = {name: place for place, name in enumerate(found.choice.columns)}
        return SparseRows(found.file.matrix[:, [places[name] for name in wanted]])
    return cast(NamedColumns, found.file).in_order(wanted)


@frozen
class MappedTable:
    """The result of a row-wise function on a table that is read in blocks: computed part by part on demand."""

    table: Table  # its values are rows in a file
    rows: Rows
    place: Callable[[Table], Table]
    drops: bool  # whether `place` drops rows with gaps, of which it needs one without

    def parts(self) -> Iterator[Table]:
        """Yield the parts in their order; notes that would repeat are made once.

        Raises DataError where rows with gaps are dropped, and no other is left.
        """
        gone, told = list[str](), False
        for first, values in all_parts(self.rows):
            places = np.arange(first, first + len(values))
            if self.drops and not finite_rows(values).any():  # other parts may keep some
                gone += [self.table.ids[row] for row in places.tolist()]
                continue
            with no_listeners() if told else nullcontext():
                made = self.place(self._part(first, values, places))
            there = places if made.places is None else made.places
            yield replace(made, places=there)
            if told:  # the policy has noted the dropped rows of the first part
                gone += [self.table.ids[row] for row in np.setdiff1d(places, there).tolist()]
            told = True
        if gone and not told:
            raise no_complete_row(self.table, len(gone))
        if gone:
            note_dropped(gone)

    def whole(self) -> Table:
        """Return all parts as one table in memory."""
        parts = list(self.parts())
        chosen = np.concatenate([part.places for part in parts if part.places is not None])
        whole = self.table if len(chosen) == len(self.rows) else self.table.names_of(chosen)
        return replace(parts[0], values=np.concatenate([part.values for part in parts]), ids=whole.ids,
                       labels=whole.labels, places=whole.places)

    def _part(self, first: int, values: Array, places: Indices) -> Table:
        span = slice(first, first + len(values))
        labels = {name: texts[span] for name, texts in self.table.labels.items()}
        return replace(self.table, values=values, ids=self.table.ids[span], labels=labels, places=places)


def blockwise(table: Table, place: Callable[[Table], Table], *, drops: bool) -> Table | MappedTable:
    """Apply a row-wise function to a table; if the table is read in blocks, part by part on demand.

    `drops` is whether the function drops rows with gaps.
    """
    rows = rows_of(table.values)
    return place(table) if rows is None else MappedTable(table, rows, place, drops)


@frozen
class RunInput:
    """The input of a finished run, as far as rows that are new to it are read by it."""

    columns: tuple[str, ...]  # of features
    points: Sequence[str] = ()  # ids of the rows of a square matrix
    categories: Categories = field(default_factory=dict)  # texts that numbers of a column stand for
    coding: Coding | None = None  # of answers
    rule: SimilarityRule | None = None  # by which similarities became dissimilarities
    closed: bool = False  # whether texts that the columns of text do not have are refused
    options: Input | None = None  # by which it was read

    def like(self, input: Input) -> Input:
        """Return the options by which new rows are read as this input was, where they say nothing else.

        Where the file has them, ids are in its column of ids, and if it chose columns, no others of numbers are read.
        Raises ConfigError.
        """
        own = self.options or Input(path=input.path)
        kept = {name for name in ("id_column", "columns") if own.chosen(name) and not input.chosen(name)}
        asked = input.replace(id_column=own.id_column) if "id_column" in kept and own.id_column is not None else input
        texts = (*self.categories, *(self.coding.answers if self.coding else ()))
        check(asked.replace(label_columns=(*input.label_columns, *texts)))
        named = asked is not input and not asked.without_ids
        return like_run(input if named else asked, texts=texts, beside=own.label_columns,
                        id_names=(asked.id_column,) if named and asked.id_column is not None else (),
                        only=self.columns if "columns" in kept and own.columns else ())

    def table(self, sheet: Sheet, input: Input, source: Source) -> Table:
        """Return the table of a sheet: its features in the columns of this input, answers coded as these were."""
        coding, columns = self.coding, self.columns
        sheet = sheet if coding is None else with_codes(sheet, coding, input.path)
        values = match_columns(sheet, columns, input.path, "column")
        values = values if coding is None else coding.turned(values, columns, sheet.row_names(), input.path)
        return table_of(sheet, values, columns, input, source)


@stage("read")
def read_new(input: Input, run: RunInput, compute: Compute | None = None, *, streams: bool = False) -> Table:
    """Return rows to project into a finished run: features with the run's columns, or numbers for each of its points.

    If the next step `streams`, a table that does not fit in memory is read in blocks. Raises ConfigError and DataError.
    """
    compute, input = compute or Compute(), run.like(input)
    if folder := read_folder(input, compute):
        sheet, source = folder
        return add_labels(run.table(sheet, input, source), input, compute)
    if not input.square and (files := parts_of(input.path)):
        found, source = read_parts(files, input, compute), source_of_parts(files, input)
        table = new_in_blocks(found, source, input, run, compute) if streams else None
        if table is None:
            table = run.table(sheet_of_blocks(found, input, compute), input, source)
        return add_labels(table, input, compute)
    with open_input(matrix_in(input.path), compute) as file:
        format = format_of(file, input)
        if format.pairs:
            raise ConfigError("FORMAT", f"{format.title} holds no dissimilarities to the points of a run",
                              where="input.format", hint="give a matrix: a row for every new point, a column for every "
                              "point of the run")
        source = source_of(input, file, format)
        if streams:
            blocks = block_file_of(file, input, format, compute, run.columns)
            if (table := new_in_blocks(blocks, source, input, run, compute)) is not None:
                return add_labels(table, input, compute)
        points = tuple(run.points)
        layout: LayoutOf = (partial(crossed_layout, points=points) if input.square
                            else partial(features_layout, known=() if input.transpose else run.columns))
        sheet = points_as_rows(read_sheet(file, input, format, compute, layout), input)
        if run.closed and run.categories:
            require_known(sheet, run.categories, input.path)
        sheet = encode(sheet, run.categories)
        table = (table_of(sheet, match_points(sheet, points, input, run.rule), points, input, source)
                 if input.square else run.table(sheet, input, source))
        return add_labels(table, input, compute)


@stage("read")
def read_coordinates(input: Input, axes: Sequence[str], id_name: str, compute: Compute | None = None) -> Table:
    """Return coordinates in the space of a run: the columns of its axes, with ids if the column exists."""
    compute = compute or Compute()
    check(input)
    with open_input(input.path, compute) as file:
        format = format_of(file, input)
        input = input.replace(columns=tuple(axes) if format.named else ())
        if input.id_column is None and format.named:
            input = like_run(input, id_names=(id_name,))
        sheet = read_sheet(file, input, format, compute, features_layout)
        source = Source(input.path, file.digest, file.size, format.name)
        return table_of(sheet, sheet.values, sheet.columns, input, source)
