"""Columns for the colors of a finished run: its labels, and further columns of its input, which is read again."""

import csv
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import mute_notes
from mlcli.base.types import AnyArray, Indices
from mlcli.base.values.missing import is_missing
from mlcli.config.run_config import RunConfig
from mlcli.data.options.numbers import is_number
from mlcli.data.options.wording import listed, nearest, place, shown
from mlcli.data.read.chosen_rows import column_of, is_column
from mlcli.data.read.table import read_unchecked
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, UsageError
from mlcli.findings.frame.contents import Contents
from mlcli.pipeline.start import is_run, table_of
from mlcli.report.figures.coloring import numbers_of
from mlcli.report.page.figure_files import MOST_COLORS
from mlcli.rundir.reading import damaged
from mlcli.runs.unchanged_input import unchanged_input
from mlcli.runs.verify import dropped_rows

FLAG = "--color-by"
WITH_IDS = ("csv", "parquet")  # formats of the embedding


@frozen
class Column:
    """A column of a run's input in the order of the run's rows."""

    texts: tuple[str, ...]
    measured: bool  # whether it holds numbers


def split_names(given: Sequence[str], labels: Collection[str]) -> list[str]:
    """Return names of columns, each once: those with commas between are several, unless a label has the whole name.

    A name that holds commas stands in quotes, as in a line of CSV. Raises UsageError for what is no name.
    """
    names = [name for text in given for name in ([text] if text in labels else _cells(text))]
    if not all(names):
        raise UsageError("REPORT-COLORS", f"{given[0][:80]!r} has an empty name", where=FLAG,
                         hint="separate names by single commas, and put a name that holds commas in quotes")
    return list(dict.fromkeys(names))


def _cells(text: str) -> list[str]:
    """Return the cells of a line of CSV; a text that is none is one cell."""
    try:
        return next(csv.reader([text]), [""])
    except csv.Error:
        return [text]


def with_colors(run: Contents, folder: Path, given: Sequence[str], input: str | None = None) -> Contents:
    """Return a run whose colors are by the columns that are given; those that are no labels are read from its input.

    `input` is where that lies now. Raises ConfigError for a column that is in neither, for too many of them and for an
    input without any, and what `split_names` and `unchanged_input` do.
    """
    table = run.embedding
    names = split_names(given, table.labels)
    if len(names) > MOST_COLORS:
        raise ConfigError("REPORT-COLORS", f"{len(names)} columns for the colors", where=FLAG,
                          hint=f"name at most {MOST_COLORS}")
    if not names and input is not None:
        raise ConfigError("UNUSED", "the input is read again only for its columns", where="--input",
                          hint=f"name a column with {FLAG}, or leave it out")
    lacking = [name for name in names if name not in table.labels]
    found = columns_of_input(run, folder, lacking, input) if lacking else {}
    labels = {**table.labels, **{name: column.texts for name, column in found.items()}}
    measured = frozenset(name for name, column in found.items() if column.measured)
    table = replace(table, labels=labels, measured=table.measured | measured)
    return replace(run, embedding=table, colors=tuple(names))


def columns_of_input(run: Contents, folder: Path, names: Sequence[str], given: str | None) -> dict[str, Column]:
    """Return columns of a run's input, which is read again for them."""
    known = ", ".join(list(run.embedding.labels)[:10]) or "none"
    if run.config.input.kind != "features" or not run.manifest["input"]["rows"]:
        raise ConfigError("REPORT-LABEL", f"the run has no label column {listed(names)}, and its input no columns",
                          where=FLAG, hint=f"its label columns are: {known[:200]}; others can be in a file (--labels)")
    config = unchanged_input(run, given, f"{listed(names)} is no label column of the run")
    with mute_notes():
        return {name: column_of_input(run, folder, config, name) for name in names}


def column_of_input(run: Contents, folder: Path, config: RunConfig, name: str) -> Column:
    """Return one column of an unchanged input: a feature, or a text or number beside the features."""
    table = table_with(config, name)
    cells, rows = column_of(table, name), rows_of_run(run, folder, table)
    if isinstance(cells, np.ndarray):
        texts = texts_of(np.asarray(cells)[rows])
    else:
        given = (cells[row] for row in rows.tolist())
        point = table.point
        texts = tuple(given) if point == "." else tuple(
            text.replace(point, ".") if is_number(text, point) else text for text in given)
    if all(map(is_missing, texts)):
        raise DataError("EMPTY-COLUMN", f"column {shown(name)} holds no value", where=place(config.input.path),
                        hint="choose another")
    return Column(texts, measured=name not in table.categories and numbers_of(texts) is not None)


def table_with(config: RunConfig, name: str) -> Table:
    """Return the rows of an input with a column: with this one alone as feature, else as a label.

    Features of a table that is transposed are rows of the file, which is read as a whole.
    """
    categories = config.method.distance.categories
    if is_run(config.input.path):
        table, _ = table_of(config.input)
    elif config.input.transpose:
        table = read_unchecked(config.input, config.compute, categories, streams=True)
    else:
        asked = config.input.replace(columns=(name,), answers=(), reverse=(), items=(), range=None)
        try:
            table = read_unchecked(asked, config.compute, categories, streams=True)
        except (ConfigError, DataError):
            table = _with_label(config, name)
    if not is_column(table, name):
        raise _unknown(name, [*table.labels, *table.columns])
    return table


def _with_label(config: RunConfig, name: str) -> Table:
    """Return the rows of an input with a column as a label; raises ConfigError."""
    input = config.input
    others = tuple(column for column in input.columns if column != name)
    asked = input.replace(label_columns=(*input.label_columns, name), columns=others, answers=(), reverse=(), items=(),
                          range=None)
    try:
        return read_unchecked(asked, config.compute, streams=True)
    except (ConfigError, DataError) as error:
        if error.where != "input.label_columns":
            raise
        raise error.changed(where=FLAG) from error


def _unknown(name: str, known: Sequence[str]) -> ConfigError:
    """Return the error for a column that is neither a label of a run nor in its input."""
    return ConfigError("REPORT-LABEL", f"neither the run nor its input has a column {shown(name)}", where=FLAG,
                       hint=nearest(name, known))


def rows_of_run(run: Contents, folder: Path, table: Table) -> Indices:
    """Return the places of a run's rows in its input: by id where both have ids, else all but those left out.

    Raises UnsafeFile where these are not as many.
    """
    ids, numbered = run.embedding.ids, isinstance(run.embedding.ids, RowNumbers)
    if numbered == isinstance(table.ids, RowNumbers) and not set(run.config.report.formats).isdisjoint(WITH_IDS):
        places = {name: row for row, name in enumerate(table.ids)}
        found = [places.get(name) for name in ids]
        if None not in found:
            return np.array(found, dtype=np.int64)
    rows = np.flatnonzero(~np.isin(table.numbers, [lost.row for lost in dropped_rows(folder)]))
    if len(rows) != len(ids):
        raise damaged(folder, f"{len(ids):,} rows, and the input gives {len(rows):,}")
    return rows


def texts_of(numbers: AnyArray) -> tuple[str, ...]:
    """Return numbers (n) as texts that lead back to them, empty where there is none."""
    return tuple("" if value != value else repr(value) for value in numbers.tolist())

