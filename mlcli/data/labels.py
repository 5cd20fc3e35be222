"""Labels in a second file: read as texts, and joined to rows by id, or row by row."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from mlcli.base.compute import Compute
from mlcli.base.frozen import frozen
from mlcli.base.stage import note
from mlcli.data.formats import TEXTS, format_of
from mlcli.data.images import SUFFIXES
from mlcli.data.input import AllTexts, Input
from mlcli.data.label_file import LabelFile
from mlcli.data.layout import features_layout
from mlcli.data.npy import broken, read_header, read_values, require_size
from mlcli.data.row_numbers import RowNumbers
from mlcli.data.sheets import read_sheet
from mlcli.data.source import Opened, opened
from mlcli.data.streams import text_stream
from mlcli.data.table import Source, Table
from mlcli.data.wording import counted, duplicates, listed, nearest, place, shown
from mlcli.data.words import is_word
from mlcli.errors import ConfigError, DataError

LABEL = "label"  # the name of an only column that the file does not name
KINDS = "fiubU"  # of numbers and texts in arrays

Texts = Mapping[str, tuple[str, ...]]


@frozen
class Labels:
    """The columns of a file of labels, all of them as texts."""

    columns: Texts
    file: LabelFile
    source: Source

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return len(next(iter(self.columns.values())))


def labeled(table: Table, input: Input, compute: Compute) -> Table:
    """The table with the labels of `input.labels` before its own; raises ConfigError, DataError and InputMissing."""
    if input.labels.path is None:
        return table
    labels = read_labels(input.labels, input, compute)
    joined = labels_of(table.ids, table.id_name, labels)
    again = [name for name in joined if name in table.labels]
    if again:
        raise ConfigError("DUPLICATE-LABELS", f"labels of both files have the name {listed(again)}",
                          where="input.labels.columns", hint="choose others, or rename them")
    return replace(table, labels={**joined, **table.labels}, labels_source=labels.source)


def read_labels(file: LabelFile, input: Input | None = None, compute: Compute | None = None) -> Labels:
    """The columns of a file of labels, in the conventions of text that the table's input has where they fit."""
    given, compute = input or Input(path=str(file.path)), compute or Compute()
    own = AllTexts(path=str(file.path), format=file.format, encoding=given.encoding,
                   decompress_ratio=given.decompress_ratio, decompress_limit=given.decompress_limit)
    with opened(own.path, compute) as there:
        format = format_of(there, own)
        if format in TEXTS and given.format == file.format and _separates(given.separator, there, own):
            own = own.replace(separator=given.separator, decimal=given.decimal)
        columns = _of_array(there) if format == "npy" else _of_table(there, own, format, compute)
        return Labels(columns, file, Source(own.path, there.digest, there.size, format))


def _separates(separator: str, there: Opened, own: Input) -> bool:
    """Whether the first line of a file has a separator."""
    with text_stream(there, own) as stream:
        return separator.encode() in stream.readline()


def _of_table(there: Opened, own: Input, format: str, compute: Compute) -> Texts:
    """All columns of a table as texts."""
    sheet = read_sheet(there, own, format, compute, features_layout)
    return sheet.labels if sheet.named or len(sheet.labels) > 1 else {LABEL: next(iter(sheet.labels.values()))}


def _of_array(there: Opened) -> Texts:
    """An array of one label for each row."""
    with there.stream() as stream:
        header = read_header(stream, there.path)
        rows = header.shape[0] if header.shape else 0
        if header.dtype.kind not in KINDS or header.dtype.subdtype is not None or math.prod(header.shape[1:]) != 1:
            raise DataError("LABEL-ARRAY", f"the array holds no labels: its shape is {header.shape} and its type is "
                            f"{header.dtype}", where=place(there.path),
                            hint="a number or a text for each row is needed")
        require_size(header, there.size, there.path)
        if not rows:
            raise broken("it holds no rows", there.path)
        values = read_values(stream, header, there.path).ravel().tolist()
    return {LABEL: tuple(f"{value:.17g}" if isinstance(value, float) else str(value) for value in values)}


