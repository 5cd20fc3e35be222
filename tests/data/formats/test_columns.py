"""Parquet and Arrow: numbers of every type, names, ids and labels; broken files are errors."""

import datetime
import decimal
import io
import random
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc

from mlcli.base.values.compute import Compute
from mlcli.data.files.source import Opened, open_input
from mlcli.data.formats.arrow import sizes_of_file
from mlcli.data.formats.columns import Columnar, Columns, read_columns
from mlcli.data.options.input import Input
from mlcli.errors import ConfigError, DataError, MlcliError, RefusedByPlan
from tests.data.helpers import noted, refused, table_of, written
from tests.wording import Wording

FORMS = ["parquet", "arrow", "stream"]


def stored(table: pa.Table, form: str, **options: Any) -> bytes:
    """The bytes of a columnar file."""
    stream = io.BytesIO()
    if form == "parquet":
        pq.write_table(table, stream, **options)
    else:
        new = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
        with new(stream, table.schema) as writer:
            writer.write_table(table, max_chunksize=options.get("row_group_size"))
    return stream.getvalue()


def name(form: str) -> str:
    return "data.parquet" if form == "parquet" else "data.arrow"


@pytest.mark.parametrize("form", FORMS)
def test_every_type_of_number(tmp_path: Path, form: str) -> None:
    one = [1, None, 3]
    columns = {f"c{place}": pa.array(one, kind) for place, kind in enumerate([
        pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float32(),
        pa.float64()])}
    columns["half"] = pa.array(np.array([1, np.nan, 3], dtype=np.float16))
    columns["decimal"] = pa.array([decimal.Decimal("1.00"), None, decimal.Decimal("3.00")], pa.decimal128(10, 2))
    values = table_of(tmp_path, stored(pa.table(columns), form), name(form)).values
    np.testing.assert_array_equal(values, np.repeat([[1.0], [np.nan], [3.0]], len(columns), axis=1))


@pytest.mark.parametrize("form", FORMS)
def test_booleans_nulls_and_exact_decimals(tmp_path: Path, form: str) -> None:
    table = pa.table({"b": [True, False, None], "n": pa.nulls(3),
                      "d": pa.array([decimal.Decimal("0.1"), decimal.Decimal("-123456789.123456789"), None])})
    values = table_of(tmp_path, stored(table, form), name(form)).values
    np.testing.assert_array_equal(values, [[1, np.nan, 0.1], [0, np.nan, -123456789.123456789], [np.nan] * 3])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_text_is_for_ids_and_labels_only(tmp_path: Path, form: str, kind: pa.DataType) -> None:
    names, kinds = pa.array(["x", "y"]).cast(kind), pa.array(["u", None]).cast(kind)
    table = pa.table({"a": [1.5, 2.5], "name": names, "kind": kinds})
    path = written(tmp_path, stored(table, form), name(form))
    error = refused(path, DataError, "TEXT-COLUMN", columns=["a", "name", "kind"])
    assert "'name'" in error.what and "'kind'" in error.what
    found = table_of(tmp_path, stored(table, form), name(form), id_column="name", label_columns=["kind"])
    assert (found.ids, found.id_name, found.columns) == (("x", "y"), "name", ("a",))
    assert dict(found.labels) == {"kind": ("u", "")}


def test_other_types_are_refused_by_name_and_type(tmp_path: Path) -> None:
    day = datetime.date(2020, 1, 2)
    table = pa.table({"a": [1], "when": [day], "list": [["u", "v"]], "raw": [b"x"], "pair": [{"x": 1}]})
    path = written(tmp_path, stored(table, "parquet"), "data.parquet")
    error = refused(path, DataError, "COLUMN-TYPE")
    for name, kind in {"when": "date32", "list": "list", "raw": "binary", "pair": "struct"}.items():  # of pyarrow
        assert re.search(f"'{name}' [^']* {kind}", error.what)
    refused(path, DataError, "COLUMN-TYPE", id_column="raw", columns=["a"])
    assert "--label-column when " in refused(path, DataError, "COLUMN-TYPE",
                                                               columns=["a", "when"]).hint
    found = table_of(tmp_path, stored(table, "parquet"), "data.parquet", id_column="when", columns=["a"])
    assert found.ids == ("2020-01-02",)


