"""The colors of a finished run by columns: its labels, and columns of its input, in the order of its rows.

The input is read again for columns that are no labels: the files that the run read, or the run that it was made from.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import mute_notes
from mlcli.base.types import AnyArray, Indices
from mlcli.base.values.column_ranges import split_at_commas
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import listed, shown
from mlcli.config.run_config import RunConfig
from mlcli.data.files.formats import file_name
from mlcli.data.files.source import open_input
from mlcli.data.formats.h5ad import GENES, MAIN, OF_GENES, Annotations, is_anndata, row_frame, split_key
from mlcli.data.formats.hdf5_file import Hdf5, open_hdf5
from mlcli.data.options.formats import HDF5
from mlcli.data.options.input import Input, LabelFile
from mlcli.data.options.numbers import is_number
from mlcli.data.options.wording import nearest, place
from mlcli.data.read.chosen_rows import column_of, is_column
from mlcli.data.read.table import read_unchecked
from mlcli.data.table.row_numbers import places_of
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, UsageError
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.pipeline.read_run import moved, read_run
from mlcli.pipeline.start import table_of
from mlcli.report.figures.coloring import numbers_of
from mlcli.report.page.figure_files import MOST_COLORS
from mlcli.rundir.embedding import dropped_rows
from mlcli.rundir.reading import damaged
from mlcli.runs.input import input_states, require_beside, require_input, run_before, unchanged_table

FLAG = "--color-by"


def with_colors(run: FinishedRun, folder: Path, given: Sequence[str], input: str | None = None) -> FinishedRun:
    """Return a run whose colors are by the columns that are given; those that are no labels are read from its input.

    `input` is where that lies now. Raises ConfigError for a column that is in neither, for too many of them and for an
    input without any, and what `split_names` and `columns_of_input` do.
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
    found = columns_of_input(run, folder, lacking, input, FLAG) if lacking else {}
    labels = {**table.labels, **{name: column.texts for name, column in found.items()}}
    measured = frozenset(name for name, column in found.items() if column.measured)
    table = replace(table, labels=labels, measured=table.measured | measured)
    return replace(run, embedding=table, colors=tuple(names))


def split_names(given: Sequence[str], labels: Collection[str]) -> list[str]:
    """Return names of columns, each once: those with commas between are several, unless a label has the whole name.

    A name that holds commas stands in quotes, as in a line of CSV. Raises UsageError for what is no name.
    """
    names: list[str] = []
    for text in given:
        some = [text] if text in labels else split_at_commas(text)
        if not all(some):
            raise UsageError("REPORT-COLORS", f"{text[:80]!r} has an empty name", where=FLAG,
                             hint="separate names by single commas, and put a name that holds commas in quotes")
        names += some
    return list(dict.fromkeys(names))


@frozen
class Column:
    """A column of a run's input in the order of the run's rows."""

    texts: tuple[str, ...]
    measured: bool  # whether it holds numbers

    def take(self, rows: Indices) -> "Column":
        """Return the column at some rows (m)."""
        return replace(self, texts=tuple(self.texts[row] for row in rows.tolist()))


def columns_of_input(run: FinishedRun, folder: Path, names: Sequence[str], given: str | None,
                     where: str) -> dict[str, Column]:
    """Return columns of a run's input, or of that of a run which it was made from, up to the files that one read.

    `given` is where the input lies now. Raises ConfigError at the option `where` for a column that none of them has,
    DataError for one without a value, and what `unchanged_table` and `run_before` do.
    """
    if run.config.input.kind != "features" or not run.manifest["input"]["rows"]:
        known = ", ".join(list(run.embedding.labels)[:10]) or "none"
        raise ConfigError("REPORT-LABEL", f"the run has no label column {listed(names)}, and its input no columns",
                          where=where, hint=f"its label columns are: {known[:200]}; others can be in a file (--labels)")
    before = run_before(run, given)
    if before is None and run.config.input.views:
        with mute_notes():
            return columns_of_files(run, folder, names, given, where)
    if before is None:
        config = unchanged_table(run, given, f"{listed(names)} is no label column of the run")
        with mute_notes():
            return columns_of_file(run, folder, config, names, where)
    with mute_notes():
        table, _ = table_of(Input(path=str(before)))
    own = [name for name in names if is_column(table, name)]
    others = [name for name in names if name not in own]
    earlier = columns_of_input(read_run(before), before, others, given, where) if others else {}
    rows = rows_of_run(run, folder, table)
    return {**{name: column_in(table, name, rows, str(before)) for name in own},
            **{name: column.take(rows) for name, column in earlier.items()}}


def columns_of_files(run: FinishedRun, folder: Path, names: Sequence[str], given: str | None,
                     where: str) -> dict[str, Column]:
    """Return columns of the several files that a run read, each of the first one that has it.

    FILE.NAME is the column of that file, as the run calls one whose name another file has as well. A file is opened
    only for columns that those before it lack. Raises what `columns_of_input` does.
    """
    config = moved(run.config, run.manifest, given, ())
    labels = config.input.labels if config.input.where else LabelFile()  # conditions may be about labels
    files, found, lacking = config.input.replace(labels=labels).files, dict[str, Column](), list(names)
    for number, (file, (path, state)) in enumerate(zip(
            files, input_states(config, run.manifest["input"], (given,)), strict=False)):
        if lacking:
            require = require_beside if number else require_input
            require(path, state, f"{listed(lacking)} is no label column of the run")
        for name, own in product(tuple(lacking), ("", f"{file_name(path)}.")):
            if name not in found and name.startswith(own) and (
                    column := column_of_file(run, folder, config.replace(input=file), name.removeprefix(own), where)):
                found[name] = column
        lacking = [name for name in lacking if name not in found]
    if lacking:
        raise ConfigError("REPORT-LABEL", f"there is no column {shown(lacking[0])} in the run or its input",
                          where=where, hint=f"name a column of {listed([place(file.path) for file in files], 10)}")
    return {name: found[name] for name in names}