def labels_of(ids: Sequence[str], id_name: str, labels: Labels) -> dict[str, tuple[str, ...]]:
    """The labels of rows: by their ids where the file holds these, else row by row where the counts agree.

    Rows that the file does not name have an empty label. Raises ConfigError for a column that is not there, and
    DataError where neither way leads to labels.
    """
    path, columns, file = place(labels.source.path), labels.columns, labels.file
    for where, names in (("id_column", (file.id_column,) if file.id_column else ()), ("columns", file.columns)):
        for name in names:
            if name not in columns:
                raise ConfigError("UNKNOWN-COLUMN", f"{path} has no column {shown(name)}",
                                  where=f"input.labels.{where}", hint=nearest(name, list(columns)))
    key = file.id_column or _key(ids, id_name, columns)
    if key is None and (bare := _without_endings(ids)) is not None and (key := _key(bare, id_name, columns)):
        ids = bare
    wanted = [name for name in file.columns or columns if name != key]
    if not wanted:
        raise DataError("NO-LABELS", "the file holds ids and no labels", where=path,
                        hint="a column beside the ids is needed")
    if key is not None:
        return _by_id(ids, columns, key, wanted, path)
    if labels.rows != len(ids):
        raise DataError("LABELS-DIFFER", f"{counted(labels.rows, 'row')} of labels for {counted(len(ids), 'row')}, and "
                        "no ids in both to join them by", where=path,
                        hint="name the ids of both files: --id-column, and --set input.labels.id_column=NAME")
    _require_no_ids(ids, wanted if not file.columns else (), columns, path)
    note("N-LABELS-IN-ORDER", f"labels of {path} were joined row by row: the two files have no ids in common",
         columns=wanted)
    return {name: columns[name] for name in wanted}


def _key(ids: Sequence[str], id_name: str, columns: Texts) -> str | None:
    """The column that holds the rows' ids: under their name, else the first that has most of them, and each once."""
    if isinstance(ids, RowNumbers):
        return None
    if id_name in columns:
        return id_name
    known = set(ids)
    shares = {name: len(known.intersection(texts)) for name, texts in columns.items() if len(set(texts)) == len(texts)}
    best = max(shares, key=lambda name: shares[name], default=None)
    return best if best is not None and 2 * shares[best] > len(known) else None


def _require_no_ids(ids: Sequence[str], wanted: Sequence[str], columns: Texts, path: str) -> None:
    """Refuses to join rows in order where both files name them by words, and by other ones; raises DataError."""
    def names_rows(texts: Sequence[str]) -> bool:
        return len(set(texts)) == len(texts) and all(is_word(text, ".") for text in texts)

    named = [name for name in wanted if len(wanted) > 1 and names_rows(columns[name])]
    if named and not isinstance(ids, RowNumbers) and names_rows(ids):
        others = ",".join(name for name in wanted if name != named[0])
        raise DataError("LABELS-DIFFER", f"column {shown(named[0])} names each row once, and none as the table does: "
                        f"{listed(columns[named[0]], 3)} for {listed(ids, 3)}", where=path, hint="correct the ids, or "
                        f"join the files row by row: --set input.labels.columns=[{others}]")


def _without_endings(ids: Sequence[str]) -> Sequence[str] | None:
    """Names of images as files of labels often have them; None where rows are not named after images."""
    paths = [] if isinstance(ids, RowNumbers) else [PurePath(name) for name in ids]
    if not paths or any(path.suffix.lower() not in SUFFIXES for path in paths):
        return None
    bare = tuple(str(path.with_suffix("")) for path in paths)
    return bare if len(set(bare)) == len(bare) else None


def _by_id(ids: Sequence[str], columns: Texts, key: str, wanted: Sequence[str],
           path: str) -> dict[str, tuple[str, ...]]:
    """The labels of each id."""
    places = {name: row for row, name in enumerate(columns[key])}
    again = duplicates(columns[key]) if len(places) < len(columns[key]) else []
    if twice := [name for name in again if name in set(ids)]:
        raise DataError("DUPLICATE-IDS", f"ids occur more than once: {listed(twice)}", where=path,
                        hint="every row can have one row of labels")
    rows = [places.get(name, -1) for name in ids]
    alone = [name for name, row in zip(ids, rows, strict=True) if row < 0]
    if len(alone) == len(rows):
        raise DataError("LABELS-DIFFER", f"none of {counted(len(rows), 'id')} stands in column {shown(key)}: "
                        f"{listed(alone)}", where=path,
                        hint="name the column of ids: --set input.labels.id_column=NAME")
    if alone:
        note("W-UNLABELED", f"{counted(len(alone), 'row')} without labels in {path}: {listed(alone)}", rows=len(alone))
    return {name: tuple("" if row < 0 else columns[name][row] for row in rows) for name in wanted}
