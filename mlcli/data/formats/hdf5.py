"""Tables in HDF5: a data set of a plain file, or a matrix of AnnData with its names, dense or sparse."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import listed, shown
from mlcli.data.files.source import Opened
from mlcli.data.formats.arrays import KINDS, LABEL, Texts, as_doubles, matrix_sheet
from mlcli.data.formats.h5ad import MAIN, column_names, is_anndata, require_length, row_frame
from mlcli.data.formats.hdf5_file import Hdf5, SparseGroup, attribute, is_column, is_group, is_sparse, open_hdf5
from mlcli.data.formats.reader import Reader
from mlcli.data.formats.sparse import Entries, SparseSheet, entries_of, named_sparse, of_columns, plain_sparse
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, nearest, place
from mlcli.data.table.selection import Choice, choose
from mlcli.data.table.sheet import Sheet, require_content
from mlcli.errors import ConfigError, DataError, option

LISTED = 20  # matrices named in a message
SAMPLES, OBSERVATIONS = "sample/matrix", "observation/matrix"  # BIOM stores its counts twice


def read_hdf5(opened: Opened, input: Input, compute: Compute) -> Sheet:
    """Return the table that `input.key` names, or the only one, as a sheet; raises ConfigError and DataError."""
    with open_hdf5(opened, input, compute) as file:
        key, member = choose_member(file)
        if is_sparse(member):
            return _sparse(file, key, member).dense(input, compute)
        values = as_doubles(file.array(member, KINDS), opened.path)
        if values.ndim == 1 and input.kind == "dissimilarities":
            return Sheet(values, ())
        if values.ndim != 2:
            raise file.refused(member)
        require_content(values.shape[0], values.shape[1], opened.path)
        if not is_anndata(file):
            return matrix_sheet(values, input)
        choice, names = _names(file, key, values.shape)
        return replace(names, values=values if len(choice.values) == values.shape[1] else np.ascontiguousarray(
            values[:, choice.values]))


def sparse_hdf5(opened: Opened, input: Input, compute: Compute) -> SparseSheet | None:
    """Return the chosen table if it is sparse; else None."""
    with open_hdf5(opened, input, compute) as file:
        key, member = choose_member(file)
        return _sparse(file, key, member) if is_sparse(member) else None


def edges_of_hdf5(opened: Opened, input: Input, compute: Compute) -> Entries:
    """Return the entries of a sparse matrix, as a graph; raises DataError for another member."""
    with open_hdf5(opened, input, compute) as file:
        key, member = choose_member(file)
        if not is_sparse(member):
            raise file.refused(member)
        entries = _entries(file, member)
        return replace(entries, ids=_row_ids(file, key, entries.shape[0])) if is_anndata(file) else entries


def labels_in(opened: Opened, input: Input, compute: Compute) -> Texts:
    """Return labels: a data set with a number or a text for each row, or the columns of texts of AnnData."""
    with open_hdf5(opened, input, compute) as file:
        if is_anndata(file):
            return read_hdf5(opened, input, compute).labels
        key = input.key or only_one(file, file.columns(), "column")
        found = file.member(key)
        if found is None:
            raise unknown(file, key, file.columns())
        if is_group(found) or not is_column(found):
            raise file.refused(found)
        return {LABEL: file.texts(found, None)}


def choose_member(file: Hdf5) -> tuple[str, Any]:
    """Return path and content of the member to read; raises ConfigError and DataError with the existing ones."""
    key = file.input.key
    if key is None and is_anndata(file) and file.input.kind != "graph":
        key = MAIN
    if key is None and is_biom(file) and file.input.kind != "graph":
        key = SAMPLES
    if key is None:
        key = only_one(file, file.matrices(), "matrix")
    found = file.member(key)
    if found is None:
        raise unknown(file, key, file.matrices())
    return key.strip("/"), found


def only_one(file: Hdf5, there: list[str], noun: str) -> str:
    """Return the path of the only member of a list; raises DataError with the list if there are more or none."""
    if len(there) == 1:
        return there[0]
    raise DataError("HDF5-KEY", f"the file holds {counted(len(there), noun).replace('matrixs', 'matrices')}"
                    + (f": {listed(there, LISTED)}" if there else " of numbers"), where=place(file.path),
                    hint=f"choose one with {{input.key}}, for example {option('input.key', there[0])}" if there
                    else "give another file")


def unknown(file: Hdf5, key: str, there: list[str]) -> ConfigError:
    """Return the error for a key that does not exist."""
    return ConfigError("UNKNOWN-KEY", f"there is nothing at {shown(key)}", where="input.key",
                       hint=nearest(key, there))


def _row_ids(file: Hdf5, key: str, rows: int) -> tuple[str, ...]:
    """Return the names of a matrix's rows."""
    return require_length(row_frame(file, key).ids(), rows, f"{shown(key)} has {rows:,} rows", file.path)


