"""Directories of Parquet or CSV files that form one table, as Spark and Dask write it, in the order of names."""

from pathlib import PurePath

from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import arrow_reading
from mlcli.data.formats.block_file import BlockFile
from mlcli.data.formats.parts import id_of, source_of_files
from mlcli.data.formats.reader import reader_of
from mlcli.data.options.formats import OWN, Format
from mlcli.data.options.input import Input
from mlcli.data.table.table import Source
from mlcli.errors import ConfigError


def source_of_parts(files: list[str], input: Input) -> Source:
    """Return the source of a table in several files."""
    return source_of_files(input.path, list(map(id_of, files)), _format_of(files).name)


def _format_of(files: list[str]) -> Format:
    """Return the format of all files, by the name of the first."""
    return OWN[PurePath(files[0]).suffix[1:]]


def read_parts(files: list[str], input: Input, compute: Compute) -> BlockFile:
    """Return the table of several files for reading in blocks.

    Raises ConfigError for options that do not fit, and DataError if their columns differ.
    """
    format = _format_of(files)
    if input.kind != "features" or input.transpose or input.view.path is not None or input.format not in (
            "auto", format.name):
        raise ConfigError("PARTS", f"a directory of {format.title} files holds a table of features, one row to a "
                          "point", where="input.path",
                          hint="leave format, kind, transpose and view out, or give one file")
    ids = [id_of(path) for path in files]
    parts = reader_of(format).parts
    assert parts is not None
    with arrow_reading(input.path, format.name, compute):
        return parts(ids, input)
