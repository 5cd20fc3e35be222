"""What is written reads back to the same bits, names and texts, also where it is written in blocks."""

import csv
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlcli.base.machine.threads import limit_threads
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.data.write import table as write
from mlcli.data.write.table import write_csv, write_table
from mlcli.errors import StorageError
from tests.data.helpers import noted

FORMATS: list[Any] = ["csv", "parquet", "npy"]


def table(values: Any, ids: Sequence[str] | None = None, **more: Any) -> Table:
    values = np.asarray(values, dtype=float)
    columns = tuple(f"y{place + 1}" for place in range(values.shape[1]))
    return Table(values, columns, ids or tuple(f"r{row}" for row in range(len(values))), **more)


def text(content: Table) -> str:
    stream = io.BytesIO()
    write_csv(content, stream)
    return stream.getvalue().decode()


def numbered(values: Any, **more: Any) -> Table:
    return table(values, **{"ids": RowNumbers.up_to(len(values)), **more})


def test_csv_as_it_stands() -> None:
    content = table([[0.1, -2], [1e300, 5e-324]], ("x", "y"), id_name="sample", labels={"kind": ("u", "v w")})
    assert text(content) == ("sample,kind,y1,y2\nx,u,0.10000000000000001,-2\n"
                             "y,v w,1.0000000000000001e+300,4.9406564584124654e-324\n")


def test_missing_and_infinite_numbers_are_written_as_others_read_them() -> None:
    assert text(table([[np.nan, -np.inf]], ("nan",))) == "id,y1,y2\nnan,NaN,-Inf\n"


@pytest.mark.medium
@pytest.mark.parametrize("format", ["csv", "parquet"])
@given(ids=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), min_size=1,
                    max_size=8, unique=True), data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_texts_and_numbers_read_back(tmp_path_factory: pytest.TempPathFactory, format: Any, ids: list[str],
                                         data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("written") / f"table.{format}"
    numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=len(ids), max_size=len(ids))
    values = np.column_stack([data.draw(numbers), data.draw(numbers)])
    content = table(values, tuple(ids), labels={"kind": tuple(reversed(ids))})
    write_table(content, path, format)
    found = read(Input(path=str(path), id_column="id", label_columns=("kind",)))
    assert found.values.tobytes() == values.tobytes()
    assert (found.ids, found.columns, dict(found.labels)) == (content.ids, content.columns, content.labels)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_reads_back(tmp_path: Path, format: Any) -> None:
    values = np.random.default_rng(0).standard_normal((9000, 3))
    write_table(table(np.asfortranarray(values)), tmp_path / f"t.{format}", format)
    found = read(Input(path=str(tmp_path / f"t.{format}"), id_column=None if format == "npy" else "id"))
    assert found.values.tobytes() == values.tobytes()


def test_other_readers_agree(tmp_path: Path) -> None:
    content = table([[1.5, 2], [3, 4]], ('say "x"', "two\nlines"), labels={"k": ("a,b", " c ")})
    rows = list(csv.reader(io.StringIO(text(content), newline="")))
    assert rows == [["id", "k", "y1", "y2"], ['say "x"', "a,b", "1.5", "2"], ["two\nlines", " c ", "3", "4"]]
    write_table(content, tmp_path / "t.parquet", "parquet")
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {
        "id": list(content.ids), "k": ["a,b", " c "], "y1": [1.5, 3], "y2": [2, 4]}
    write_table(content, tmp_path / "t.npy", "npy")
    assert np.load(tmp_path / "t.npy", allow_pickle=False).tolist() == [[1.5, 2], [3, 4]]


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_table_is_written_to_the_same_bytes(tmp_path: Path, format: Any) -> None:
    content = table(np.random.default_rng(0).standard_normal((50, 3)))
    for name in ("a", "b"):
        write_table(content, tmp_path / name, format)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(("id", "warned"), [("=cmd()", True), ("+a", True), ("@x", True), ("-x", True), ("\tx", True),
                                            ("-1.5", False), ("+2", False), ("x=1", False)])
