"""CSV and TSV: the right table for every good file, and the same numbers on the fast and the slow road."""

import csv
import gzip
import io
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlcli.base.values.compute import Compute
from mlcli.base.values.missing import MISSING
from mlcli.data.options.input import Input
from mlcli.data.options.numbers import fault, is_number, number
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.data.text import delimited, records
from mlcli.data.text.delimited import SMALL_BLOCK
from mlcli.errors import DataError, MlcliError, RefusedByPlan
from tests.data.helpers import feed, noted, refused, table_of, written

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

HEADERS = [  # content, options, columns, ids, rows
    ("a,b\n1,2\n3,4\n", {}, ("a", "b"), ("1", "2"), 2),
    (",a,b\nx,1,2\ny,3,4\n", {}, ("a", "b"), ("x", "y"), 2),
    (",1,2\nx,1,2\ny,3,4\n", {}, ("1", "2"), ("x", "y"), 2),
    ('"","a"\n"x",1\n', {}, ("a",), ("x",), 1),
    ("1,2\n3,4\n", {}, ("x1", "x2"), ("1", "2"), 2),
    ("NA,2\n3,4\n", {}, ("x1", "x2"), ("1", "2"), 2),
    ("1,,nan\n3,4,5\n", {}, ("x1", "x2", "x3"), ("1", "2"), 2),
    ("NA,NaN\n3,4\n", {}, ("NA", "NaN"), ("1",), 1),
    ("-1e3,+2\n3,4\n", {}, ("x1", "x2"), ("1", "2"), 2),
    ("inf,2\n3,4\n", {}, ("x1", "x2"), ("1", "2"), 2),
    ("1,b\n3,4\n", {}, ("1", "b"), ("1",), 1),
    ("1,2\n3,4\n", {"header": True}, ("1", "2"), ("1",), 1),
    ("1,2\n3,4\n", {"header": False}, ("x1", "x2"), ("1", "2"), 2),
    (",2\n3,4\n", {"header": False}, ("x1", "x2"), ("1", "2"), 2),
    ("id,a\nx,1\ny,2\n", {"id_column": "id"}, ("a",), ("x", "y"), 2),
    ("a,id\n1,x\n2,y\n", {"id_column": "id"}, ("a",), ("x", "y"), 2),
    ("u,1\nv,2\n", {"header": False, "id_column": "x1"}, ("x2",), ("u", "v"), 2),
    ("a\n1\n2\n", {}, ("a",), ("1", "2"), 2),
    ("1\n2\n", {}, ("x1",), ("1", "2"), 2),
    ("1", {}, ("x1",), ("1",), 1),
    ("a,b\r\n1,2\r\n", {}, ("a", "b"), ("1",), 1),
    ("a,b\r1,2\r3,4\r", {}, ("a", "b"), ("1", "2"), 2),
    ("\ufeffa,b\n1,2\n", {}, ("a", "b"), ("1",), 1),
    ("\n\na,b\n\n1,2\n\n3,4\n\n\n", {}, ("a", "b"), ("1", "2"), 2),
    ("a;b\n1;2\n", {"separator": ";"}, ("a", "b"), ("1",), 1),
    ("a|b\n1|2\n", {"separator": "|"}, ("a", "b"), ("1",), 1),
    ("a b\n1 2\n", {"separator": " "}, ("a", "b"), ("1",), 1),
    ("a;b\n1\n2\n", {"separator": ","}, ("a;b",), ("1", "2"), 2),
    ('"a\nb",c\n1,2\n', {}, ("a\nb", "c"), ("1",), 1),
    ("a,b\n1, 2\n3 ,\t4\n", {}, ("a", "b"), ("1", "2"), 2),
    ("naïve,ß\n1,2\n", {}, ("naïve", "ß"), ("1",), 1),
]


@pytest.mark.parametrize(("content", "options", "columns", "ids", "rows"), HEADERS)
def test_header_and_ids(tmp_path: Path, content: str, options: dict[str, Any], columns: tuple[str, ...],
                        ids: tuple[str, ...], rows: int) -> None:
    table = table_of(tmp_path, content, **options)
    assert (table.columns, table.ids, table.values.shape) == (columns, ids, (rows, len(columns)))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252", "utf-8-sig"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    table = table_of(tmp_path, "é,b\n1,2\n3,4\n".encode(encoding), encoding=encoding)
    assert table.columns == ("é", "b")
    assert table.values.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("name", ["data.tsv", "data.tab", "DATA.TSV"])
