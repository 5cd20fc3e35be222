"""AnnData in HDF5 (.h5ad): an embedding, as a file of its own or in a copy of its input, and generated counts of cells.

Source: the on-disk format of AnnData, https://anndata.readthedocs.io/en/latest/fileformat-prose.html
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import listed, shown
from mlcli.base.values.products import Sparse
from mlcli.data.files.shared_handle import CHUNK
from mlcli.data.files.source import Opened
from mlcli.data.formats.h5ad import INDEX, ORDER, column_order
from mlcli.data.formats.hdf5_file import h5py, is_group, open_for_changes
from mlcli.data.options.wording import place
from mlcli.data.table.table import Table
from mlcli.errors import DataError

Kind = tuple[str, str]  # encoding-type, encoding-version
FILE, TABLE, MAP = ("anndata", "0.1.0"), ("dataframe", "0.2.0"), ("dict", "0.1.0")
ARRAY, TEXTS, TEXT = ("array", "0.2.0"), ("string-array", "0.2.0"), ("string", "0.2.0")
CATEGORIES, NUMBER, ROWS = ("categorical", "0.2.0"), ("numeric-scalar", "0.2.0"), ("csr_matrix", "0.1.0")
NARROW = np.iinfo(np.int32).max  # indices up to this have 32 bits, as SciPy's


def write_element(parent: Any, name: str, value: Any) -> None:
    """Write a text, a number, an array, a `Sparse` matrix or a map of these into a group under a name.

    The matrix is square, and written by its rows; stored zeros stay.
    """
    if isinstance(value, Mapping):
        group = write_map(parent, name)
        for inner, element in value.items():
            write_element(group, inner, element)
    elif isinstance(value, Sparse):
        size = len(value.starts) - 1
        narrow = np.int32 if max(len(value.indices), size) <= NARROW else np.int64
        write_rows(parent, name, (size, size), {"data": value.values, "indices": value.indices.astype(narrow),
                                                "indptr": value.starts.astype(narrow)})
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


Members = Mapping[str, Any]  # elements by their paths, as obsm/X_pca


@frozen
class Content:
    """The content of a new file."""

    ids: Sequence[str]  # n
    labels: Mapping[str, Sequence[str]]  # n texts each
    features: Sequence[str]  # d
    members: Members


def write_h5ad(content: Content, path: Path) -> None:
    """Write the file; the same content gives the same bytes. Raises DataError and DependencyMissing."""
    for name in content.labels:
        if "/" in name or name in (INDEX, "."):
            raise DataError("H5AD-NAME", f"HDF5 cannot hold the name {shown(name)}",
                            hint="rename the label column: names hold no slash")
    with path.open("w+b") as stream, h5py().File(stream, "w") as file:  # HDF5 locks files that it opens by path
        mark(file, FILE)
        write_frame(file, "obs", content.ids, content.labels)
        write_frame(file, "var", content.features, {})
        for name in ("obsm", "uns"):
            write_map(file, name)
        write_members(file, content.members, str(path))


def copy_h5ad(opened: Opened, members: Members, path: Path) -> None:
    """Write a copy of an open file in blocks, then members into it; what else is there stays, byte for byte.

    Raises DataError for a file that has no places for them, and UnsafeFile for places in other files.
    """
    with opened.stream() as source, path.open("wb") as target:
        shutil.copyfileobj(source, target, CHUNK)
    with open_for_changes(path, opened.path) as file:
        if replaced := write_members(file, members, opened.path):
            every = listed(replaced, len(replaced))
            note("N-REPLACED", f"the copy has the run's {every} in place of the input's", members=replaced)


def write_members(root: Any, members: Members, path: str) -> list[str]:
    """Write elements at their paths, and return the paths of those that replaced others.

    Raises DataError where a group cannot hold them, and UnsafeFile where it is in another file.
    """
    replaced = []
    for member, element in members.items():
        name, _, inner = member.partition("/")
        group = _group_of(root, name, path)
        if inner in group:
            del group[inner]
            replaced.append(member)
        write_element(group, inner, element)
        order = column_order(group)
        if order is not None and inner not in order:  # a table without the column
            group.attrs[ORDER] = np.array([*order, inner], dtype=text_type())
    return replaced


def _group_of(root: Any, name: str, path: str) -> Any:
    """Return the group of a name, a new one where there is none."""
    if name not in root:
        return write_map(root, name)
    own = isinstance(root.get(name, getlink=True), h5py().HardLink)  # others lead elsewhere, even to other files
    if not own or not is_group(root[name]):
        raise DataError("H5AD", f"{name} is not a group of this file: it is not AnnData of version 0.7 or later",
                        where=place(path), hint="read it with a recent anndata, and write it again")
    return root[name]
