"""Labels in a second file: read as texts, and joined to rows by id, or row by row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePath

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.values.compute import Compute
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import listed, shown
from mlcli.data.files.formats import format_of
from mlcli.data.files.source import open_input
from mlcli.data.files.streams import text_stream
from mlcli.data.formats.arrays import Texts
from mlcli.data.formats.reader import reader_of
from mlcli.data.options.formats import OWN
from mlcli.data.options.input import AllTexts, Input, LabelFile
from mlcli.data.options.numbers import are_numbers
from mlcli.data.options.wording import counted, duplicates, nearest, place
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Source, Table
from mlcli.errors import ConfigError, DataError, option, with_paths

ENDINGS = OWN["images"].endings


@frozen
class LabelColumns:
    """The columns of a file of labels, as texts."""

    columns: Texts
    file: LabelFile
    source: Source

    @property
    def rows(self) -> int:
        """The number of rows of the file."""
        return len(next(iter(self.columns.values())))


def add_labels(table: Table, input: Input, compute: Compute) -> Table:
    """Return the table with the labels of `input.labels` before its own.

    Raises ConfigError, DataError, InputMissing.
    """
    labeled = with_labels(table, input, compute)
    if isinstance(labeled, DataError):
        raise labeled
    return labeled


def with_labels(table: Table, input: Input, compute: Compute) -> Table | DataError:
    """Return the table with the labels of `input.labels` before its own, or the error of labels of other rows.

    Raises ConfigError, DataError, InputMissing.
    """
    if input.labels.path is None:
        return table
    labels = read_labels(input.labels, input, compute)
    named = [name for name in input.label_columns if name not in table.labels]  # which that file has
    if unknown := [name for name in named if name not in labels.columns]:
        raise ConfigError("UNKNOWN-COLUMN", f"neither the data nor {place(input.labels.path)} have a column "
                          f"{shown(unknown[0])}", where="input.label_columns",
                          hint=nearest(unknown[0], [*labels.columns, *table.columns]))
    if named and not labels.file.columns:
        labels = replace(labels, file=labels.file.replace(columns=tuple(named)))
    joined = _joined(table.ids, table.id_name, labels, table.columns)
    if isinstance(joined, DataError):
        return joined
    again = [name for name in joined if name in table.labels]
    if again:
        raise ConfigError("DUPLICATE-LABELS", f"labels of both files have the name {listed(again)}",
                          where="input.labels.columns", hint="choose others, or rename them")
    return replace(table, labels={**joined, **table.labels}, labels_source=labels.source)


def read_labels(file: LabelFile, input: Input | None = None, compute: Compute | None = None) -> LabelColumns:
    """Return the columns of a file of labels, in the text conventions of the table's input if they fit."""
    given, compute = input or Input(path=str(file.path)), compute or Compute()
    own = AllTexts(path=str(file.path), format=file.format, key=file.key, encoding=given.encoding,
                   missing_markers=given.missing_markers, named=(*file.columns, *filter(None, [file.id_column])),
                   decompress_ratio=given.decompress_ratio, decompress_limit=given.decompress_limit)
    with errors_for_labels(), open_input(own.path, compute) as there:
        format = format_of(there, own)
        if not format.labels:
            raise ConfigError("FORMAT", f"{format.title} holds no labels", where="input.labels.path",
                              hint="give a table with a column of labels, or an array with one for each row")
        if format.text and given.format == file.format:
            with text_stream(there, own) as stream:
                separates = given.separator.encode() in stream.readline()
            own = own.replace(separator=given.separator, decimal=given.decimal) if separates else own
        columns = reader_of(format).labels(there, own, compute)
        return LabelColumns(columns, file, Source(own.path, there.digest, there.size, format.name))


@contextmanager
def errors_for_labels() -> Iterator[None]:
    """Replace options of the table in errors by those of the file of labels."""
    try:
        yield
    except (ConfigError, DataError) as error:
        where = error.where.replace("input.key", "input.labels.key")
        hint = with_paths(error.hint, {"input.key": "input.labels.key"})
        raise error.changed(where=where, hint=hint) from error


