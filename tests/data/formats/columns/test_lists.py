"""Lists of one length in Parquet and Arrow: their elements are columns, in memory, in blocks and in frames."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import mlcli
from mlcli.base.rows.source import in_memory, rows_of
from mlcli.base.values.compute import Compute
from mlcli.data.formats.columns import LONGEST
from mlcli.data.options.input import Input, LabelFile
from mlcli.data.read.in_memory import read_frame
from mlcli.data.read.labels import read_labels
from mlcli.data.read.table import read
from mlcli.errors import DataError, MlcliError
from tests.wording import Wording

VALUES = np.random.default_rng(0).standard_normal((500, 7)).astype(np.float32)
NAMES = tuple(f"e[{place}]" for place in range(7))


def fixed(values: np.ndarray) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


FORMS: dict[str, Any] = {
    "fixed size": fixed(VALUES), "list": pa.array(VALUES.tolist(), pa.list_(pa.float32())),
    "large list": pa.array(VALUES.tolist(), pa.large_list(pa.float64())),
    "tensor": pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [7]), fixed(VALUES)),
    "half": fixed(VALUES.astype(np.float16))}
FILES = ("parquet", "arrow", "stream")


def saved(folder: Path, columns: dict[str, Any], file: str = "parquet", rows: int = 200) -> str:
    path, table = folder / f"t.{'parquet' if file == 'parquet' else 'arrow'}", pa.table(columns)
    if file == "parquet":
        parquet.write_table(table, path, row_group_size=rows)
    elif file == "arrow":
        feather.write_feather(table, path, chunksize=rows)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return str(path)


def tables(path: str, **options: Any) -> list[Any]:
    """The table as it is read in memory, and in blocks."""
    whole = read(Input(path=path, **options), Compute())
    blocks = read(Input(path=path, stream="always", **options), Compute(), streams=True)
    rows = rows_of(blocks.values)
    assert rows is not None and blocks.columns == whole.columns
    return [whole.values, in_memory(rows)]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("form", FORMS)
def test_elements_are_columns(tmp_path: Path, form: str, file: str) -> None:
    count = np.arange(500)
    path = saved(tmp_path, {"id": [f"r{row}" for row in count], "e": FORMS[form], "n": count}, file)
    table = read(Input(path=path, id_column="id"), Compute())
    assert table.columns == (*NAMES, "n") and table.ids[499] == "r499"
    expected = np.column_stack([VALUES.astype(np.float16) if form == "half" else VALUES, count]).astype(float)
    assert np.array_equal(table.values, expected) and table.values.flags.c_contiguous
    if file != "stream":
        assert all(np.array_equal(values, expected) for values in tables(path, id_column="id"))


@pytest.mark.parametrize("file", ["parquet", "arrow"])
def test_elements_are_chosen_by_the_list_by_name_and_by_range(tmp_path: Path, file: str) -> None:
    path = saved(tmp_path, {"a": VALUES[:, 0], "e": FORMS["fixed size"], "b": VALUES[:, 1]}, file)
    for columns, places in ((("e",), range(7)), (("e[5]", "e[1]"), (5, 1)), (("e[2]:e[4]",), (2, 3, 4))):
        for values in tables(path, columns=columns):
            assert np.array_equal(values, VALUES[:, list(places)])
    for values in tables(path, columns=("b", "e[6]", "a")):
        assert np.array_equal(values, VALUES[:, [1, 6, 0]])


@pytest.mark.parametrize("size", [-1, 3])  # -1: lists of any length
@pytest.mark.parametrize("file", ["parquet", "arrow"])
def test_rows_without_a_list_and_elements_without_a_number_are_missing(tmp_path: Path, file: str, size: int) -> None:
    if file == "parquet" and size > 0 and int(pa.__version__.partition(".")[0]) < 26:
        pytest.skip("Arrow before 26 does not read them (its issue 35692)")
    lists = pa.array([None, [1, None, 3], [4, 5, 6], None, [7, 8, 9]], pa.list_(pa.float64(), size))
    path = saved(tmp_path, {"e": lists}, file, rows=2)
    expected = [[np.nan] * 3, [1, np.nan, 3], [4, 5, 6], [np.nan] * 3, [7, 8, 9]]
    values = read(Input(path=path), Compute()).values
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize(("lists", "place"), [
    ([[1.0, 2], [3, 4], [5], [6, 7]], "row 3: "), ([[1.0, 2], [3, 4], [5, 6], []], "row 4: ")])
@pytest.mark.parametrize("file", FILES)
def test_lists_of_different_lengths_are_refused_with_the_row(tmp_path: Path, lists: list[Any], place: str,
                                                             file: str, wording: Wording) -> None:
    path = saved(tmp_path, {"e": pa.array(lists, pa.list_(pa.float64())), "x": np.arange(len(lists)) / 2}, file, rows=2)
    for stream in ("never", "always") if file != "stream" else ("never",):
        with wording.raises(DataError, "LISTS") as caught:
            read(Input(path=path, stream=stream), Compute(), streams=True)
        assert caught.value.what.startswith(place) and "column 'e'" in caught.value.what
        assert "{input.columns}" in caught.value.hint
    assert read(Input(path=path, columns=("x",)), Compute()).columns == ("x",)


def test_lists_of_words_and_of_lists_are_refused_by_their_type(tmp_path: Path, wording: Wording) -> None:
    for lists in ([["a"], ["b"]], [[[1.0]], [[2.0]]]):
        with pytest.raises(DataError) as caught:
            read(Input(path=saved(tmp_path, {"e": lists, "x": [1.0, 2.0]})), Compute())
        assert wording(caught.value) == ["E-COLUMN-TYPE"]


@pytest.mark.parametrize("kind", [pa.list_(pa.int8(), LONGEST + 1), pa.list_(pa.int8())])
def test_lists_of_no_length_or_too_many_elements_are_no_columns(tmp_path: Path, kind: pa.DataType,
                                                                wording: Wording) -> None:
    path = saved(tmp_path, {"e": pa.array([None, None], kind), "x": [1.0, 2.5]}, "arrow")
    with pytest.raises(DataError) as caught:
        read(Input(path=path), Compute())
    assert caught.value.code == "E-COLUMN-TYPE" and "E-COLUMN-TYPE" in wording(caught.value)
    assert read(Input(path=path, columns=("x",)), Compute()).columns == ("x",)


def test_a_name_that_the_file_has_already_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MlcliError) as caught:
        read(Input(path=saved(tmp_path, {"e": FORMS["list"], "e[1]": VALUES[:, 0]})), Compute())
    assert caught.value.code == "E-DUPLICATE-COLUMNS"


def test_a_file_of_labels_may_hold_lists_which_are_none(tmp_path: Path) -> None:
    path = saved(tmp_path, {"id": list("abc"), "e": fixed(VALUES[:3]), "kind": list("xyx")})
    assert set(read_labels(LabelFile(path=path)).columns) == {"id", "kind"}


def test_frames_have_the_same_columns(tmp_path: Path, wording: Wording) -> None:
    table = pa.table({"e": FORMS["fixed size"], "n": np.arange(500.0)})
    found = read_frame(table)
    assert found.columns == (*NAMES, "n") and np.array_equal(found.values[:, :7], VALUES)
    with wording.raises(DataError, "LISTS"):
        read_frame(pa.table({"e": [[1.0, 2.0], [3.0]]}))
    with wording.raises(DataError, "FRAME-COLUMN"):
        read_frame(pa.table({"e": [["a"], ["b"]]}))
    assert mlcli.embed(table, "pca").embedding.shape == (500, 2)
