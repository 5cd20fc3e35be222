"""The only module that imports h5py: files are read as data alone, and any damage becomes a DataError.

The library goes from object to object by their sizes. Where a damaged size leads to the same object again, it does so
without end (HDF5 2.0 still does), and no signal that Python handles ends it: such a file would end with E-TIME-LIMIT at
best instead of E-CORRUPT, and a program that uses `mlcli.embed` would hang. So global heaps are checked first.
"""

import io
import math
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray
from mlcli.base.values.compute import Compute
from mlcli.base.values.extras import load_extra
from mlcli.base.values.naming import shown
from mlcli.data.files.arrow import library_faults, memory_limited
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import require_within_limits
from mlcli.data.formats.arrays import KINDS
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.errors import DataError, UnsafeFile

SIGNATURE = re.compile(rb"GCOL\x01\0\0\0")  # with the version
LENGTH = 8  # bytes of the signature
HEADER = struct.Struct("<H6xQ")  # of an object: its number and its size; 0 is the number of what is free
SIZE = struct.Struct("<8xQ")  # of a heap, after the signature
WRAP = 2**64  # the library's sizes are numbers up to here
LARGEST = 1 << 28  # bytes of a heap that is looked at


class HeapCheckedFile(io.RawIOBase):
    """A file for reading, in whose parts every global heap has been found to end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._ended = stream, set[int]()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; raises ValueError where a global heap begins in this part that has no end."""
        start = self._stream.tell()
        count = int(self._stream.readinto(buffer))  # type: ignore[attr-defined]
        self._require_ends(memoryview(buffer)[:count], start)
        across = bytes(memoryview(buffer)[max(count - LENGTH + 1, 0) : count])
        self._require_ends(across + self._stream.read(LENGTH - 1), start + count - len(across))
        self._stream.seek(start + count)
        return count

    def _require_ends(self, content: Any, start: int) -> None:
        """Raise ValueError if a heap that begins in a content has no end; `start` is the place of the content."""
        for byte in (start + match.start() for match in SIGNATURE.finditer(content)):
            if byte not in self._ended and not ends(self._heap(byte)):
                raise ValueError(f"the texts from byte {byte} on have no end")
            self._ended.add(byte)

    def _heap(self, byte: int) -> bytes:
        """Return the content of a heap, as far as it is there."""
        self._stream.seek(byte)
        head = self._stream.read(SIZE.size)
        size = SIZE.unpack(head)[0] if len(head) == SIZE.size else 0
        return head + self._stream.read(max(min(size, LARGEST) - SIZE.size, 0))


