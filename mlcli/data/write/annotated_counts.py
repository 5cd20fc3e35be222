"""Counts of cells as AnnData in HDF5 (.h5ad): logarithms in X, counts in a layer, labels in obs.

Source: the on-disk format of AnnData, https://anndata.readthedocs.io/en/latest/fileformat-prose.html
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mlcli.base.types import Array
from mlcli.data.formats.h5ad import INDEX
from mlcli.data.formats.hdf5_file import h5py
from mlcli.data.table.table import Table

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
        _mark(file, "anndata", "0.1.0")
        _write_matrix(file, "X", logarithms(table.values))
        _write_matrix(_mark(file.create_group("layers"), "dict", "0.1.0"), LAYER, table.values)
        _write_frame(file, "obs", table.ids, table.labels)
        _write_frame(file, "var", table.columns, {})


def _write_matrix(parent: Any, name: str, values: Array) -> None:
    """Write the numbers that are not zero, row by row."""
    matrix = sparse.csr_array(values.astype(np.float32))
    group = _mark(parent.create_group(name), "csr_matrix", "0.1.0")
    group.attrs["shape"] = np.array(matrix.shape)
    for part in ("data", "indices", "indptr"):
        group.create_dataset(part, data=getattr(matrix, part), compression="gzip", shuffle=True)


def _write_frame(file: Any, name: str, ids: Sequence[str], columns: Mapping[str, Sequence[str]]) -> None:
    """Write a table of texts: each column as categories, in sorted order."""
    frame = _mark(file.create_group(name), "dataframe", "0.2.0")
    frame.attrs[INDEX] = INDEX
    frame.attrs["column-order"] = np.array(list(columns), dtype=h5py().string_dtype())
    _write_texts(frame, INDEX, ids)
    for column, texts in columns.items():
        group = _mark(frame.create_group(column), "categorical", "0.2.0")
        group.attrs["ordered"] = False
        known, codes = np.unique(np.array(texts), return_inverse=True)
        _write_texts(group, "categories", known.tolist())
        _mark(group.create_dataset("codes", data=codes.astype(np.int8)), "array", "0.2.0")


def _write_texts(parent: Any, name: str, texts: Sequence[str]) -> None:
    plain = np.array([text.encode() for text in texts], dtype=object)
    _mark(parent.create_dataset(name, data=plain, shape=(len(texts),), dtype=h5py().string_dtype()), "string-array",
          "0.2.0")


def _mark(member: Any, kind: str, version: str) -> Any:
    """Return a group or data set with the attributes that name its encoding."""
    member.attrs["encoding-type"], member.attrs["encoding-version"] = kind, version
    return member
