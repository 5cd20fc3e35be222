"""MAT-files of versions 4, 5 and 7.3: the same variables, refused by name where they hold no real numbers."""

import io
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from mlcli.data.options.input import Input, LabelFile, View
from mlcli.data.read.labels import read_labels
from mlcli.data.read.table import read
from mlcli.errors import ConfigError, DataError
from tests.data.helpers import refused, written
from tests.wording import Wording

X = np.random.default_rng(1).normal(size=(7, 3))
Y = np.arange(7.0) % 3
FEW = sparse.random_array((7, 5), density=0.3, rng=np.random.default_rng(2), format="csc")
RING = sparse.csc_array(np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0))
CLASSES = {"f": {8: "double", 4: "single"}, "b": {1: "logical"}}


def hdf5(variables: dict[str, Any]) -> bytes:
    """A file as MATLAB writes it with -v7.3: behind 512 bytes, axes reversed, classes as attributes."""
    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if isinstance(value, dict):
                member: Any = file.create_group(name)
                kind = "struct"
            elif sparse.issparse(value):
                member = file.create_group(name)
                member["data"], member["ir"], member["jc"] = value.data, value.indices, value.indptr
                member.attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
                kind = "double"
            elif isinstance(value, str):
                member, kind = file.create_dataset(name, data=np.array([[ord(sign)] for sign in value], "u2")), "char"
            elif value.dtype == object:
                member, kind = file.create_dataset(name, data=np.zeros(value.shape[::-1], "u8")), "cell"
            elif value.dtype.kind == "c":
                parts = np.zeros(value.shape[::-1], [("real", "f8"), ("imag", "f8")])
                member, kind = file.create_dataset(name, data=parts), "double"
            elif not value.size:
                member, kind = file.create_dataset(name, data=np.array(value.shape, "u8")), "double"
                member.attrs["MATLAB_empty"] = np.uint8(1)
            else:
                stored = np.atleast_2d(value).T
                member = file.create_dataset(name, data=stored.astype("u1") if value.dtype == bool else stored)
                kind = CLASSES.get(value.dtype.kind, {}).get(value.dtype.itemsize, str(value.dtype))
            member.attrs["MATLAB_class"] = np.bytes_(kind)
        file.create_group("#refs#")["a"] = np.eye(3)
    content = bytearray(stream.getvalue())
    content[:29] = b"MATLAB 7.3 MAT-file, Platform"
    return bytes(content)


def saved(version: str, variables: dict[str, Any]) -> bytes:
    if version == "7.3":
        return hdf5(variables)
    stream = io.BytesIO()
    savemat(stream, variables, format=version[0], do_compression=version == "5 compressed", oned_as="column")
    return stream.getvalue()


VERSIONS = ["4", "5", "5 compressed", "7.3"]


def path_of(folder: Path, version: str, variables: dict[str, Any], name: str = "data.mat") -> str:
    return written(folder, saved(version, variables), name)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", [X, X.astype("f4"), np.round(9 * X).astype("i2"), X > 0],
                         ids=["f8", "f4", "i2", "logical"])
def test_a_variable_is_a_table(tmp_path: Path, version: str, values: Any) -> None:
    if version == "4" and values.dtype.kind in "ib":
        values = values.astype("f8")  # which version 4 has not, as MATLAB writes it
    table = read(Input(path=path_of(tmp_path, version, {"x": values})))
    np.testing.assert_array_equal(table.values, values)
    assert table.columns == ("x1", "x2", "x3") and table.values.flags.c_contiguous


@pytest.mark.parametrize("version", VERSIONS)
def test_several_variables_need_a_key(tmp_path: Path, version: str) -> None:
    path = path_of(tmp_path, version, {"x": X, "other": X[:, :2]})
    error = refused(path, DataError, "MAT-KEY")
    assert "'x', 'other'" in error.what.replace("'other', 'x'", "'x', 'other'") and "--key" in error.hint
    np.testing.assert_array_equal(read(Input(path=path, key="x")).values, X)
    assert "'other'" in refused(path, ConfigError, "UNKNOWN-KEY", key="othr").hint


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("value", "what"), [
    ({"a": np.eye(2)}, "a struct"), (np.array([["a", 1.0]], object), "a cell array"), (X + 1j, "complex"),
    ("words", "text")], ids=["struct", "cell", "complex", "text"])
def test_what_is_no_matrix_of_real_numbers_is_refused_by_name(tmp_path: Path, version: str, value: Any,
                                                              what: str) -> None:
    if version == "4" and what.startswith("a "):
        pytest.skip("version 4 has no such variables")
    path = path_of(tmp_path, version, {"thing": value})
    assert "'thing'" in refused(path, DataError, "ARRAY").what
    beside = path_of(tmp_path, version, {"thing": value, "x": X}, "both.mat")
    assert what in refused(beside, DataError, "ARRAY", key="thing").what
    if what != "complex" or version == "7.3":  # of the others only the numbers tell that they are complex
        np.testing.assert_array_equal(read(Input(path=beside)).values, X)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("shape", [(7, 1), (1, 7)])