def column_of_file(run: FinishedRun, folder: Path, config: RunConfig, name: str, where: str) -> Column | None:
    """Return a column of one of several files that a run read; None where that file lacks it."""
    try:
        return columns_of_file(run, folder, config, [name], where)[name]
    except ConfigError as error:
        if error.code != "E-REPORT-LABEL":
            raise
        return None


def columns_of_file(run: FinishedRun, folder: Path, config: RunConfig, names: Sequence[str],
                    where: str) -> dict[str, Column]:
    """Return columns of the file that a run read: features, and texts or numbers beside them."""
    found = dict[str, Column]()
    for asked, chosen in choices_of(config, names, anndata=run.manifest["input"].get("format") == HDF5):
        table = table_with(asked, chosen, config, where)
        rows = rows_of_run(run, folder, table)
        found |= {name: column_in(table, name, rows, asked.path) for name in chosen}
    return found


def choices_of(config: RunConfig, names: Sequence[str], *, anndata: bool) -> list[tuple[Input, Sequence[str]]]:
    """Return the options by which a file is read for columns: all at once, but AnnData once for each matrix.

    Answers are not coded. Features of a table that is transposed are rows of the file, which is read as a whole.
    """
    input = config.input.replace(answers=(), reverse=(), items=(), range=None)
    if input.transpose:
        return [(input, names)]
    if anndata:
        with open_input(input.path, config.compute) as opened, open_hdf5(opened, input, config.compute) as file:
            if is_anndata(file):
                return choices_of_anndata(file, input, names)
    return [(input.replace(columns=tuple(names)), names)]


def choices_of_anndata(file: Hdf5, input: Input, names: Sequence[str]) -> list[tuple[Input, Sequence[str]]]:
    """Return the options for columns of the matrix that a run read and of its obs, and those for other genes, of X."""
    beside, first = set(row_frame(file, (input.key or MAIN).strip("/")).columns()), split_key(input.key)[0]
    genes = () if first in OF_GENES else Annotations(file, "raw/var" if first == "raw" else "var").ids()
    features = [name for name in names if name not in beside]
    measured = first in (*GENES, *OF_GENES)
    of_genes = [] if measured else [name for name in features if name in set(genes)]
    own = [name for name in features if name not in of_genes]
    described = tuple(name for name in names if name in beside)
    labels = (*input.label_columns, *(name for name in described if name not in input.label_columns))
    some = own or (genes[:1] if measured else ())  # labels alone need no more of a large matrix
    choices: list[tuple[Input, Sequence[str]]] = []
    if own or described:
        choices.append((input.replace(columns=tuple(some), label_columns=labels), (*own, *described)))
    if of_genes:
        choices.append((input.replace(columns=tuple(of_genes), key=None), of_genes))
    return choices


def table_with(asked: Input, names: Sequence[str], config: RunConfig, where: str) -> Table:
    """Return the rows of a file with columns, those of text as categories; raises ConfigError for an unknown one."""
    try:
        table = read_unchecked(asked, config.compute, "" if asked.transpose else "named", streams=True)
    except ConfigError as error:
        if error.where != "input.columns":
            raise
        unknown = error.code == "E-UNKNOWN-COLUMN"
        raise (ConfigError("REPORT-LABEL", f"{error.what} in the run or its input", where=where, hint=error.hint)
               if unknown else error.changed(where=where)) from None
    for name in names:
        if not is_column(table, name):
            raise ConfigError("REPORT-LABEL", f"there is no column {shown(name)} in the run or its input", where=where,
                              hint=nearest(name, [*table.labels, *table.columns]))
    return table


def column_in(table: Table, name: str, rows: Indices, path: str) -> Column:
    """Return a column of a table at these rows (n); raises DataError for one that holds no value."""
    cells = column_of(table, name)
    if isinstance(cells, np.ndarray):
        texts = texts_of(np.asarray(cells)[rows])
    else:
        given, point = (cells[row] for row in rows.tolist()), table.point
        texts = tuple(given) if point == "." else tuple(
            text.replace(point, ".") if is_number(text, point) else text for text in given)
    if all(map(is_missing, texts)):
        raise DataError("EMPTY-COLUMN", f"column {shown(name)} holds no value", where=place(path),
                        hint="choose another")
    return Column(texts, measured=name not in table.categories and numbers_of(texts) is not None)


def rows_of_run(run: FinishedRun, folder: Path, table: Table) -> Indices:
    """Return the places of a run's rows in its input: by id where both have ids, else all but those left out.

    A view may have further rows, which the first file lacks. Raises UnsafeFile where these are not as many.
    """
    ids = run.embedding.ids
    if (found := places_of(ids, table.ids)) is not None:
        return found
    rows = np.flatnonzero(~np.isin(table.numbers, [lost.row for lost in dropped_rows(folder)]))
    if run.config.input.views:  # matched by number, up to the end of the shortest file
        rows = rows[:len(ids)]
    if len(rows) != len(ids):
        raise damaged(folder, f"{len(ids):,} rows, and the input gives {len(rows):,}")
    return rows


def texts_of(numbers: AnyArray) -> tuple[str, ...]:
    """Return numbers (n) as texts that lead back to them, empty where there is none."""
    return tuple("" if value != value else repr(value) for value in numbers.tolist())
