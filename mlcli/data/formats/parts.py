"""Directories of Parquet or CSV files that form one table, as Spark and Dask write it, in the order of names."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from mlcli.base.rows.blocks import in_order
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import arrow_reading
from mlcli.data.files.remote import is_remote, parts_under, state_of
from mlcli.data.files.source import FileId, open_regular
from mlcli.data.formats.block_file import BlockFile
from mlcli.data.formats.cell_names import matrix_in, name_files
from mlcli.data.formats.reader import reader_of
from mlcli.data.options.formats import OWN, Format
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.data.table.table import Source
from mlcli.errors import ConfigError, DataError
from mlcli.process.file_hash import state

PARTS = sorted((format for format in OWN.values() if format.parts), key=lambda format: format.text)


def parts_of(path: str) -> list[str]:
    """Return the files of a directory that are parts of a table, of the first format of `PARTS`, texts last.

    Names that begin with a point or an underscore, and names beside a matrix, are not parts.
    """
    if is_remote(path):
        files = parts_under(path) if path.endswith("/") else []
    else:
        folder = Path(path)
        there = path != "-" and folder.is_dir()
        names = name_files(matrix_in(path)) if there else []
        files = sorted(str(file) for file in folder.glob("*") if file.is_file() and file not in names) if there else []
    every = [[file for file in files if file.endswith(f".{format.name}") and PurePath(file).name[0] not in "._"]
             for format in PARTS]
    return next(filter(None, every), [])


def source_of_files(path: str, ids: list[FileId], format: str) -> Source:
    """Return the source of a table in several files of one folder; asked for, their hashes raise StorageError."""
    for id in ids:
        id.hash_with_reading()
    known = cache(lambda: {Path(id.path).name: {"bytes": id.state[0], "sha256": found}
                           for id, found in zip(ids, in_order(FileId.sha256, ids), strict=True)})
    return Source(path, cache(lambda: combined_hash(known())), sum(id.state[0] for id in ids), format,
                  Hashes(known, tuple(PurePath(id.path).name for id in ids)))


def id_of(path: str) -> FileId:
    """Return the identity of a file in its current state."""
    if is_remote(path):
        return FileId(path, state_of(path))
    descriptor = open_regular(path)
    try:
        return FileId(path, state(descriptor))
    finally:
        os.close(descriptor)


def parts_differ(id: FileId, first: FileId, what: str) -> DataError:
    """Return the error for a file with other columns than the first."""
    return DataError("PARTS", f"its columns are not those of {Path(first.path).name}", where=place(id.path),
                     hint=f"all files of a directory must have {what}")


class Hashes(Mapping[str, Mapping[str, Any]]):
    """Size and hash of every file by its name, computed on demand."""

    def __init__(self, known: Callable[[], Mapping[str, Mapping[str, Any]]], names: tuple[str, ...]) -> None:
        self._known, self._names = known, names

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        return self._known()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def combined_hash(files: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the hash of all names and hashes."""
    return hashlib.sha256("".join(f"{known['sha256']}  {name}\n" for name, known in files.items()).encode(
        "utf-8", "surrogateescape")).hexdigest()


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
