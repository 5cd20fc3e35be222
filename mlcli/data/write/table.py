"""Writing of tables: CSV with 17 digits, Parquet, NPY; a block of rows at a time, or as its parts are computed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile, gettempdir
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.scratch import parts, release_pages
from mlcli.base.stages.stage import note
from mlcli.base.values.naming import shown
from mlcli.base.values.scaling import all_finite
from mlcli.data.files.arrow import pyarrow
from mlcli.data.options.numbers import NUMBERS
from mlcli.data.options.wording import counted, place
from mlcli.data.table.row_numbers import RowNumbers, join_ids
from mlcli.data.table.table import Table
from mlcli.errors import StorageError
from mlcli.publication.publish import writing

if TYPE_CHECKING:
    from mlcli.data.read.new_rows import MappedTable

CELLS = 1 << 18  # cells formatted in one step
GROUP = 1 << 20, 1 << 24  # rows and numbers of a Parquet file's row group, at most
QUOTED = re.compile(r'[",\r\n]|^\s|\s\Z')
FORMULA = re.compile(r"[=+\-@\t\r]")


def write_table(table: Table, path: Path, format: str) -> None:
    """Write a table to a file: ids, labels, then the columns (NPY: the values alone)."""
    with writing_to(path) as stream:
        {"csv": write_csv, "parquet": write_parquet, "npy": write_npy}[format](table, stream)


@contextmanager
def writing_to(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for writing; raises StorageError if writing fails."""
    try:
        with path.open("wb") as stream:
            yield stream
    except OSError as error:  # a full disk does not always carry its number
        raise StorageError("WRITE", f"writing failed: {error.strerror or error}", where=place(str(path)),
                           hint="check the space and the permissions there") from None


def write_csv(table: Table, stream: BinaryIO) -> None:
    """Write a table as CSV; every number has 17 digits, which read back to the same bits."""
    warn_of_formulas(table)
    stream.write(csv_header(table))
    write_lines(table, stream)


def csv_header(table: Table) -> bytes:
    """Return the names of the columns as a line of CSV."""
    header = map(quoted, [*names_with_warning(table), *table.columns])
    return (",".join(header) + "\n").encode("utf-8", "surrogateescape")


def write_lines(table: Table, stream: BinaryIO) -> None:
    """Write the rows as lines of CSV."""
    blocks = row_blocks(len(table.ids), CELLS, 1 + len(table.columns))
    for text in in_order(partial(csv_text, table), blocks):
        stream.write(text)
        release_pages()


def csv_text(table: Table, rows: slice) -> bytes:
    """Return some of the rows as CSV."""
    if isinstance(table.ids, RowNumbers) and not table.labels and native.available():
        lines = native.numbered_lines(table.ids[rows].array(), np.ascontiguousarray(table.values[rows]))
        prefix = table.ids.prefix.encode()
        return prefix + lines[:-1].replace(b"\n", b"\n" + prefix) + lines[-1:] if prefix and lines else lines
    texts = [text_cells(column[rows]) for column in (table.ids, *table.labels.values())]
    values = table.values[rows]
    exact = all_finite(values)
    numbers = values.T.tolist() if exact else [number_cells(column) for column in values.T.tolist()]
    form = ",".join(["%s"] * len(texts) + ["%.17g" if exact else "%s"] * len(numbers)) + "\n"
    cells = chain.from_iterable(zip(*texts, *numbers, strict=True))
    return (form * len(values) % tuple(cells)).encode("utf-8", "surrogateescape")


def text_cells(texts: Sequence[str]) -> Sequence[str | int]:
    """Return ids or labels as CSV cells that read back to the same characters."""
    if isinstance(texts, RowNumbers):
        return list(texts) if texts.prefix else texts.array().tolist()
    return [quoted(text) for text in texts]


def text_array(texts: Sequence[str]) -> Any:
    """Return ids or labels as an array of Arrow; row numbers become text here."""
    arrow = pyarrow()
    if isinstance(texts, RowNumbers) and not texts.prefix:
        return arrow.array(texts.array()).cast(arrow.large_string())
    return arrow.array(list(texts), arrow.large_string())


def number_cells(column: Sequence[float]) -> list[str]:
    """Return numbers, infinite and missing ones included, as CSV cells of 17 significant digits."""
    return [f"{value:.17g}".replace("nan", "NaN").replace("inf", "Inf") for value in column]


def quoted(text: str) -> str:
    """Return a text, in quotes if it needs them."""
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def write_parquet(table: Table, stream: BinaryIO) -> None:
    """Write a table as Parquet: ids and labels as text, columns in double precision."""
    with parquet_writer(table, stream) as writer:
        for rows in row_blocks(len(table.ids), group_rows(table)):
            write_group(writer, table, rows)
            release_pages()


def group_rows(table: Table) -> int:
    """Return the number of rows of a table's row groups, by the number of its columns."""
    most, numbers = GROUP
    return min(most, max(numbers // max(len(table.columns), 1), 1))


def parquet_writer(table: Table, stream: BinaryIO) -> Any:
    """Return Arrow's writer for the columns of a table."""
    arrow = pyarrow()
    from pyarrow import parquet

    names = names_with_warning(table)
    types = [arrow.string()] * len(names) + [arrow.float64()] * len(table.columns)
    schema = arrow.schema(list(zip([*names, *table.columns], types, strict=True)))
    return parquet.ParquetWriter(stream, schema, write_page_checksum=True, use_dictionary=names[1:])


def write_group(writer: Any, table: Table, rows: slice) -> None:
    """Write some rows as a row group."""
    arrow = pyarrow()
    texts = [text_array(column[rows]).cast(arrow.string()) for column in (table.ids, *table.labels.values())]
    numbers = [arrow.array(np.ascontiguousarray(column)) for column in table.values[rows].T]
    writer.write_table(arrow.table([*texts, *numbers], schema=writer.schema))


def write_npy(table: Table, stream: BinaryIO) -> None:
    """Write the values alone."""
    write_npy_header(stream, table.values.shape)
    for some in parts(table.values):
        stream.write(np.ascontiguousarray(some).data)


def write_npy_header(stream: BinaryIO, shape: tuple[int, ...]) -> None:
    """Write the header of numpy.save, whose length does not depend on the number of rows."""
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})