def ends(heap: bytes) -> bool:
    """Whether the objects of a heap lead to its end, or beyond, which the library refuses by itself."""
    byte, last = SIZE.size, len(heap) - HEADER.size
    while byte <= last:
        number, size = HEADER.unpack_from(heap, byte)
        step = (size if number == 0 else HEADER.size + -(-size // 8) * 8) % WRAP
        if step == 0 or step >= WRAP - byte:  # the same object again, or one before it
            return False
        byte += step
    return True


DEEPEST, MOST = 16, 10_000  # depth of nested groups, and number of members examined
TEXTS = "SO"  # of fixed and of variable length
FAULTS = (RuntimeError, ValueError, KeyError, IndexError, TypeError, OverflowError, EOFError)


def h5py() -> Any:
    """Return the package; raises DependencyMissing."""
    return load_extra("h5", "HDF5")


@frozen
class Hdf5:
    """An open file, and the limits for reading it."""

    root: Any
    path: str
    input: Input
    compute: Compute

    def member(self, key: str) -> Any:
        """Return the group or data set at a path, or None; raises UnsafeFile if it is in another file."""
        found = self.root
        for name in key.strip("/").split("/"):
            if not is_group(found) or name not in found:
                return None
            if isinstance(found.get(name, getlink=True), h5py().ExternalLink):
                raise self.external_error(key)
            found = found[name]
        if not is_group(found) and (found.is_virtual or found.external):
            raise self.external_error(key)
        return found

    def external_error(self, key: str) -> UnsafeFile:
        """Return the error for numbers that are stored in another file."""
        return UnsafeFile("HDF5-ELSEWHERE", f"{shown(key)} is stored in another file, to which this one links",
                          where=place(self.path),
                          hint="copy the numbers into one file (h5repack), or give the other file")

    def array(self, dataset: Any, kinds: str, sides: int | None = None) -> AnyArray:
        """Return a data set of numbers or texts of these kinds, after a check of its size; raises DataError."""
        if is_group(dataset) or dataset.dtype.kind not in kinds or len(dataset.shape or ()) != (
                len(dataset.shape or ()) if sides is None else sides) or dataset.shape is None:
            raise self.refused(dataset)
        size = math.prod(dataset.shape) * dataset.dtype.itemsize
        require_within_limits(size, dataset.id.get_storage_size(), f"the data set {shown(dataset.name)}", self.input)
        self.compute.require_data(3.0 * size, f"a data set of {counted(size, 'byte')}")
        return np.asarray(dataset[()])

    def texts(self, dataset: Any, sides: int | None = 1) -> tuple[str, ...]:
        """Return a data set of one column as texts; numbers have up to 17 digits."""
        values = self.array(dataset, KINDS + TEXTS, sides).ravel()
        if values.dtype.kind in TEXTS:
            return tuple(text.decode("utf-8") if isinstance(text, bytes) else str(text) for text in values.tolist())
        return tuple(f"{value:.17g}" if isinstance(value, float) else str(value) for value in values.tolist())

    def refused(self, what: Any) -> DataError:
        """Return the error for a member that is not a table of numbers."""
        said = "it is a group" if is_group(what) else f"its type is {what.dtype} and its shape {what.shape}"
        return DataError("ARRAY", f"{shown(what.name)} is not a matrix of real numbers: {said}",
                         where=place(self.path), hint="choose another with {input.key}")

    def matrices(self) -> list[str]:
        """Return the paths of all possible tables: matrices of numbers, dense or sparse."""
        return [path for path, found in self._members(self.root, "", DEEPEST) if is_sparse(found) or (
            found.dtype.kind in KINDS and len(found.shape or ()) == 2)][:MOST]

    def columns(self) -> list[str]:
        """Return the paths of all possible labels: data sets with a number or a text for each row."""
        return [path for path, found in self._members(self.root, "", DEEPEST)
                if not is_sparse(found) and is_column(found)][:MOST]

    def _members(self, group: Any, path: str, deepest: int) -> Iterator[tuple[str, Any]]:
        for name in list(group)[:MOST] if deepest else ():
            link = group.get(name, getlink=True)
            if not isinstance(link, h5py().HardLink):
                continue
            found, here = group[name], f"{path}/{name}"
            if is_group(found) and not is_sparse(found):
                yield from self._members(found, here, deepest - 1)
            else:
                yield here, found


@contextmanager
def open_hdf5(opened: Opened, input: Input, compute: Compute) -> Iterator[Hdf5]:
    """Open a file for reading; raises DataError if it is damaged, and DependencyMissing."""
    library = h5py()
    with (library_faults(opened.path, "HDF5", FAULTS), memory_limited("HDF5", compute), opened.stream() as stream,
          library.File(HeapCheckedFile(stream), "r", rdcc_nbytes=1 << 24) as root):
        yield Hdf5(root, opened.path, input, compute)


@contextmanager
def open_for_changes(path: Path, origin: str) -> Iterator[Any]:
    """Open a file for changes, as h5py has it; raises as `open_hdf5`, for the file that it is a copy of."""
    library = h5py()
    with library_faults(origin, "HDF5", FAULTS), path.open("r+b") as stream, library.File(stream, "r+") as root:
        yield root


def is_group(member: Any) -> bool:
    """Whether a member is a group."""
    return isinstance(member, h5py().Group)


def is_sparse(member: Any) -> bool:
    """Whether a member is a group with the arrays of a sparse matrix."""
    return is_group(member) and {"data", "indices", "indptr"} <= set(member)


def is_column(dataset: Any) -> bool:
    """Whether a data set has a number or a text for each row."""
    shape = dataset.shape or ()
    return bool(shape) and dataset.dtype.kind in KINDS + TEXTS and math.prod(shape[1:]) == 1


def attribute(member: Any, *names: str) -> Any:
    """Return the first existing attribute of `names`, as text or array; None if there is none."""
    for name in names:
        if name in member.attrs:
            value = member.attrs[name]
            return value.decode("utf-8") if isinstance(value, bytes) else value
    return None


@frozen
class SparseGroup:
    """A group with the arrays of a sparse matrix, whose names depend on the layout of the file."""

    file: Hdf5
    name: str

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.file.path

    @property
    def compute(self) -> Compute:
        """The resources of the run."""
        return self.file.compute

    def refused(self, what: str) -> DataError:
        """Return the error for a group without such a matrix."""
        return DataError("SPARSE-MATRIX", f"{shown(self.name)} is not a sparse matrix that can be read: {what}",
                         where=place(self.path), hint="write it again, as csr_matrix or csc_matrix")