def test_tabs_by_name(tmp_path: Path, name: str) -> None:
    assert table_of(tmp_path, "a,1\tb\n1\t2\n", name).columns == ("a,1", "b")


@pytest.mark.parametrize("separator", ["tab", "\\t", "\t"])
def test_the_tab_has_names(tmp_path: Path, separator: str) -> None:
    assert table_of(tmp_path, "a\tb\n1\t2\n", separator=separator).columns == ("a", "b")


def test_decimal_commas(tmp_path: Path) -> None:
    table = table_of(tmp_path, "1,5;2\n-3,25e1;,5\n", separator=";", decimal=",")
    assert table.values.tolist() == [[1.5, 2], [-32.5, 0.5]]


def test_ids_are_kept_byte_for_byte(tmp_path: Path) -> None:
    ids = ("001", "NA", " x ", "1e5", "nan", "tab\there", "a,b", 'say "hi"', "two\nlines", "cr\r\nlf", "", "é", "-0")
    content = io.StringIO()
    rows = csv.writer(content, lineterminator="\n")
    rows.writerow(["id", "a"])
    rows.writerows([id, row] for row, id in enumerate(ids))
    table = table_of(tmp_path, content.getvalue(), id_column="id")
    assert table.ids == ids
    assert table.id_name == "id"


def test_labels_are_carried_as_text(tmp_path: Path) -> None:
    table = table_of(tmp_path, ",a,kind,b,year\nx,1,NA,2,007\ny,3,k2,4,1999\n", label_columns=["kind", "year"])
    assert table.columns == ("a", "b")
    assert dict(table.labels) == {"kind": ("NA", "k2"), "year": ("007", "1999")}
    assert table.values.tolist() == [[1, 2], [3, 4]]


def test_an_id_column_replaces_the_unnamed_one(tmp_path: Path) -> None:
    with noted() as notes:
        table = table_of(tmp_path, ",a,name\n1,5,x\n2,6,y\n", id_column="name")
    assert (table.ids, table.columns) == (("x", "y"), ("a",))
    assert notes.codes == ["N-ROW-NAMES"]


def test_missing_cells_are_nan(tmp_path: Path) -> None:
    table = table_of(tmp_path, 'a,b,c,d,e\n,NA,NaN,nan,""\n1,2,3,4,5\n')
    assert np.isnan(table.values[0]).all()
    assert table.values[1].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("content", "expected"), [
    ("a\n1\n\n3\n", [1, math.nan, 3]), ("1\n\n3\n", [1, math.nan, 3]), ("\n1\n3\n", [math.nan, 1, 3]),
    ("1\r\n\r\n3\r\n", [1, math.nan, 3]), ("a\n1\n\n", [1, math.nan]), ("a\n1\n3", [1, 3])])
def test_a_blank_line_of_one_column_is_a_missing_value(tmp_path: Path, content: str, expected: list[float]) -> None:
    np.testing.assert_array_equal(table_of(tmp_path, content).values[:, 0], expected)


def test_infinities_are_read_for_the_preparation_to_judge(tmp_path: Path) -> None:
    table = table_of(tmp_path, "a\ninf\n-Inf\n+infinity\nINF\n1\n")
    assert table.values[:, 0].tolist() == [math.inf, -math.inf, math.inf, math.inf, 1]


def test_underflow_reads_as_zero_with_a_warning(tmp_path: Path) -> None:
    tiny = "0." + "0" * 400 + "1"
    with noted() as notes:
        table = table_of(tmp_path, f"a,b\n1e-400,0\n{tiny},0e-500\n5e-324,-0\n")
    assert table.values[:, 0].tolist() == [0, 0, 5e-324]
    assert notes.codes == ["W-UNDERFLOW"]
    assert notes.notes[0].facts == {"cells": 2}


def test_zeros_beside_small_numbers_are_no_underflow(tmp_path: Path) -> None:
    with noted() as notes:
        table_of(tmp_path, "a,b\n1e-200,0\n0.0,0e-500\n")
    assert notes.codes == []


