"""The only module that imports h5py: files are read as data alone, and any damage becomes a DataError."""

import math
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray
from mlcli.base.values.compute import Compute
from mlcli.base.values.extras import load_extra
from mlcli.data.files.arrow import corrupt, memory_limited
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import require_within_limits
from mlcli.data.formats.arrays import KINDS
from mlcli.data.formats.hdf5_heaps import HeapCheckedFile
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place, shown
from mlcli.errors import DataError, UnsafeFile

DEEPEST, MOST = 16, 10_000  # depth of nested groups, and number of members examined
TEXTS = "SO"  # of fixed and of variable length
FAULTS = (RuntimeError, ValueError, KeyError, IndexError, TypeError, OverflowError, EOFError)


def h5py() -> Any:
    """Return the package; raises DependencyMissing."""
    if "h5py" in sys.modules:
        return load_extra("h5", "HDF5")
    with skip_processor_name():
        return load_extra("h5", "HDF5")


@contextmanager
def skip_processor_name() -> Iterator[None]:
    """Answer platform.uname() without the processor's name.

    Python starts the program `uname` to learn it. h5py asks for all of platform.uname() when it is imported, and uses
    only the system's name.
    """
    cached = vars(platform.uname())
    if "processor" in cached:
        yield
        return
    cached["processor"] = ""
    try:
        yield
    finally:
        cached.pop("processor", None)


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
        self.compute.require(3.0 * size, f"a data set of {counted(size, 'byte')}")
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
    with (_faults(opened.path), memory_limited("HDF5", compute), opened.stream() as stream,
          library.File(HeapCheckedFile(stream), "r", rdcc_nbytes=1 << 24) as root):
        yield Hdf5(root, opened.path, input, compute)


@contextmanager
def open_for_changes(path: Path, origin: str) -> Iterator[Any]:
    """Open a file for changes, as h5py has it; raises as `open_hdf5`, for the file that it is a copy of."""
    library = h5py()
    with _faults(origin), path.open("r+b") as stream, library.File(stream, "r+") as root:
        yield root


@contextmanager
def _faults(path: str) -> Iterator[None]:
    """Raise DataError for any error of the library on a bad file; errors of the operating system pass."""
    try:
        yield
    except OSError as error:
        if error.errno:
            raise
        raise corrupt(path, "HDF5", error) from None
    except FAULTS as error:
        raise corrupt(path, "HDF5", error) from None


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
