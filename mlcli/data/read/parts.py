"""A directory of Parquet or CSV files that are one table, as Spark and Dask write it, in the order of their names."""

from dataclasses import replace
from pathlib import Path, PurePath

from mlcli.base.machine.footprint import resident
from mlcli.base.rows.passes import in_memory
from mlcli.base.rows.source import Rows
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import arrow_faults, arrow_reading
from mlcli.data.files.file_id import FileId
from mlcli.data.files.formats import separator_of
from mlcli.data.formats.columns import Columnar
from mlcli.data.formats.parts import SUFFIXES, id_of, source_of_files
from mlcli.data.formats.row_files import BUFFERED, ParquetRows, encoded, parquet_file
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.data.read.block_file import Found
from mlcli.data.read.blocks import texts_of
from mlcli.data.read.finders import chosen_columns, types_of
from mlcli.data.read.text_blocks import cut_alike, found_of, seekable
from mlcli.data.table.sheet import FEWER, Sheet, require_content
from mlcli.data.table.table import Source
from mlcli.data.text.rows import TextFile, opened_by
from mlcli.errors import ConfigError, DataError


def found_parts(files: list[str], input: Input, compute: Compute) -> tuple[Found, Source]:
    """The table that files hold together; raises DataError where their columns differ."""
    format = PurePath(files[0]).suffix[1:]
    if input.kind != "features" or input.transpose or input.view.path is not None or input.format not in (
            "auto", format):
        raise ConfigError("PARTS", f"a directory of {SUFFIXES[format]} files holds a table of features, one row to a "
                          "point", where="input.path",
                          hint="leave format, kind, transpose and view out, or give one file")
    ids = [id_of(path) for path in files]
    with arrow_reading(input.path, format, compute):
        found = _parquet(ids, input) if format == "parquet" else _texts(ids, input, format)
    return found, source_of_files(input.path, ids, format)


def _texts(ids: list[FileId], input: Input, format: str) -> Found:
    """The table of delimited texts, whose first one says what their columns are."""
    if not seekable(input):
        raise ConfigError("PARTS", "a directory of CSV files must be UTF-8", where="input.encoding",
                          hint="write them as UTF-8, or as one file")
    texts: list[TextFile] = []
    for id in ids:
        asked = texts[0].input if texts else input  # as the first was found to be written
        text = cut_alike(opened_by(id), asked, separator_of(asked, format), texts[0].layout if texts else None)
        if text is None:
            raise _unlike(id, ids[0], "the same columns in the same order, and no quote within a cell that does not "
                          "begin with one")
        texts.append(text)
    found = found_of(tuple(texts))
    require_content(found.file.bounds[-1], found.choice.width, input.path)
    return found


def _unlike(id: FileId, first: FileId, what: str) -> DataError:
    """The error for a file that is no part of the others' table."""
    return DataError("PARTS", f"its columns are not those of {Path(first.path).name}", where=place(id.path),
                     hint=f"all files of a directory must have {what}")


def _parquet(ids: list[FileId], input: Input) -> Found:
    """The table of Parquet files."""
    groups: list[tuple[FileId, int, int]] = []
    rows, large, schema, stored = 0, False, None, 0.0
    for id in ids:
        with arrow_faults(id.path, "Parquet"):
            file = id.opened(parquet_file)
            if schema is not None and not file.schema_arrow.equals(schema):
                raise _unlike(id, ids[0], "the same columns, of the same types")
            schema, stored = file.schema_arrow, max(stored, encoded(file.metadata)[1])
            for number in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(number)
                groups += [(id, number, rows)] * (group.num_rows > 0)
                rows, large = rows + group.num_rows, large or group.total_byte_size > BUFFERED
    assert schema is not None
    choice = chosen_columns(Columnar(schema.names, schema.types, rows, lambda names: iter(())), input)
    return Found(ParquetRows(tuple(groups), rows, choice.columns, large, stored), choice, types_of(schema, choice))


def sheet_of_parts(found: Found, input: Input, compute: Compute) -> Sheet:
    """All rows of the files, in memory."""
    compute.require(resident(compute.thread_count()) + found.bytes, f"a table of {found.file.bounds[-1]:,} x "
                    f"{found.file.columns:,} numbers", FEWER)
    return replace(texts_of(found, input), values=in_memory(Rows(found.file)))


