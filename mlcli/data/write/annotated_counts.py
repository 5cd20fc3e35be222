"""Counts of cells as AnnData in HDF5 (.h5ad): logarithms in X, counts in a layer, labels in obs."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mlcli.base.types import Array
from mlcli.data.formats.hdf5_file import h5py
from mlcli.data.table.table import Table
from mlcli.data.write.h5ad_elements import FILE, mark, write_frame, write_map, write_rows

DEPTH = 10_000.0  # total of a cell's counts before the logarithm, as in scanpy's tutorials
LAYER = "counts"


def logarithms(counts: Array) -> Array:
    """Return ln(1 + x) of counts (n x d) that are scaled to a total of 10,000 for each cell; empty cells stay zero."""
    totals = counts.sum(axis=1, keepdims=True)
    return np.log1p(counts * (DEPTH / np.where(totals > 0, totals, 1.0)))


def write_annotated_counts(table: Table, path: Path) -> None:
    """Write counts with their labels in single precision; the same table gives the same bytes.

    Raises DependencyMissing.
    """
    with path.open("w+b") as stream, h5py().File(stream, "w") as file:  # HDF5 locks files that it opens by path
        mark(file, FILE)
        _write_matrix(file, "X", logarithms(table.values))
        _write_matrix(write_map(file, "layers"), LAYER, table.values)
        write_frame(file, "obs", table.ids, table.labels)
        write_frame(file, "var", table.columns, {})


def _write_matrix(parent: Any, name: str, values: Array) -> None:
    """Write the numbers that are not zero, row by row."""
    matrix = sparse.csr_array(values.astype(np.float32))
    arrays = {part: getattr(matrix, part) for part in ("data", "indices", "indptr")}
    write_rows(parent, name, matrix.shape, arrays, compression="gzip", shuffle=True)