def labels_of(ids: Sequence[str], id_name: str, labels: LabelColumns,
              columns_of_table: Sequence[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return the labels of rows: by id if the file has the ids, else row by row if the counts agree.

    Rows that the file lacks have an empty label. Raises ConfigError for an unknown column, and DataError if
    neither way leads to labels.
    """
    joined = _joined(ids, id_name, labels, columns_of_table)
    if isinstance(joined, DataError):
        raise joined
    return joined


def _joined(ids: Sequence[str], id_name: str, labels: LabelColumns,
            columns_of_table: Sequence[str]) -> dict[str, tuple[str, ...]] | DataError:
    """Return what `labels_of` does, or the error of labels of other rows."""
    path, columns, file = place(labels.source.path), labels.columns, labels.file
    for where, names in (("id_column", (file.id_column,) if file.id_column else ()), ("columns", file.columns)):
        for name in names:
            if name not in columns:
                raise ConfigError("UNKNOWN-COLUMN", f"{path} has no column {shown(name)}",
                                  where=f"input.labels.{where}", hint=nearest(name, list(columns)))
    key = file.id_column or shared_ids(ids, id_name, columns)
    wanted = [name for name in file.columns or columns if name != key]
    if not wanted:
        raise DataError("NO-LABELS", "the file holds ids and no labels", where=path,
                        hint="a column beside the ids is needed")
    if key is not None:
        note_numbers(ids, path, "{input.labels.id_column=NAME}")
        return _by_id(ids, columns, key, wanted, path)
    own = None if file.columns or isinstance(ids, RowNumbers) or counts_rows(ids) else own_ids(columns)
    if own is not None:
        return _none_in_common(ids, columns, own, path, columns_of_table)
    if labels.rows != len(ids):
        return DataError("LABELS-DIFFER", f"{counted(labels.rows, 'row')} of labels for {counted(len(ids), 'row')}, "
                         "and no ids in both to join them by", where=path,
                         hint="name the ids of both files: {input.id_column}, and {input.labels.id_column=NAME}")
    note("N-LABELS-IN-ORDER", f"labels of {path} were joined row by row: {without_ids(ids)}; to join them by ids, name "
         "their columns when the data are embedded: {input.id_column}, and {input.labels.id_column=NAME}",
         columns=wanted)
    return {name: columns[name] for name in wanted}


def without_ids(ids: Sequence[str]) -> str:
    """Return in words why rows are joined in their order."""
    return ("the rows have numbers instead of ids" if isinstance(ids, RowNumbers) else
            "the two files have no ids in common")


def note_numbers(ids: Sequence[str], path: str, option: str) -> None:
    """Note a join by a column that was named, of rows whose ids are numbers that no file gave."""
    if isinstance(ids, RowNumbers):
        note("N-ROW-NUMBERS", f"rows of {path} were joined by the numbers of the rows, which have no ids of their own; "
             f"to join them by ids, name those of the data when these are embedded: {{input.id_column}}; to join row "
             f"by row, leave out {option}")


def shared_ids(ids: Sequence[str], id_name: str, columns: Texts) -> str | None:
    """Return the column of the rows' ids: the one of their name, else the first with most of them, each once.

    In the column of that name, or of the file's own ids, one common id is enough.
    """
    if isinstance(ids, RowNumbers):
        return None
    known, files = set(ids), {_file(name) for name in ids}
    shares = {name: len(known.intersection(texts)) or len(files.intersection(map(_file, texts)))
              for name, texts in columns.items() if name == id_name or len(set(texts)) == len(texts)}
    best, own = max(shares, key=lambda name: shares[name], default=""), own_ids(columns)
    for name, needed in ((id_name, 1), (best, len(known) // 2 + 1), (own, 1)):
        if name is not None and shares.get(name, 0) >= needed:
            return name
    return id_name if id_name in columns and not counts_rows(columns[id_name]) else None


def own_ids(columns: Texts) -> str | None:
    """Return the column that names the rows of a file of labels, if there are others.

    That is the first column of texts, if all differ; or a first column that numbers the rows in another
    order.
    """
    first = next(iter(columns))
    texts = next((name for name, cells in columns.items() if not are_numbers(cells, ".")), None)
    if len(columns) == 1:
        return None
    if texts is not None and len(set(columns[texts])) == len(columns[texts]) and not any(
            map(is_missing, columns[texts])):
        return texts
    return first if _shuffled(columns[first]) else None


def counts_rows(texts: Sequence[str]) -> bool:
    """Whether texts count the rows, from 0 or 1."""
    return any(tuple(texts) == tuple(map(str, range(first, first + len(texts)))) for first in (0, 1))


def _shuffled(texts: Sequence[str]) -> bool:
    """Whether texts are the numbers of the rows in another order."""
    return not counts_rows(texts) and all(text.isdecimal() for text in texts) and counts_rows(sorted(texts, key=int))


def _file(name: str) -> str:
    """Return the name of an image's file without folder and suffix; any other name unchanged."""
    return PurePath(name).stem if name.lower().endswith(ENDINGS) else name


def _none_in_common(ids: Sequence[str], columns: Texts, key: str, path: str,
                    columns_of_table: Sequence[str] = ()) -> DataError:
    """Return the error for rows and labels without a common id; the labels may be those of the table's columns."""
    others = ",".join(name for name in columns if name != key)
    return DataError("LABELS-DIFFER", f"none of {counted(len(ids), 'id')} occurs in column {shown(key)}: the rows are "
                     f"called {listed(ids, 2)}, the labels {listed(columns[key], 2)}", where=path,
                     hint="write them alike in both files, or name the columns of ids: {input.id_column}, and "
                     f"{{input.labels.id_column=NAME}}; {option('input.labels.columns', others)} joins row by row"
                     if set(columns_of_table).isdisjoint(columns[key]) else
                     "these are labels of columns: give {input.transpose=true} to make these the rows")


def _by_id(ids: Sequence[str], columns: Texts, key: str, wanted: Sequence[str],
           path: str) -> dict[str, tuple[str, ...]] | DataError:
    """Return the labels of each id; without a common id, names of images are compared without folders and suffixes."""
    names, keys = list(ids), list(columns[key])
    if set(names).isdisjoint(keys):
        names, keys = [_file(name) for name in names], [_file(name) for name in keys]
        if set(names).isdisjoint(keys):
            return _none_in_common(ids, columns, key, path)
        note("N-LABELS-OF-FILES", f"labels of {path} were joined by the names of files, without folders and endings")
    places = {name: row for row, name in enumerate(keys)}
    again = duplicates(keys) if len(places) < len(keys) else []
    if twice := [name for name in again if name in set(names)]:
        raise DataError("DUPLICATE-IDS", f"ids occur more than once: {listed(twice)}", where=path,
                        hint="every row can have one row of labels")
    rows = [places.get(name, -1) for name in names]
    alone = [name for name, row in zip(ids, rows, strict=True) if row < 0]
    if alone:
        note("W-UNLABELED", f"{counted(len(alone), 'row')} without labels in {path}: {listed(alone)}", rows=len(alone))
    return {name: tuple("" if row < 0 else columns[name][row] for row in rows) for name in wanted}