def test_numbers_as_ids_and_labels(tmp_path: Path) -> None:
    table = pa.table({"id": [10, 20], "share": [0.1, None], "a": [1, 2]})
    found = table_of(tmp_path, stored(table, "parquet"), "data.parquet", id_column="id", label_columns=["share"])
    assert found.ids == ("10", "20")
    assert dict(found.labels) == {"share": ("0.10000000000000001", "")}


@pytest.mark.parametrize("form", FORMS)
def test_the_index_of_pandas_names_the_rows(tmp_path: Path, form: str) -> None:
    table = pa.table({"a": [1.0, 2.0], "__index_level_0__": ["x", "y"]})
    found = table_of(tmp_path, stored(table, form), name(form))
    assert (found.ids, found.id_name, found.columns) == (("x", "y"), "id", ("a",))


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_table_is_refused(tmp_path: Path, form: str, wording: Wording) -> None:
    path = written(tmp_path, stored(pa.table({"a": pa.array([], pa.float64())}), form), name(form))
    assert wording(refused(path, DataError, "EMPTY")) == ["E-EMPTY"]
    path = written(tmp_path, stored(pa.table({"a": ["x"]}), form), name(form))
    refused(path, DataError, "EMPTY", id_column="a")


@pytest.mark.parametrize("form", FORMS)
def test_columns_are_chosen_and_ordered(tmp_path: Path, form: str, wording: Wording) -> None:
    table = pa.table({"a.b": [1.0], "a": [2.0], "c": [3.0], "d": [4.0]})
    content = stored(table, form)
    assert table_of(tmp_path, content, name(form)).values.tolist() == [[1, 2, 3, 4]]
    assert table_of(tmp_path, content, name(form), columns=["d", "a"]).values.tolist() == [[4, 2]]
    assert table_of(tmp_path, content, name(form), columns=["a:d"]).values.tolist() == [[2, 3, 4]]
    error = refused(written(tmp_path, content, name(form)), ConfigError, "UNKNOWN-COLUMN", columns=["a,b"])
    assert "E-UNKNOWN-COLUMN" in wording(error)


@pytest.mark.parametrize("form", ["arrow", "stream"])
def test_names_that_occur_twice_are_refused(tmp_path: Path, form: str) -> None:
    table = pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    refused(written(tmp_path, stored(table, form), name(form)), DataError, "DUPLICATE-COLUMNS")


@pytest.mark.parametrize("form", FORMS)
def test_integers_that_lose_digits_are_noted(tmp_path: Path, form: str) -> None:
    table = pa.table({"a": [2**53, 1], "b": [2**53 + 1, None], "c": pa.array([2**64 - 1, 0], pa.uint64())})
    with noted() as notes:
        table_of(tmp_path, stored(table, form), name(form))
    assert notes.codes == ["W-INT-PRECISION"]
    assert notes.notes[0].facts == {"columns": ["b", "c"]}


@pytest.mark.parametrize("form", FORMS)
def test_the_file_s_own_figures_are_held_against_the_memory(tmp_path: Path, form: str) -> None:
    table = pa.table({f"c{place}": np.zeros(50_000) for place in range(3)})
    path = written(tmp_path, stored(table, form), name(form))
    error = refused(path, RefusedByPlan, "MEMORY", Compute(memory_limit="1M"))
    assert "50,000 x 3" in error.what


@pytest.mark.parametrize("form", FORMS)
def test_many_groups_of_rows_make_one_table(tmp_path: Path, form: str) -> None:
    values = np.random.default_rng(0).standard_normal((1000, 3))
    columns = {f"c{place}": values[:, place] for place in range(3)}
    table = pa.table({"id": [f"r{row}" for row in range(1000)], **columns})
    found = table_of(tmp_path, stored(table, form, row_group_size=77), name(form), id_column="id")
    assert (found.values == values).all()
    assert found.ids == tuple(f"r{row}" for row in range(1000))


