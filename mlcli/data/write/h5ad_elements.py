"""Elements of AnnData in HDF5: texts, numbers, arrays, sparse matrices, tables and maps, each with its encoding.

Source: the on-disk format of AnnData, https://anndata.readthedocs.io/en/latest/fileformat-prose.html
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.values.missing import is_missing
from mlcli.base.values.products import Sparse
from mlcli.data.formats.h5ad import INDEX, ORDER, column_order
from mlcli.data.formats.hdf5_file import h5py

Kind = tuple[str, str]  # encoding-type, encoding-version
FILE, TABLE, MAP = ("anndata", "0.1.0"), ("dataframe", "0.2.0"), ("dict", "0.1.0")
ARRAY, TEXTS, TEXT = ("array", "0.2.0"), ("string-array", "0.2.0"), ("string", "0.2.0")
CATEGORIES, NUMBER, ROWS = ("categorical", "0.2.0"), ("numeric-scalar", "0.2.0"), ("csr_matrix", "0.1.0")
NARROW = np.iinfo(np.int32).max  # indices up to this have 32 bits, as SciPy's


def write_element(parent: Any, name: str, value: Any) -> None:
    """Write a text, a number, an array, a `Sparse` matrix or a map of these into a group under a name."""
    if isinstance(value, Mapping):
        group = write_map(parent, name)
        for inner, element in value.items():
            write_element(group, inner, element)
    elif isinstance(value, Sparse):
        _write_sparse(parent, name, value)
    elif isinstance(value, str):
        mark(parent.create_dataset(name, data=value.encode("utf-8", "replace"), dtype=text_type()), TEXT)
    elif isinstance(value, bool | int | float):
        mark(parent.create_dataset(name, data=value), NUMBER)
    else:
        mark(parent.create_dataset(name, data=value), ARRAY)


def write_map(parent: Any, name: str) -> Any:
    """Return a new group for elements by their names."""
    return mark(parent.create_group(name), MAP)


def write_texts(parent: Any, name: str, texts: Sequence[str]) -> None:
    """Write texts as a column."""
    plain = np.array([text.encode("utf-8", "replace") for text in texts], dtype=object)
    mark(parent.create_dataset(name, data=plain, shape=(len(texts),), dtype=text_type()), TEXTS)


def write_frame(file: Any, name: str, ids: Sequence[str], columns: Mapping[str, Sequence[str]]) -> None:
    """Write a table of texts: each column as categories, in sorted order."""
    frame = mark(file.create_group(name), TABLE)
    frame.attrs[INDEX] = INDEX
    frame.attrs[ORDER] = np.array(list(columns), dtype=text_type())
    write_texts(frame, INDEX, ids)
    for column, texts in columns.items():
        group = mark(frame.create_group(column), CATEGORIES)
        group.attrs["ordered"] = False
        known = sorted({text for text in texts if not is_missing(text)})
        codes = {text: code for code, text in enumerate(known)}
        write_texts(group, "categories", known)
        write_element(group, "codes", np.array([codes.get(text, -1) for text in texts], dtype=np.int32))


def list_column(group: Any, name: str) -> None:
    """Add the name of a column to the order of a table's columns, where the group is a table without it."""
    order = column_order(group)
    if order is not None and name not in order:
        group.attrs[ORDER] = np.array([*order, name], dtype=text_type())


def _write_sparse(parent: Any, name: str, matrix: Sparse) -> None:
    """Write a square sparse matrix by its rows; stored zeros stay."""
    size = len(matrix.starts) - 1
    narrow = np.int32 if max(len(matrix.indices), size) <= NARROW else np.int64
    write_rows(parent, name, (size, size), {"data": matrix.values, "indices": matrix.indices.astype(narrow),
                                            "indptr": matrix.starts.astype(narrow)})


def write_rows(parent: Any, name: str, shape: tuple[int, int], arrays: Mapping[str, Any], **storage: Any) -> None:
    """Write a sparse matrix by the arrays of its compressed rows; `storage` are options of HDF5, as its compression."""
    group = mark(parent.create_group(name), ROWS)
    group.attrs["shape"] = np.array(shape)
    for part, values in arrays.items():
        group.create_dataset(part, data=values, **storage)


def text_type() -> Any:
    """Return HDF5's type of a text of any length."""
    return h5py().string_dtype()


def mark(member: Any, kind: Kind) -> Any:
    """Return a group or data set with the attributes that name its encoding."""
    member.attrs["encoding-type"], member.attrs["encoding-version"] = kind
    return member
