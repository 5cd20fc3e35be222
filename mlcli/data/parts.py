"""A directory of Parquet files that are one table, as Spark and Dask write it, in the order of their names."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.blocks import in_order
from mlcli.base.compute import Compute
from mlcli.base.footprint import resident
from mlcli.base.rows import Rows
from mlcli.data.arrow import arrow_faults
from mlcli.data.columns import Columnar
from mlcli.data.digest import require_same, state
from mlcli.data.input import Input
from mlcli.data.row_files import BUFFERED, FileId, ParquetRows, parquet_file
from mlcli.data.sheet import FEWER, Sheet
from mlcli.data.source import open_regular
from mlcli.data.streamed import Found, chosen_columns, texts_of, types_of
from mlcli.data.table import Source
from mlcli.data.wording import place
from mlcli.errors import ConfigError, DataError


def parts_of(path: str) -> list[Path]:
    """The Parquet files of a directory, whose names begin neither with a point nor with an underscore."""
    folder = Path(path)
    if path == "-" or not folder.is_dir():
        return []
    return sorted(file for file in folder.glob("*.parquet") if file.name[0] not in "._" and file.is_file())


def found_parts(files: list[Path], input: Input) -> tuple[Found, Source]:
    """The table that files hold together; raises DataError where their columns differ."""
    if input.kind != "features" or input.transpose or input.view.path is not None or input.format not in (
            "auto", "parquet"):
        raise ConfigError("PARTS", "a directory of Parquet files holds a table of features, one row to a point",
                          where="input.path", hint="leave format, kind, transpose and view out, or give one file")
    groups: list[tuple[FileId, int, int]] = []
    rows, large, schema = 0, False, None
    ids: list[FileId] = []
    for path in files:
        descriptor = open_regular(str(path))
        id = FileId(str(path), state(descriptor))
        os.close(descriptor)
        ids.append(id)
        with arrow_faults(str(path), "Parquet"):
            file = id.opened(parquet_file)
            if schema is not None and not file.schema_arrow.equals(schema):
                raise DataError("PARTS", f"its columns are not those of {files[0].name}", where=place(str(path)),
                                hint="all files of a directory must have the same columns, of the same types")
            schema = file.schema_arrow
            for number in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(number)
                groups += [(id, number, rows)] * (group.num_rows > 0)
                rows, large = rows + group.num_rows, large or group.total_byte_size > BUFFERED
    assert schema is not None
    choice = chosen_columns(Columnar(schema.names, schema.types, rows, lambda names: iter(())), input)
    found = Found(ParquetRows(tuple(groups), rows, choice.columns, large), choice, types_of(schema, choice))
    known = cache(lambda: _hashes(ids))
    return found, Source(input.path, cache(lambda: _together(known())), sum(id.state[0] for id in ids), "parquet",
                         Hashes(known, tuple(path.name for path in files)))


def sheet_of_parts(found: Found, input: Input, compute: Compute) -> Sheet:
    """All rows of the files, in memory."""
    compute.require(resident(compute.thread_count()) + found.bytes, f"a table of {found.file.bounds[-1]:,} x "
                    f"{found.file.columns:,} numbers", FEWER)
    values = np.empty((found.file.bounds[-1], found.file.columns))
    for number in range(len(found.file.bounds) - 1):
        for first, rows in Rows(found.file).parts(number):
            values[first : first + len(rows)] = rows
    return replace(texts_of(found, input), values=values)


class Hashes(Mapping[str, Mapping[str, Any]]):
    """Size and hash of every file by its name, computed where they are asked for."""

    def __init__(self, known: Callable[[], Mapping[str, Mapping[str, Any]]], names: tuple[str, ...]) -> None:
        self._known, self._names = known, names

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        return self._known()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _hashes(ids: list[FileId]) -> dict[str, dict[str, Any]]:
    """Those of files that are still what they were; raises StorageError."""
    return {Path(id.path).name: {"bytes": id.state[0], "sha256": found}
            for id, found in zip(ids, in_order(_hash, ids), strict=True)}


def _hash(id: FileId) -> str:
    descriptor = open_regular(id.path)
    with os.fdopen(descriptor, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        require_same(id.path, state(file.fileno()) == id.state)
    return found


def _together(files: Mapping[str, Mapping[str, Any]]) -> str:
    """The hash of all names and hashes."""
    return hashlib.sha256("".join(f"{known['sha256']}  {name}\n" for name, known in files.items()).encode()).hexdigest()