def _sparse(file: Hdf5, key: str, member: Any) -> SparseSheet:
    """Return a sparse matrix with its names."""
    if "barcodes" in member:
        return _of_cells(file, key, member)
    if is_biom(file) and key in (SAMPLES, OBSERVATIONS):
        return _of_biom(file, key, member)
    entries = _entries(file, member)
    if not is_anndata(file):
        return plain_sparse(entries, file.input)
    require_content(*entries.shape, file.path)
    choice, names = _names(file, key, entries.shape)
    return SparseSheet(of_columns(entries.by_rows(), choice.values, file.path), names)


def _of_cells(file: Hdf5, key: str, member: Any) -> SparseSheet:
    """Return counts of Cell Ranger: a column of genes x cells for each barcode, which is a row here.

    Genes have their names, or their ids if names repeat.
    """
    group = _Group(file, member.name)
    entries = entries_of(group, "csc", group.array("shape", "iu", 1)).transposed()
    require_content(*entries.shape, file.path)

    def names_at(path: str, size: int) -> tuple[str, ...]:
        found = file.member(f"{key}/{path}")
        return require_length(() if found is None else file.texts(found), size, f"{shown(key)} has {size:,} of {path}",
                              file.path)

    genes = names_at("features/name", entries.shape[1])
    genes = genes if len(set(genes)) == len(genes) else names_at("features/id", entries.shape[1])
    return named_sparse(entries, names_at("barcodes", entries.shape[0]), genes, file.input)


def _of_biom(file: Hdf5, key: str, member: Any) -> SparseSheet:
    """Return counts of BIOM, by samples or by observations: the rows are those of the key."""
    sides = ("sample", "observation") if key == SAMPLES else ("observation", "sample")
    rows, columns = (file.texts(file.member(f"{side}/ids")) for side in sides)
    entries = entries_of(_Group(file, member.name), "csr", np.array([len(rows), len(columns)]))
    return named_sparse(entries, rows, columns, file.input)


def is_biom(file: Hdf5) -> bool:
    """Whether a file has the layout of BIOM 2: https://biom-format.org/documentation/format_versions."""
    return all(file.member(path) is not None for path in ("observation/ids", "sample/ids", SAMPLES))


def _entries(file: Hdf5, member: Any) -> Entries:
    """Return the entries of a sparse group, whose attributes contain form and shape."""
    form = str(attribute(member, "encoding-type", "h5sparse_format") or "").removesuffix("_matrix")
    shape = attribute(member, "shape", "h5sparse_shape")
    return entries_of(_Group(file, member.name), form, np.asarray(() if shape is None else shape))


def _names(file: Hdf5, key: str, shape: tuple[int, ...]) -> tuple[Choice, Sheet]:
    """Choose columns of a matrix of AnnData; return the choice, and a sheet with its names without numbers.

    Raises ConfigError and DataError.
    """
    frame, names = row_frame(file, key), column_names(file, key, shape[1])
    input = file.input.for_columns(names, frame.columns())
    choice = choose(names, input.replace(id_column=None, label_columns=()))

    def described(column: str, where: str) -> tuple[str, ...]:
        return require_length(frame.chosen(column, where), shape[0], f"{shown(key)} has {shape[0]:,} rows", file.path)

    words = tuple(name for name in frame.words() if name not in (*input.label_columns, input.ids_from))
    labels = {name: described(name, "input.label_columns") for name in (*input.label_columns, *words)}
    ids = (_row_ids(file, key, shape[0]) if input.ids_from is None
           else described(input.ids_from, "input.id_column"))
    id_name = "" if input.ids_from is None and frame.index == "_index" else input.ids_from or frame.index
    return choice, Sheet(np.empty((shape[0], 0)), choice.columns, True, ids, id_name, labels, words=words,
                         listed=choice.listed, apart=True)


@frozen
class _Group(SparseGroup):
    """The arrays of a sparse matrix by the names of AnnData and SciPy."""

    def array(self, name: str, kinds: str, sides: int) -> AnyArray:
        """Return one of the group's data sets; raises DataError if it is absent or of another kind."""
        found = self.file.member(f"{self.name}/{name}")
        if found is None or is_group(found) or found.dtype.kind not in kinds:
            raise self.refused(f"it has no array {name} of such numbers")
        return self.file.array(found, kinds, sides)


READER = Reader(sheet=read_hdf5, sparse=sparse_hdf5, entries=edges_of_hdf5, texts=labels_in)
