"""Sparse matrices as `scipy.sparse.save_npz` writes them; every size is checked before memory is taken."""

import zipfile
from typing import BinaryIO, cast

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Indices
from mlcli.data.edges import Edges
from mlcli.data.input import Input
from mlcli.data.npy import KINDS, as_doubles, read_header, read_values, require_size
from mlcli.data.npz import archive_faults
from mlcli.data.source import Opened
from mlcli.data.streams import require_modest
from mlcli.data.wording import counted, place, shown
from mlcli.errors import DataError


def read_sparse_npz(opened: Opened, input: Input, compute: Compute) -> Edges:
    """The entries of a sparse matrix by rows, by columns or by coordinates; explicit zeros are entries."""
    with archive_faults(opened.path), opened.stream() as stream, zipfile.ZipFile(stream) as archive:
        return _Archive(archive, input, compute).edges()


@frozen
class _Archive:
    """The arrays of a file."""

    archive: zipfile.ZipFile
    input: Input
    compute: Compute

    def edges(self) -> Edges:
        """The entries as the form of the matrix says."""
        form = self.array("format", "SU", 0).item()
        form = form.decode("latin-1") if isinstance(form, bytes) else form
        rows, columns = self.shape()
        if rows != columns:
            raise DataError("NOT-SQUARE", f"the matrix has {counted(rows, 'row')} and {counted(columns, 'column')}",
                            where=place(self.input.path), hint="a graph has one row and one column for every point")
        values = as_doubles(self.array("data", KINDS, 1), self.input.path)
        if form == "coo":
            left, right = self.places("row", rows), self.places("col", rows)
        elif form in ("csr", "csc"):
            left, right = self.compressed(rows, len(values))
            left, right = (left, right) if form == "csr" else (right, left)
        else:
            raise self.refused(f"its form is {shown(str(form), 20)}")
        if not len(left) == len(right) == len(values):
            raise self.refused("its arrays are of different lengths")
        return Edges(rows, left, right, values)

    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        shape = self.array("shape", "iu", 1)
        if len(shape) != 2 or (shape < 0).any() or (shape > 2**31).any():
            raise self.refused("its shape is not two sizes")
        return int(shape[0]), int(shape[1])

    def compressed(self, size: int, entries: int) -> tuple[Indices, Indices]:
        """The place of each entry along the compressed side, and along the other one."""
        starts = self.array("indptr", "iu", 1).astype(np.int64)
        self.compute.require(16.0 * size, f"a matrix of {counted(size, 'row')}")
        if len(starts) != size + 1 or starts[0] != 0 or starts[-1] != entries or (np.diff(starts) < 0).any():
            raise self.refused("indptr does not cut the entries into rows")
        return np.repeat(np.arange(size), np.diff(starts)), self.places("indices", size)

    def places(self, name: str, size: int) -> Indices:
        """Numbers of rows or columns."""
        numbers = self.array(name, "iu", 1).astype(np.int64)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < size):
            raise self.refused(f"{name} names rows or columns that are not there")
        return numbers

    def array(self, name: str, kinds: str, sides: int) -> AnyArray:
        """One array of a kind that is expected, after its size was checked."""
        try:
            entry = self.archive.getinfo(f"{name}.npy")
        except KeyError:
            raise self.refused(f"it has no array {name}") from None
        require_modest(entry.file_size, entry.compress_size, f"the array {name}", self.input)
        with self.archive.open(entry) as stream:
            header = read_header(cast(BinaryIO, stream), self.input.path)
            if header.dtype.kind not in kinds or len(header.shape) != sides:
                raise self.refused(f"{name} is of type {header.dtype} and shape {header.shape}")
            require_size(header, entry.file_size, self.input.path)
            self.compute.require(3.0 * header.size, f"an array of {counted(header.size, 'byte')}")
            return read_values(cast(BinaryIO, stream), header, self.input.path)

    def refused(self, what: str) -> DataError:
        """The error for a file that holds no such matrix."""
        return DataError("SPARSE-MATRIX", f"this is not a sparse matrix that can be read as a graph: {what}",
                         where=place(self.input.path),
                         hint="write it with scipy.sparse.save_npz, in the form csr, csc or coo")
