"""Sparse matrices as `scipy.sparse.save_npz` writes them; every size is checked before memory is taken."""

import zipfile
from typing import BinaryIO, cast

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray
from mlcli.base.values.compute import Compute
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import require_modest
from mlcli.data.formats.entries import Entries
from mlcli.data.formats.npy import read_header, read_values, require_size
from mlcli.data.formats.npz import SPARSE, archive_faults, names_in
from mlcli.data.formats.sparse_arrays import entries_of
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.errors import DataError


def read_sparse_npz(opened: Opened, input: Input, compute: Compute) -> Entries:
    """The entries of a sparse matrix; raises DataError."""
    with archive_faults(opened.path), opened.stream() as stream, zipfile.ZipFile(stream) as archive:
        stored = _Archive(archive, input, compute)
        form = stored.array("format", "SU", 0).item()
        return entries_of(stored, form.decode("latin-1") if isinstance(form, bytes) else form,
                          stored.array("shape", "iu", 1))


def is_sparse_npz(opened: Opened) -> bool:
    """Whether an archive holds the arrays of a sparse matrix; raises DataError where it is damaged."""
    with archive_faults(opened.path), opened.stream() as stream, zipfile.ZipFile(stream) as archive:
        return set(names_in(archive.infolist())) >= SPARSE


@frozen
class _Archive:
    """The arrays of a file."""

    archive: zipfile.ZipFile
    input: Input
    compute: Compute

    @property
    def path(self) -> str:
        """The file."""
        return self.input.path

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
        return DataError("SPARSE-MATRIX", f"this is not a sparse matrix that can be read: {what}",
                         where=place(self.input.path),
                         hint="write it with scipy.sparse.save_npz, in the form csr, csc or coo")
