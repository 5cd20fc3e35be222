"""NPZ: arrays in a zip archive, of which one is read, or a sparse matrix of SciPy.

Every size is checked from the directory of the archive before memory is allocated.
"""

import errno
import lzma
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import listed, shown
from mlcli.data.files.arrow import corrupt
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import require_within_limits
from mlcli.data.formats.arrays import StoredArray, points_of_pairs
from mlcli.data.formats.npy import Header, header_of, read_header, read_values, require_size, stored_in
from mlcli.data.formats.reader import Reader
from mlcli.data.formats.sparse import Entries, SparseSheet, entries_of, plain_sparse
from mlcli.data.options.input import AllTexts, Input
from mlcli.data.options.wording import counted, duplicates, nearest, place
from mlcli.errors import ConfigError, DataError, option

FAULTS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, ValueError,
          KeyError, OverflowError)
SPARSE = {"format", "shape", "data"}  # arrays in every archive of scipy.sparse.save_npz


@contextmanager
def array_in(opened: Opened, input: Input, compute: Compute) -> Iterator[StoredArray]:
    """Open an array of an archive."""
    with open_archive(opened) as archive:
        entry = choose_entry(archive, input)
        require_within_limits(entry.file_size, entry.compress_size, "the array", input)
        with archive.open(entry) as array:
            yield stored_in(cast(BinaryIO, array), entry.file_size, input.path)


@contextmanager
def open_archive(opened: Opened) -> Iterator[zipfile.ZipFile]:
    """Open an archive; errors of libraries on a damaged one become DataError."""
    try:
        with opened.stream() as stream, zipfile.ZipFile(stream) as archive:
            yield archive
    except (*FAULTS, OSError) as error:
        cause = error.__context__ if isinstance(error, zipfile.BadZipFile) else error
        if isinstance(cause, OSError) and cause.errno not in (None, errno.EINVAL):  # the disk's fault, not the file's
            raise cause from None
        raise corrupt(opened.path, "NPZ", error) from None


def choose_entry(archive: zipfile.ZipFile, input: Input) -> zipfile.ZipInfo:
    """Return the array that `input.key` names, else the only one, or the only possible table or labels.

    Raises ConfigError and DataError.
    """
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
    if input.key is None and len(names) > 1:
        return (_only_labels if isinstance(input, AllTexts) else _only_table)(archive, names, input)
    if input.key is not None and input.key not in names:
        raise ConfigError("UNKNOWN-KEY", f"there is no array {shown(input.key)}", where="input.key",
                          hint=nearest(input.key, names))
    return entries[0] if input.key is None else entries[names.index(input.key)]


def _only_table(archive: zipfile.ZipFile, names: list[str], input: Input) -> zipfile.ZipInfo:
    """Return the only array of several that may be a table; raises DataError if there is none, or more than one."""
    tables = [entry for entry in archive.infolist() if _is_table(archive, entry, input)]
    if len(tables) != 1:
        raise DataError("NPZ-KEY", f"the archive holds {counted(len(names), 'array')}: {listed(names, 10)}",
                        where=place(input.path), hint=f"choose one with {{input.key}}, for example "
                                                      f"{option('input.key', names[0])}")
    [taken] = names_in(tables)
    note("N-ARRAY", f"read array {shown(taken)}, the only one of {listed(names)} with rows and columns; choose another "
         f"with {{input.key}}")
    return tables[0]


def _is_table(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, input: Input) -> bool:
    """Whether an array has rows and columns, or is condensed where dissimilarities are expected."""
    shape = shape_of(archive, entry, input)
    return len(shape) > 1 or (
        input.kind == "dissimilarities" and len(shape) == 1 and points_of_pairs(shape[0]) > 1)


def _only_labels(archive: zipfile.ZipFile, names: list[str], input: Input) -> zipfile.ZipInfo:
    """Return the only array of several with a label for each row.

    Raises DataError if there is none, or more than one.
    """
    fitting = [entry for entry in archive.infolist()
               if (shape := shape_of(archive, entry, input)) and math.prod(shape[1:]) == 1]
    if len(fitting) != 1:
        raise DataError("NPZ-KEY", f"{counted(len(fitting), 'array')} of {listed(names, 10)} may be labels",
                        where=place(input.path), hint="name it: {input.labels.key=NAME}")
    [taken] = names_in(fitting)
    note("N-ARRAY", f"labels are array {shown(taken)}, the only one of {listed(names)} with one number for each row; "
         "choose another with input.labels.key")
    return fitting[0]


def shape_of(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, input: Input) -> tuple[int, ...]:
    """Return the shape of an array; empty for objects, and for other files."""
    with archive.open(entry) as stream:
        header = header_of(cast(BinaryIO, stream), input.path)
        return header.shape if isinstance(header, Header) else ()


def names_in(entries: list[zipfile.ZipInfo]) -> list[str]:
    """Return the names of the arrays."""
    return [entry.filename.removesuffix(".npy") for entry in entries]


def entries_in(opened: Opened, input: Input, compute: Compute) -> Entries:
    """Return the entries of a sparse matrix of `scipy.sparse.save_npz`; raises ConfigError and DataError."""
    if input.key is not None:
        raise ConfigError("FORMAT", "key cannot be used with an archive that holds one sparse matrix",
                          where="input.key",
                          hint="leave it out")
    with open_archive(opened) as archive:
        stored = _SparseArchive(archive, input, compute)
        form = stored.array("format", "SU", 0).item()
        return entries_of(stored, form.decode("latin-1") if isinstance(form, bytes) else form,
                          stored.array("shape", "iu", 1))


def sparse_in(opened: Opened, input: Input, compute: Compute) -> SparseSheet | None:
    """Return the sparse matrix of an archive; None if it has other arrays."""
    with open_archive(opened) as archive:
        if not set(names_in(archive.infolist())) >= SPARSE:
            return None
    return plain_sparse(entries_in(opened, input, compute), input)


@frozen
class _SparseArchive:
    """The arrays of a sparse matrix in an archive."""

    archive: zipfile.ZipFile
    input: Input
    compute: Compute

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.input.path

    def array(self, name: str, kinds: str, sides: int) -> AnyArray:
        """Return an array of the expected kind, after a check of its size; raises DataError."""
        try:
            entry = self.archive.getinfo(f"{name}.npy")
        except KeyError:
            raise self.refused(f"it has no array {name}") from None
        require_within_limits(entry.file_size, entry.compress_size, f"the array {name}", self.input)
        with self.archive.open(entry) as stream:
            header = read_header(cast(BinaryIO, stream), self.input.path)
            if header.dtype.kind not in kinds or len(header.shape) != sides:
                raise self.refused(f"{name} is of type {header.dtype} and shape {header.shape}")
            require_size(header, entry.file_size, self.input.path)
            self.compute.require_data(3.0 * header.size, f"an array of {counted(header.size, 'byte')}")
            return read_values(cast(BinaryIO, stream), header, self.input.path)

    def refused(self, what: str) -> DataError:
        """Return the error for a file without such a matrix."""
        return DataError("SPARSE-MATRIX", f"this is not a sparse matrix that can be read: {what}",
                         where=place(self.input.path),
                         hint="write it with scipy.sparse.save_npz, in the form csr, csc or coo")


READER = Reader(array=array_in, sparse=sparse_in, entries=entries_in)
