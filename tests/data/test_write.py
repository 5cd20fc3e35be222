"""What is written reads back to the same bits, names and texts."""

import csv
import io
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcli.data.input import Input
from mlcli.data.read import read
from mlcli.data.table import Table
from mlcli.data.write import write_csv, write_table
from mlcli.errors import StorageError
from tests.data.helpers import noted

FORMATS: list[Any] = ["csv", "parquet", "npy"]


def table(values: Any, ids: tuple[str, ...] | None = None, **more: Any) -> Table:
    values = np.asarray(values, dtype=float)
    columns = tuple(f"y{place + 1}" for place in range(values.shape[1]))
    return Table(values, columns, ids or tuple(f"r{row}" for row in range(len(values))), **more)


def text(content: Table) -> str:
    stream = io.BytesIO()
    write_csv(content, stream)
    return stream.getvalue().decode()


def test_csv_as_it_stands() -> None:
    content = table([[0.1, -2], [1e300, 5e-324]], ("x", "y"), id_name="sample", labels={"kind": ("u", "v w")})
    assert text(content) == ("sample,kind,y1,y2\nx,u,0.10000000000000001,-2\n"
                             "y,v w,1.0000000000000001e+300,4.9406564584124654e-324\n")


def test_missing_and_infinite_numbers_are_written_as_others_read_them() -> None:
    assert text(table([[np.nan, -np.inf]], ("nan",))) == "id,y1,y2\nnan,NaN,-Inf\n"


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


def test_a_large_table_is_written_fast() -> None:
    content = table(np.random.default_rng(0).standard_normal((100_000, 10)))
    start = time.process_time()
    text(content)
    assert time.process_time() - start < 5