def text_names(table: Table) -> list[str]:
    """Return the headers of ids and labels, distinct from the columns' own names."""
    taken = set(table.columns)
    names = []
    for name, suffix in [(table.id_name, "_id"), *((label, "_label") for label in table.labels)]:
        unique = name
        while unique in taken:
            unique += suffix
        taken.add(unique)
        names.append(unique)
    return names


def names_with_warning(table: Table) -> list[str]:
    """Return the headers of ids and labels, with a warning for each that is renamed."""
    names = text_names(table)
    for name, unique in zip((table.id_name, *table.labels), names, strict=True):
        if unique != name:
            note("W-RENAMED", f"column {shown(name)} is written as {shown(unique)}, because the name is already used",
            name=unique)
    return names


def warn_of_formulas(table: Table) -> None:
    """Warn about ids, labels and their names that a spreadsheet would run as formulas."""
    columns = table.ids, *table.labels.values(), [table.id_name, *table.labels]
    warn_of_texts(columns, "id or label", remedy="; Parquet is safe")


def warn_of_texts(columns: Iterable[Sequence[str]], what: str, file: str = "", remedy: str = "") -> None:
    """Warn about texts in a CSV file that a spreadsheet would run as formulas, with what each of them is."""
    risky = [text for texts in columns if not isinstance(texts, RowNumbers) for text in texts
             if FORMULA.match(text) and not NUMBERS["."].fullmatch(text)]
    if risky:
        within = f" in {file}" if file else ""
        note("W-FORMULA", f"{counted(len(risky), what)}{within} would be run as a formula by a spreadsheet, "
             f"for example {shown(risky[0], 40)}{remedy}", cells=len(risky))


LARGER = "set TMPDIR to a larger disk, or write to a file (-o)"


def write_mapped(placed: "MappedTable", path: Path, format: str) -> None:
    """Write the parts of a table to a file: ids, labels, then the columns (NPY: the values alone)."""
    with writing_to(path) as stream:
        _write(placed, stream, format)


def write_when_complete(placed: "MappedTable", stream: BinaryIO) -> None:
    """Write the parts as CSV to an open stream after all are computed, so that an error leaves no output."""
    folder = Path(gettempdir())
    with writing(folder, LARGER):
        held = TemporaryFile(dir=folder)  # noqa: SIM115 (standard output has errors of its own)
    with held:
        with writing(folder, LARGER):
            _write(placed, held, "csv")
            held.seek(0)
        copyfileobj(held, stream)


def _write(placed: "MappedTable", stream: BinaryIO, format: str) -> None:
    if format == "csv":
        warn_of_formulas(placed.table)
    write_parts(placed.parts(), stream, format)


def write_parts(parts: Iterator[Table], stream: BinaryIO, format: str) -> None:
    """Write a table that comes in parts, at least one: ids, labels, then the columns (NPY: the values alone)."""
    first = next(parts)
    every = chain([first], parts)
    if format == "csv":
        stream.write(csv_header(first))
        for part in every:
            write_lines(part, stream)
    elif format == "parquet":
        with parquet_writer(first, stream) as writer:
            for group in regroup(every, group_rows(first)):
                write_group(writer, group, slice(None))
    else:
        _write_npy(every, len(first.columns), stream)


def regroup(parts: Iterator[Table], rows: int) -> Iterator[Table]:
    """Yield the rows in tables of `rows` rows; the last one has the remainder."""
    held, count = list[Table](), 0
    for part in parts:
        held.append(part)
        count += len(part.ids)
        if count < rows:
            continue
        whole = joined(held)
        for start in range(0, count - rows + 1, rows):
            yield _cut(whole, slice(start, start + rows))
        held, count = [_cut(whole, slice(count - count % rows, None))], count % rows
    if count:
        yield joined(held)


def _write_npy(parts: Iterator[Table], columns: int, stream: BinaryIO) -> None:
    """Write the values; their number is written into the header at the end, which has space for any."""
    write_npy_header(stream, (0, columns))
    rows = 0
    for part in parts:
        stream.write(np.ascontiguousarray(part.values).tobytes())
        rows += len(part.values)
    stream.seek(0)
    write_npy_header(stream, (rows, columns))


def joined(parts: list[Table]) -> Table:
    """Return parts as one table."""
    if len(parts) == 1:
        return parts[0]
    return replace(parts[0], values=np.concatenate([part.values for part in parts]), places=None,
                   ids=join_ids([part.ids for part in parts]),
                   labels={name: tuple(chain(*(part.labels[name] for part in parts))) for name in parts[0].labels})


def _cut(table: Table, rows: slice) -> Table:
    """Return consecutive rows of a table."""
    return replace(table, values=table.values[rows], ids=table.ids[rows], places=None,
                   labels={name: texts[rows] for name, texts in table.labels.items()})