@pytest.mark.parametrize(("content", "options", "warned"), [
    ("n,a\n1,5\n2,6\n3,7\n", {}, True), ("1,5.5\n2,6.1\n3,7.2\n", {}, True), ("n,a\n0,5\n1,6\n2,7\n", {}, True),
    ("n,a\n1,5\n2,6\n4,7\n", {}, False), ("n,a\n1.5,5\n2.5,6\n3.5,7\n", {}, False),
    ("n,a\n1,5\n2,6\n3,7\n", {"id_column": "n"}, False), ("n,a\n1,5\n2,6\n3,7\n", {"columns": ["n", "a"]}, False),
    (",n,a\nx,1,5\ny,2,6\nz,3,7\n", {}, False), ("n\n1\n2\n3\n", {}, False)])
def test_a_first_column_that_counts_is_noted(tmp_path: Path, content: str, options: dict[str, Any],
                                             warned: bool) -> None:
    with noted() as notes:
        table_of(tmp_path, content, **options)
    assert ("W-ID-LIKE" in notes.codes) is warned


@pytest.mark.parametrize(("content", "options", "warned"), [
    ("a,1,2\n3,4,5\n", {}, True), ("a,1990,b\n3,4,5\n", {}, False), ("a,1,2\n3,4,5\n", {"header": True}, False),
    (",1,2\nx,4,5\n", {}, False), ("a,b\n3,4\n", {}, False)])
def test_a_header_of_numbers_is_noted(tmp_path: Path, content: str, options: dict[str, Any], warned: bool) -> None:
    with noted() as notes:
        table_of(tmp_path, content, **options)
    assert ("W-HEADER-NUMBERS" in notes.codes) is warned


@pytest.mark.parametrize(("content", "options", "code"), [
    ("2019,2020,2021\n3,4,5\n", {}, "W-HEADER-LIKE"), ("0, 1\n3,4\n", {}, "W-HEADER-LIKE"),
    ("400,402,404\n3,4,5\n", {}, "W-HEADER-LIKE"), ("3,1,2\n3,4,5\n", {}, "N-NO-HEADER"),
    ("1.5,2.5\n3,4\n", {}, "N-NO-HEADER"), ("7\n8\n", {}, "N-NO-HEADER"), ("7,7,7\n8,8,8\n", {}, "N-NO-HEADER"),
    ("2019,2020\n3,4\n", {"header": False}, None), ("2019,2020\n3,4\n", {"header": True}, None),
    ("a,b\n3,4\n", {}, None), (",2019,2020\nx,3,4\n", {}, None)])
def test_a_first_row_of_numbers_that_is_read_as_data_is_told(tmp_path: Path, content: str, options: dict[str, Any],
                                                            code: str | None) -> None:
    with noted() as notes:
        table = table_of(tmp_path, content, **options)
    assert [name for name in notes.codes if name in ("W-HEADER-LIKE", "N-NO-HEADER")] == ([code] if code else [])
    assert len(table.values) == (2 if code or options.get("header") is False else 1)


def test_the_source_is_recorded(tmp_path: Path) -> None:
    import hashlib

    content = b"a,b\n1,2\n"
    source = table_of(tmp_path, content).source
    assert source is not None
    assert (source.sha256, source.bytes, source.format) == (hashlib.sha256(content).hexdigest(), 8, "csv")


