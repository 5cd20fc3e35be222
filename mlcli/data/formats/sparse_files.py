"""Files that hold a sparse matrix: Matrix Market, `scipy.sparse.save_npz`, HDF5."""

from collections.abc import Callable

from mlcli.base.values.compute import Compute
from mlcli.data.files.source import Opened
from mlcli.data.formats.cell_names import named
from mlcli.data.formats.entries import Entries
from mlcli.data.formats.hdf5_table import edges_of_hdf5, sparse_hdf5
from mlcli.data.formats.matrix_market import read_matrix_market
from mlcli.data.formats.npz import read_npz
from mlcli.data.formats.sparse_npz import is_sparse_npz, read_sparse_npz
from mlcli.data.formats.sparse_table import Sparse, plain_sparse
from mlcli.data.options.input import Input
from mlcli.data.table.sheet import Sheet
from mlcli.errors import ConfigError

ENTRIES: dict[str, Callable[[Opened, Input, Compute], Entries]] = {
    "npz": read_sparse_npz, "mtx": read_matrix_market, "hdf5": edges_of_hdf5}


def sparse_in(opened: Opened, input: Input, format: str, compute: Compute) -> Sparse | None:
    """The sparse matrix of a file; None where it holds none. Raises ConfigError and DataError."""
    if format == "hdf5":
        return sparse_hdf5(opened, input, compute)
    if format == "npz" and not is_sparse_npz(opened):
        return None
    if format == "npz" and input.key is not None:
        raise ConfigError("FORMAT", "key has no use with an archive that holds one sparse matrix", where="input.key",
                          hint="leave it out")
    if format not in ENTRIES:
        return None
    entries = ENTRIES[format](opened, input, compute)
    return (named(entries, opened, input, compute) if format == "mtx" else None) or plain_sparse(entries, input)


def read_with_zeros(opened: Opened, input: Input, compute: Compute, format: str) -> Sheet:
    """A table of a format that may be sparse, with all its zeros."""
    found = sparse_in(opened, input, format, compute)
    return read_npz(opened, input, compute) if found is None else found.dense(input, compute)
