"""What is written reads back to the same bits and characters, also where it is written in blocks."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlcli.base.threads import threads_limited
from mlcli.data import write
from mlcli.data.input import Input
from mlcli.data.read import read
from mlcli.data.row_numbers import RowNumbers
from mlcli.data.table import Table
from mlcli.data.write import write_csv, write_table
from tests.data.helpers import noted


def text_of(table: Table) -> str:
    stream = io.BytesIO()
    write_csv(table, stream)
    return stream.getvalue().decode()


def table_of(values: np.ndarray, **names: object) -> Table:
    return Table(values, tuple(f"x{i + 1}" for i in range(values.shape[1])),
                 **{"ids": RowNumbers.up_to(len(values)), **names})  # type: ignore[arg-type]


@given(arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 4)), elements=st.floats(allow_nan=False)))
def test_every_double_reads_back_to_its_bits(values: np.ndarray) -> None:
    lines = text_of(table_of(values)).splitlines()[1:]
    back = np.array([[float(cell) for cell in line.split(",")[1:]] for line in lines])
    assert np.array_equal(back.view(np.uint64), values.view(np.uint64))


def test_missing_and_infinite_are_spelled_as_other_programs_read_them() -> None:
    assert text_of(table_of(np.array([[np.nan, np.inf], [-np.inf, -0.0]]))) == "id,x1,x2\n1,NaN,Inf\n2,-Inf,-0\n"


def test_texts_are_quoted_where_they_must_be() -> None:
    table = Table(np.array([[1.0], [2.0], [3.0]]), ("a,b",), ("p", 'q"r', " s"), "name", {"l": ("", "two\nlines", "ä")})
    assert text_of(table) == 'name,l,"a,b"\np,,1\n"q""r","two\nlines",2\n" s",ä,3\n'


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=1,
                max_size=8, unique=True))
def test_any_text_reads_back(ids: list[str]) -> None:
    import csv

    text = text_of(table_of(np.zeros((len(ids), 1)), ids=tuple(ids)))
    assert [row[0] for row in csv.reader(io.StringIO(text, newline=""))][1:] == ids


def test_formulas_are_told_and_numbers_are_not_formulas() -> None:
    with noted() as notes:
        text_of(table_of(np.zeros((4, 1)), ids=("-1.5", "=1+1", "a", "+x"), labels={"l": ("@", "b", "-2", "c")}))
    assert notes.codes == ["W-FORMULA"]
    assert notes.notes[0].facts == {"cells": 3}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("format", ["csv", "parquet", "npy"])
def test_blocks_make_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, threads: int) -> None:
    monkeypatch.setattr(write, "CELLS", 40)
    monkeypatch.setattr(write, "GROUP", 30)
    values = np.random.default_rng(0).standard_normal((97, 3))
    label = tuple(f"a{i % 5}" for i in range(97))
    path = tmp_path / f"t.{format}"
    with threads_limited(threads):
        write_table(table_of(values, labels={"l": label}), path, format)
    options = {} if format == "npy" else {"id_column": "id", "label_columns": ("l",)}
    back = read(Input(path=str(path), **options))
    assert np.array_equal(back.values, values)
    assert back.ids == RowNumbers.up_to(97)
    assert dict(back.labels) == ({} if format == "npy" else {"l": label})