@pytest.mark.medium
def test_many_blocks_make_one_table(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((60_000, 3))
    labels = [f"l{row}\n{row}" for row in range(len(values))]
    lines = (f'"{label}",{a:.17g},{b:.17g},{c:.17g}\n' for label, (a, b, c) in zip(labels, values, strict=True))
    table = table_of(tmp_path, "l,a,b,c\n" + "".join(lines), label_columns=["l"])
    assert (table.values == values).all()
    assert list(table.labels["l"]) == labels


@pytest.mark.medium
def test_a_row_wider_than_a_block(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((4, 70_000))
    content = "\n".join(",".join(f"{cell:.17g}" for cell in row) for row in values)
    assert (table_of(tmp_path, content).values == values).all()


CELLS = st.one_of(
    st.text(alphabet="0123456789.eE+-", min_size=1, max_size=10),
    st.text(alphabet="0123456789.eE+-_ \tinfaNAxdty'１\u00a0", max_size=8),
    st.floats().map(repr), st.floats(allow_nan=False).map(lambda value: f" {value:.17g}\t"),
    st.sampled_from(["1.e5", ".5", "1.", ".", "-.5e-3", "1e+5", "+", "-", "e5", "1e", "1e5.5", "0" * 400 + "1",
                     "9" * 308, "1" * 400, "1.7976931348623158e308", "1.7976931348623159e308", "2e-324",
                     "2.4703282292062327e-324", "2.4703282292062328e-324",
                     "Infinity", "-INFINITY", "infin", " inf ", "NA ", "NULL", "true"]))


@pytest.mark.medium
@QUICK
@given(cell=CELLS, decimal=st.sampled_from(".,"))
def test_the_fast_road_accepts_exactly_the_numbers_of_the_slow_one(cell: str, decimal: str) -> None:
    if "\n" in cell or "\r" in cell:
        return
    cell = cell.replace(".", decimal)
    content = io.StringIO()
    csv.writer(content, delimiter=";", lineterminator="\n").writerows([["a", "b"], [cell, "1"], ["2", "3"], ["2", "3"]])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_text(content.getvalue(), encoding="utf-8")
        expected = fault(cell, decimal)
        input = Input(path=str(path), separator=";", decimal=decimal)  # type: ignore[arg-type]
        if expected in ("text", "overflow"):
            with pytest.raises(DataError) as caught:
                read(input)
            assert caught.value.code == ("E-OVERFLOW" if expected == "overflow" else "E-NOT-A-NUMBER")
        else:
            np.testing.assert_array_equal(read(input).values[0, 0], number(cell, decimal))


@pytest.mark.medium
@QUICK
@given(values=st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1,
                       max_size=8), header=st.booleans(), ids=st.booleans())
def test_seventeen_digits_read_back_to_the_same_bits(values: list[list[float]], header: bool, ids: bool) -> None:
    rows = [[f"{cell:.17g}" for cell in row] for row in values]
    if ids:
        rows = [[f"r{row}", *cells] for row, cells in enumerate(rows)]
    if header or ids:
        rows = [[""] * ids + ["a", "b", "c"], *rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
        table = read(Input(path=str(path)))
    assert table.values.tobytes() == np.array(values).tobytes()
    assert table.columns == (("a", "b", "c") if header or ids else ("x1", "x2", "x3"))


@pytest.mark.medium
@QUICK
@given(cells=st.lists(st.sampled_from(["", "NA", "nan", "1", "-2.5", "x", "0x1", "1e5", "inf", "Id"]), min_size=2,
                      max_size=5))
def test_the_header_rule(cells: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_text(",".join(cells) + "\n" + ",".join("7" * len(cells)) + "\n", encoding="utf-8")
        try:
            rows = len(read(Input(path=str(path))).ids)
        except DataError as error:
            assert error.code in ("E-UNNAMED-COLUMN", "E-DUPLICATE-COLUMNS")
            rows = 1
    numeric = [is_number(cell, ".") for cell in cells if cell not in MISSING]
    data = cells[0] != "" and all(numeric) and any(numeric)
    assert rows == (2 if data else 1)


@pytest.mark.medium
def test_a_long_run_of_blank_lines_between_rows(tmp_path: Path) -> None:
    blank = "\n" * (3 * SMALL_BLOCK // 2)
    assert table_of(tmp_path, f"a,b\n1,2\n{blank}3,4\n").values.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(("name", "content", "options"), [
    ("plain.csv", b"a,b\n1,2\n3,4\n", {}),
    ("marked.csv", b"\xef\xbb\xbfa,b\n1,2\n3,4\n", {}),
    ("headless.csv", b"\xef\xbb\xbf1,2\n3,4\n", {}),
    ("other.csv", "ä,b\n1,2\n3,4\n".encode("latin-1"), {"encoding": "latin-1"}),
    ("wide.csv", "a,b\n1,2\n3,4\n".encode("utf-16"), {"encoding": "utf-16"}),
    ("small.csv.gz", gzip.compress(b"a,b\n1,2\n3,4\n"), {}),
    ("-", b"a,b\n1,2\n3,4\n", {}),
], ids=["plain", "marked", "headless", "latin-1", "utf-16", "gzip", "stdin"])
def test_no_thread_of_arrow_holds_a_python_object(name: str, content: bytes, options: dict[str, Any], tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """Its read-ahead may still run when the interpreter ends, and a Python file would then abort the process."""
    import pyarrow
    from pyarrow import csv

    handed: list[Any] = []
    real = csv.open_csv
    monkeypatch.setattr(delimited, "CELLS", 0)
    monkeypatch.setattr(csv, "open_csv", lambda file, *rest: handed.append(file) or real(file, *rest))
    if name == "-":
        feed(monkeypatch, content)
        table = read(Input(path="-", **options))
    else:
        table = table_of(tmp_path, content, name, **options)
    assert table.values.tolist() == [[1, 2], [3, 4]]
    assert [type(file) for file in handed] in ([pyarrow.OSFile], [pyarrow.BufferReader])


def test_a_text_in_memory_is_held_against_the_limit(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a,b\n" + b"1," + b"0" * 900_000 + b"1\n"), "long.csv.gz")
    refused(path, RefusedByPlan, "MEMORY", Compute(memory_limit=500_000))


@pytest.mark.parametrize(("top", "columns", "lines"), [
    ("# made from a BIOM file\n#OTU ID\tS1\tS2\n", ("#OTU ID",), 1), ("#OTU ID\tS1\tS2\n", ("#OTU ID",), 0),
    ("# one\n#\nid\tS1\tS2\n", ("id",), 2), ("#S1\tS2\n", (), 0)])
@pytest.mark.parametrize("name", ["otu.tsv", "otu.txt"])
def test_lines_of_comments_at_the_top_are_left_out(tmp_path: Path, top: str, columns: tuple[str, ...], lines: int,
                                                   name: str) -> None:
    with noted() as notes:
        table = table_of(tmp_path, f"{top}a\t1\t2\nb\t3\t5\n", name)
    assert table.id_name == (*columns, "id")[0] and tuple(table.ids) == ("a", "b")
    assert table.columns[-1] == "S2" and table.values.tolist() == [[1, 2], [3, 5]]
    assert ("N-COMMENTS" in notes.codes) == (lines > 0)


def test_a_column_of_ids_beside_row_names_of_r_is_told_with_its_file(tmp_path: Path) -> None:
    with noted() as notes:
        table_of(tmp_path, ",site,a\n1,u,2\n2,v,3\n", id_column="site")
    assert "data.csv" in notes.message("N-ROW-NAMES")


def test_a_point_beside_decimal_commas_is_no_number(tmp_path: Path) -> None:
    refused(written(tmp_path, "a;b\n1,5;2\n2.5;3\n"), DataError, "NOT-A-NUMBER", separator=";", decimal=",")


def test_very_many_columns_are_read_record_by_record_to_the_same_table(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow takes kilobytes for each column; numbers, ids, labels and faults are the same by records."""
    content = "id,kind,a,b\np,x,1,2.5\nq,y,NA,-3e2\nr,,4,inf\n"
    whole = read_table(tmp_path, content)
    monkeypatch.setattr("mlcli.data.text.delimited.WIDE", 0)
    by_records = read_table(tmp_path, content)
    assert np.array_equal(whole.values, by_records.values, equal_nan=True)
    assert (whole.ids, whole.labels, whole.columns) == (by_records.ids, by_records.labels, by_records.columns)
    for cell in ("1_0", "x1", "\u0661"):  # which Python takes for numbers, or nearly
        refused(written(tmp_path, content.replace("2.5", cell)), DataError, "NOT-A-NUMBER")
    refused(written(tmp_path, content.replace("2.5", "1e999")), DataError, "OVERFLOW")
    refused(written(tmp_path, content.replace("2.5", "2.5,7")), DataError, "RAGGED")


def read_table(folder: Path, content: str) -> Table:
    """A table with ids and a label."""
    return read(Input(path=written(folder, content), id_column="id", label_columns=("kind",)))


ODD = ("# about\n# more\nid,a,b\n" + "".join(f'"p\n{row}",{row},{row * row}\n' for row in range(60)), "a\n\n1\n\n2\n",
       "x;y\r\n1,5;2\r\n3;4,25\r\n", "a b\r1 2\r3 4", "é,ü\n1,2\n3,4", "a,b\n1,2\n3", 'a,b\n1,"2\n', "a,b\n1,x\n2,y\n")


@pytest.mark.parametrize("kept", [1, 2, 5, 13, 64])
@pytest.mark.parametrize("text", ODD)
def test_a_text_is_read_alike_however_much_of_its_start_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                text: str, kept: int) -> None:
    def told() -> list[str]:
        with noted() as notes:
            try:
                table = table_of(tmp_path, text)
            except MlcliError as error:
                return [str(error), *map(str, notes.notes)]
        return [repr(table.values), repr(table.ids), repr(table.columns), repr(table.labels), *map(str, notes.notes)]

    whole = told()
    monkeypatch.setattr(records, "CHUNK", kept)
    assert told() == whole