def test_formulas_are_kept_and_noted(id: str, warned: bool) -> None:
    with noted() as notes:
        written = text(table([[1.0]], (id,)))
    assert (notes.codes == ["W-FORMULA"]) is warned
    assert id in written


def test_names_that_are_taken_get_a_suffix() -> None:
    content = table([[1.0, 2.0]], ("x",), id_name="y1", labels={"y2": ("u",), "id": ("v",)})
    with noted() as notes:
        header = text(content).splitlines()[0]
    assert header == "y1_id,y2_label,id,y1,y2"
    assert notes.codes == ["W-RENAMED", "W-RENAMED"]


def test_names_stay_apart_from_each_other() -> None:
    assert text(table([[1.0]], ("x",), id_name="k", labels={"k": ("u",)})).startswith("k,k_label,y1\n")


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_cannot_be_written_is_a_storage_error(tmp_path: Path, format: Any) -> None:
    with pytest.raises(StorageError) as caught:
        write_table(table([[1.0]]), tmp_path / "absent" / "t", format)
    assert caught.value.exit_code == 74
    assert "absent" in caught.value.where


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk_is_a_storage_error(format: Any) -> None:
    with pytest.raises(StorageError):
        write_table(table(np.zeros((5000, 3))), Path("/dev/full"), format)


@pytest.mark.medium
def test_a_large_table_is_written_fast() -> None:
    content = table(np.random.default_rng(0).standard_normal((100_000, 10)))
    start = time.process_time()
    text(content)
    assert time.process_time() - start < 5


@given(arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 4)), elements=st.floats(allow_nan=False)))
def test_every_double_reads_back_to_its_bits(values: np.ndarray) -> None:
    lines = text(numbered(values)).splitlines()[1:]
    back = np.array([[float(cell) for cell in line.split(",")[1:]] for line in lines])
    assert np.array_equal(back.view(np.uint64), values.view(np.uint64))


def test_numbers_with_a_prefix_are_written_as_their_texts() -> None:
    values = np.array([[0.1, 2.0], [np.nan, -3.5], [7.0, 1e300]])
    ids = RowNumbers.up_to(3).prefixed("new")
    for labels in ({}, {"l": ("a", "b", "c")}):
        assert text(numbered(values, ids=ids, labels=labels)) == text(numbered(values, ids=tuple(ids), labels=labels))


def test_missing_and_infinite_are_spelled_as_other_programs_read_them() -> None:
    assert text(numbered(np.array([[np.nan, np.inf], [-np.inf, -0.0]]))) == "id,y1,y2\n1,NaN,Inf\n2,-Inf,-0\n"


def test_texts_are_quoted_where_they_must_be() -> None:
    table = Table(np.array([[1.0], [2.0], [3.0]]), ("a,b",), ("p", 'q"r', " s"), "name", {"l": ("", "two\nlines", "ä")})
    assert text(table) == 'name,l,"a,b"\np,,1\n"q""r","two\nlines",2\n" s",ä,3\n'


def test_formulas_are_told_and_numbers_are_not_formulas() -> None:
    with noted() as notes:
        text(numbered(np.zeros((4, 1)), ids=("-1.5", "=1+1", "a", "+x"), labels={"l": ("@", "b", "-2", "c")}))
    assert notes.codes == ["W-FORMULA"]
    assert notes.notes[0].facts == {"cells": 3}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("format", ["csv", "parquet", "npy"])
def test_blocks_make_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, threads: int) -> None:
    monkeypatch.setattr(write, "CELLS", 40)
    monkeypatch.setattr(write, "GROUP", (30, 2**24))
    values = np.random.default_rng(0).standard_normal((97, 3))
    label = tuple(f"a{i % 5}" for i in range(97))
    path = tmp_path / f"t.{format}"
    with limit_threads(threads):
        write_table(numbered(values, labels={"l": label}), path, format)
    options = {} if format == "npy" else {"id_column": "id", "label_columns": ("l",)}
    back = read(Input(path=str(path), **options))
    assert np.array_equal(back.values, values)
    assert back.ids == RowNumbers.up_to(97)
    assert dict(back.labels) == ({} if format == "npy" else {"l": label})
