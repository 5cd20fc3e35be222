"""NPZ archives: one array of a zip file, its size checked from the directory first."""

import errno
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from mlcli.base.stages.stage import note
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import corrupt
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import require_modest
from mlcli.data.formats.npy import array_sheet, points_of_pairs, read_header
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, duplicates, listed, nearest, place, shown
from mlcli.data.table.sheet import Sheet
from mlcli.errors import ConfigError, DataError, UnsafeFile

FAULTS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, ValueError,
          KeyError, OverflowError)
SPARSE = {"format", "shape", "data"}  # what every archive of scipy.sparse.save_npz holds


def read_npz(opened: Opened, input: Input, compute: Compute) -> Sheet:
    """The numbers of one array of an NPZ file."""
    with archive_faults(opened.path), opened.stream() as stream, zipfile.ZipFile(stream) as archive:
        entry = chosen(archive, input)
        require_modest(entry.file_size, entry.compress_size, "the array", input)
        with archive.open(entry) as array:
            return array_sheet(cast(BinaryIO, array), entry.file_size, input.path, input, compute)


@contextmanager
def archive_faults(path: str) -> Iterator[None]:
    """Turns what libraries raise about a damaged archive into DataError."""
    try:
        yield
    except (*FAULTS, OSError) as error:
        cause = error.__context__ if isinstance(error, zipfile.BadZipFile) else error
        if isinstance(cause, OSError) and cause.errno not in (None, errno.EINVAL):  # the disk's fault, not the file's
            raise cause from None
        raise corrupt(path, "NPZ", error) from None


def chosen(archive: zipfile.ZipFile, input: Input) -> zipfile.ZipInfo:
    """The array that `input.key` names, else the only one, or the only one that may be a table."""
    entries = archive.infolist()
    names = names_in(entries)
    again = duplicates(names)
    if again:
        raise DataError("DUPLICATE-ARRAYS", f"arrays occur more than once: {listed(again)}", where=place(input.path),
                        hint="write the file again")
    if not names:
        raise DataError("EMPTY", "the archive holds no array", where=place(input.path),
                        hint="save one with numpy.savez")
    if not any(entry.filename.endswith(".npy") for entry in entries):
        raise DataError("NOT-READ", f"the content is a zip archive of {counted(len(names), 'file')}: "
                        f"{listed(names, 2)}", where=place(input.path),
                        hint="unpack it (unzip FILE), and give the file inside, or the folder of its images")
    tables = [entry for entry in entries if input.key is None and len(names) > 1 and _is_table(archive, entry, input)]
    if len(tables) == 1:
        [taken] = names_in(tables)
        note("N-ARRAY", f"read array {shown(taken)}, the only one of {listed(names)} with rows and columns; --key says "
             "otherwise")
        return tables[0]
    if input.key is None and len(names) > 1:
        raise DataError("NPZ-KEY", f"the archive holds {counted(len(names), 'array')}: {listed(names, 10)}",
                        where=place(input.path), hint=f"choose one with --key, for example --key {names[0]}")
    if input.key is not None and input.key not in names:
        raise ConfigError("UNKNOWN-KEY", f"there is no array {shown(input.key)}", where="input.key",
                          hint=nearest(input.key, names))
    return entries[0] if input.key is None else entries[names.index(input.key)]


def _is_table(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, input: Input) -> bool:
    """Whether an array has rows and columns, or one number for every two points where these are expected."""
    shape = shape_of(archive, entry, input)
    return len(shape) > 1 or (
        input.kind == "dissimilarities" and len(shape) == 1 and points_of_pairs(shape[0]) > 1)


def shape_of(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, input: Input) -> tuple[int, ...]:
    """The shape of an array; empty for objects, and for what is none."""
    with archive.open(entry) as stream:
        try:
            return read_header(cast(BinaryIO, stream), input.path).shape
        except (DataError, UnsafeFile):
            return ()


def names_in(entries: list[zipfile.ZipInfo]) -> list[str]:
    """The names of the arrays."""
    return [entry.filename.removesuffix(".npy") for entry in entries]