def test_feather_files_are_arrow_files(tmp_path: Path) -> None:
    stream = io.BytesIO()
    pyarrow.feather.write_feather(pa.table({"a": [1.0, 2.0]}), stream, compression="zstd")
    assert table_of(tmp_path, stream.getvalue(), "data.feather").values.tolist() == [[1], [2]]


@pytest.mark.medium
@given(values=st.lists(st.floats(), min_size=1, max_size=20), form=st.sampled_from(FORMS))
@settings(max_examples=60, deadline=None)
def test_values_keep_their_bits(values: list[float], form: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = table_of(Path(folder), stored(pa.table({"a": pa.array(values, from_pandas=False)}), form), name(form))
    np.testing.assert_array_equal(found.values[:, 0], values)
    assert (np.signbit(found.values[:, 0]) == np.signbit(values)).all()


def sample() -> pa.Table:
    values = np.random.default_rng(0).standard_normal((12, 2))
    return pa.table({"id": [f"r{row}" for row in range(12)], "a": values[:, 0], "b": values[:, 1]})


@pytest.mark.medium
@pytest.mark.parametrize("form", FORMS)
def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path, form: str) -> None:
    whole = stored(sample(), form, row_group_size=5)
    for cut in (*range(0, len(whole), 7), *range(len(whole) - 12, len(whole))):
        refused(written(tmp_path, whole[:cut], name(form)), DataError, "CORRUPT", id_column="id")


@pytest.mark.medium
def test_a_flipped_bit_of_a_checked_parquet_file_is_never_a_wrong_number(tmp_path: Path) -> None:
    whole, draw = stored(sample(), "parquet", write_page_checksum=True), random.Random(0)
    expected = np.column_stack([sample()["a"], sample()["b"]])
    for _ in range(500):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        try:
            table = table_of(tmp_path, bytes(damaged), "data.parquet", id_column="id")
        except MlcliError as error:
            assert error.exit_code in (65, 78, 82)
        else:
            np.testing.assert_array_equal(table.values, expected)


@pytest.mark.medium
@pytest.mark.parametrize("form", ["arrow", "stream"])
def test_a_flipped_bit_of_an_arrow_file_never_crashes(tmp_path: Path, form: str) -> None:
    whole, draw = stored(sample(), form), random.Random(0)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        try:
            table_of(tmp_path, bytes(damaged), "data.arrow", id_column="id")
        except MlcliError as error:
            assert error.exit_code in (65, 78, 82)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_text_under_another_name_is_refused(tmp_path: Path, format: str) -> None:
    error = refused(written(tmp_path, "a,b\n1,2\n", f"data.{format}"), DataError, "CORRUPT")
    assert error.hint


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_the_format_is_known_by_the_first_bytes(tmp_path: Path, form: str) -> None:
    table = table_of(tmp_path, stored(pa.table({"a": [1.0]}), form), "data.bin")
    assert table.source is not None
    assert table.source.format == form


@pytest.mark.parametrize("announced", [1, 3])
def test_a_file_with_more_or_fewer_rows_than_it_announces_is_refused(announced: int) -> None:
    batch = pa.record_batch({"a": [1.0, 2.0]})
    file = Columnar(Columns(["a"], [pa.float64()], {}), announced, lambda names: iter([(0, batch)]))
    with pytest.raises(DataError) as caught:
        read_columns(file, Opened("data.parquet", 0, lambda: ""), Input(path="data.parquet"), Compute())
    assert caught.value.code == "E-CORRUPT"


def test_the_rows_of_a_file_are_counted_without_its_columns(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).standard_normal((2000, 50))
    table = pa.table({"name": [f"r{row}" for row in range(2000)],
                      **{f"x{place}": column for place, column in enumerate(numbers.T)}})
    path = tmp_path / "t.arrow"
    with ipc.new_file(path, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as file:
        file.write_table(table, max_chunksize=500)
    pool, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with open_input(str(path), Compute()) as there:
            assert sizes_of_file(there) == [500] * 4
    finally:
        pa.set_memory_pool(before)
    assert 0 < pool.max_memory() < 3 * 8 * 500  # of one column of a batch, and not of 51
