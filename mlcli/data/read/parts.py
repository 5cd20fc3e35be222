"""Directories of Parquet or CSV files that form one table, as Spark and Dask write it, in the order of names."""

from pathlib import PurePath

from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import arrow_reading
from mlcli.data.formats.block_file import BlockFile
from mlcli.data.formats.parts import id_of, source_of_files
from mlcli.data.formats.reader import reader_of
from mlcli.data.options.formats import FORMATS
from mlcli.data.options.input import Input
from mlcli.data.table.table import Source
from mlcli.errors import ConfigError


def read_parts(files: list[str], input: Input, compute: Compute) -> tuple[BlockFile, Source]:
    """Return the table of several files for reading in blocks, and its source.

    Raises ConfigError for options that do not fit, and DataError if their columns differ.
    """
    format = FORMATS[PurePath(files[0]).suffix[1:]]
    if input.kind != "features" or input.transpose or input.view.path is not None or input.format not in (
            "auto", format.name):
        raise ConfigError("PARTS", f"a directory of {format.title} files holds a table of features, one row to a "
                          "point", where="input.path",
                          hint="leave format, kind, transpose and view out, or give one file")
    ids = [id_of(path) for path in files]
    parts = reader_of(format).parts
    assert parts is not None
    with arrow_reading(input.path, format.name, compute):
        return parts(ids, input), source_of_files(input.path, ids, format.name)