def test_labels_are_a_row_or_a_column(tmp_path: Path, version: str, shape: tuple[int, int], wording: Wording) -> None:
    path = path_of(tmp_path, version, {"x": X, "y": Y.reshape(shape)})
    for key in (None, "y"):
        assert read_labels(LabelFile(path=path, key=key)).columns == {"label": tuple("0120120")}
    two = path_of(tmp_path, version, {"y": Y[:, None], "z": Y[:, None]}, "two.mat")
    with wording.raises(DataError, "MAT-KEY") as caught:
        read_labels(LabelFile(path=two))
    assert "{input.labels.key=y}" in caught.value.hint
    wide = path_of(tmp_path, version, {"x": np.zeros((21, 22))}, "wide.mat")
    with pytest.raises(DataError) as caught:
        read_labels(LabelFile(path=wide))
    assert caught.value.code == "E-LABEL-ARRAY"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("turned", [False, True])
def test_several_labels_of_each_row_stand_in_columns_or_rows(tmp_path: Path, version: str, turned: bool) -> None:
    poses = np.column_stack([Y, Y + 0.5])
    path = path_of(tmp_path, version, {"x": X, "poses": poses.T if turned else poses})
    assert read_labels(LabelFile(path=path, key="poses")).columns == {
        "label1": tuple("0120120"), "label2": ("0.5", "1.5", "2.5", "0.5", "1.5", "2.5", "0.5")}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_second_view_has_a_key_of_its_own(tmp_path: Path, version: str) -> None:
    first = path_of(tmp_path, version, {"x": X})
    both = path_of(tmp_path, version, {"x": X, "z": X[:, 1:]}, "both.mat")
    view = read(Input(path=first, view=View(path=both, key="z"))).view
    assert view is not None
    np.testing.assert_array_equal(view.values, X[:, 1:])
    with pytest.raises(DataError) as caught:
        read(Input(path=first, view=View(path=both)))
    assert "{input.view.key=" in caught.value.hint


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sparse_variable_is_a_sparse_table_and_a_graph(tmp_path: Path, version: str) -> None:
    path = path_of(tmp_path, version, {"few": FEW})
    for stream in ("always", "never"):
        table = read(Input(path=path, stream=stream))
        np.testing.assert_array_equal(np.asarray(_dense(table.values)), FEW.toarray())
    graph = read(Input(path=path_of(tmp_path, version, {"ring": RING}, "ring.mat"), kind="graph")).graph
    assert graph is not None and len(graph.indices) == 10
    refused(path_of(tmp_path, version, {"x": X}, "dense.mat"), DataError, "ARRAY", kind="graph")


def _dense(values: Any) -> Any:
    from mlcli.base.rows.source import rows_of

    rows = rows_of(values)
    return values if rows is None else rows.source.matrix.toarray()  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", VERSIONS)
def test_dissimilarities_are_a_square_or_a_row_of_pairs(tmp_path: Path, version: str) -> None:
    apart = np.abs(Y[:, None] - Y)
    pairs = apart[np.triu_indices(7, 1)][None]
    for number, values in enumerate((apart, pairs)):
        path = path_of(tmp_path, version, {"d": values}, f"{number}.mat")
        np.testing.assert_array_equal(read(Input(path=path, kind="dissimilarities")).values, apart)


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_nothing_is_no_table(tmp_path: Path, version: str) -> None:
    refused(path_of(tmp_path, version, {"x": np.zeros((0, 3))}), DataError, "EMPTY")
    refused(path_of(tmp_path, version, {}, "none.mat"), DataError, "EMPTY")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_that_is_cut_off_is_damaged(tmp_path: Path, version: str) -> None:
    content = saved(version, {"x": X})
    for size in (len(content) - 8, len(content) // 2):
        refused(written(tmp_path, content[:size], f"{size}.mat"), DataError, "CORRUPT")


def test_a_file_of_version_7_3_is_hdf5_as_well(tmp_path: Path) -> None:
    path = path_of(tmp_path, "7.3", {"x": X}, "data.h5")
    np.testing.assert_array_equal(read(Input(path=path, key="x")).values, X.T)  # as it lies in the file
    np.testing.assert_array_equal(read(Input(path=path, format="mat")).values, X)
    named = path_of(tmp_path, "7.3", {"x": X}, "data")
    np.testing.assert_array_equal(read(Input(path=named)).values, X)
