"""Every way a file can be bad ends in its own error with its own exit code (failure table, group A)."""

import sys
from pathlib import Path

import pytest

from mlcli.base.values.compute import Compute
from mlcli.errors import (
    DataError,
    DependencyMissing,
    MlcliError,
    RefusedByPlan,
)
from tests.data.helpers import refused, table_of, written
from tests.wording import Wording

TEXTS = [  # content, options, code, part of the message
    ("", {}, "EMPTY", "no rows"),
    ("\n\n", {}, "EMPTY", "no rows"),
    ("a,b\n", {}, "EMPTY", "0 rows and 2 columns"),
    ("a,b\n\n\n", {}, "EMPTY", "0 rows and 2 columns"),
    ("id\nx\ny\n", {"id_column": "id"}, "EMPTY", "no column is left"),
    ("a,b\n1,2\n3\n4,5\n", {}, "RAGGED", "row 2 has 1 value where the header has 2"),
    ("1,2\n3,4\n5,6,7\n", {}, "RAGGED", "row 3 has 3 values where the first row has 2"),
    ("a,b\nx,1,2\nx,3,4\n", {}, "RAGGED", "col.names=NA"),
    ("a,b\n1,2\n3,x\n4,5\n6,7\n", {}, "NOT-A-NUMBER", "'x' in line 3, row 2, column 'b'"),
    ("a,b\n1-1,1\n2-1,2\n", {}, "TEXT-COLUMN", "1 column of text among the numbers: 'a'"),
    ("a,b,c\n1kg,1,2kg\n3kg,2,4kg\n", {}, "TEXT-COLUMN", "2 columns of text among the numbers: 'a', 'c'"),
    ("a,b,c\nx,1,u\ny,2,v\n", {"columns": ["a:c"]}, "TEXT-COLUMN", "2 columns of text among the numbers: 'a', 'c'"),
    ("when,b\n2024-01-05,1\n2024-01-06,2\n", {}, "TEXT-COLUMN", "'when' holds dates: --label-column when keeps it"),
    ("a,b\n05.01.24,2024-01\n6.1.24,2024-02\n", {}, "TEXT-COLUMN", "'a', 'b' hold dates: --label-column a,b keeps"),
    ("a;b\n1,5;1.125,50\n2,5;12.000,00\n", {}, "TEXT-COLUMN", "between thousands? write numbers without them, as"),
    ('a,b\n1.5,"1,125.50"\n2.5,"12,000.25"\n', {}, "TEXT-COLUMN", "without them, as '1125.50'"),
    ("s,b\n[Na+].[Cl-],1\n(C)CO,2\n", {}, "TEXT-COLUMN", "'s' holds SMILES: compute fingerprints"),
    ("when,b\n2024-01-05,1\n2024-01-06,2\n", {"kind": "dissimilarities"}, "TEXT-COLUMN",
     "write numbers, as days since the first; if its rows are points with features, leave out --kind or"),
    ("p,b\np01,1\np02,2\n", {"kind": "dissimilarities"}, "TEXT-COLUMN", "or choose others with --columns; if its rows"),
    ("s\nCC(=O)O\nc1ccccc1\n", {}, "EMPTY", "'s' holds SMILES: compute fingerprints"),
    ("a,b\nx,u\ny,u\n", {}, "EMPTY", "all columns are text: 'a', 'b'"),
    ("a\n1\n1_000\n2\n3\n", {}, "NOT-A-NUMBER", "'1_000'"),
    ("a\n1\n１２\n2\n3\n", {}, "NOT-A-NUMBER", "'１２'"),
    ("a\n1\n١\n2\n3\n", {}, "NOT-A-NUMBER", "'١'"),
    ("a\n1\n0x10\n2\n3\n", {}, "NOT-A-NUMBER", "'0x10'"),
    ("a\n1\nNAN\n2\n3\n", {}, "NOT-A-NUMBER", "'NAN'"),
    ("a\n1\n-nan\n2\n3\n", {}, "NOT-A-NUMBER", "'-nan'"),
    ("a\n1\nN/A\n2\n3\n", {}, "NOT-A-NUMBER", "'N/A'"),
    ("a\n1\n1e400\n2\n3\n", {}, "OVERFLOW", "'1e400' in line 3, row 2, column 'a'"),
    ("a,b\n1,2\n-1e999,3\n", {}, "OVERFLOW", "'-1e999'"),
    ("a;b\n1;2\n3\n", {}, "SEPARATOR", "input.separator=';', or"),
    ("a\tb\n1\t2\n3\n", {}, "SEPARATOR", "input.separator=tab"),
    ("1  2\n3 4\n", {}, "SEPARATOR", "' '"),
    ("1,5;2,5\n3,5;4,5\n", {}, "TEXT-COLUMN", "input.separator=';' --set input.decimal=','"),
    (b"a,b\n1,2\n3,\xe9\n", {}, "ENCODING", "byte 0xe9 at position 10"),
    ("a,b\n1,2\n".encode("latin-1") + b"\xff", {}, "ENCODING", "input.encoding=latin-1"),
    (b"a,b\n1,2\n\0,4\n", {}, "NUL", "zero byte"),
    (b"a,b\n1,2\0\n", {}, "NUL", ":2"),
    ("a,b,a\n1,2,3\n", {}, "DUPLICATE-COLUMNS", "'a'"),
    (",b\nx,1\ny,2\nx,3\n", {}, "DUPLICATE-IDS", "'x'"),
    ("a,b,\n1,2,\n", {}, "UNNAMED-COLUMN", "column 3 of 3"),
    ("n,a\nx,1\n\"y,2\nz,3\n", {"id_column": "n"}, "QUOTE", ":3"),
    ("n,a\nx,1\ny,\"2", {"id_column": "n"}, "QUOTE", ":3"),
    ("a,n\n1,x\n2,\"y", {"id_column": "n"}, "QUOTE", ":3"),
    ("n,a\nx,1\n" + "y" * 131_073 + ",2\n", {"id_column": "n"}, "FIELD-SIZE", "131,072"),
    ("n" * 131_073 + ",a\nx,1\n", {}, "FIELD-SIZE", "131,072"),
    ("a,\"b\n" + "1,2\n" * 40_000, {}, "FIELD-SIZE", "quote left open"),
    (b"\x1f\x8b\x08\0", {}, "NOT-TEXT", "gzip"),
    (b"PAR1....", {}, "NOT-TEXT", "Parquet"),
    (b"\x93NUMPY...", {}, "NOT-TEXT", "NPY"),
]

LONG = "a\n" + 5000 * "1\n"  # a text that is not read by record


@pytest.mark.parametrize(("content", "options", "code", "part"), TEXTS)
def test_bad_text(tmp_path: Path, content: str | bytes, options: dict[str, str], code: str, part: str) -> None:
    error = refused(written(tmp_path, content), DataError, code, **options)
    assert part in str(error)
    assert "data.csv" in error.where
    assert error.hint
    assert error.exit_code == 65


def test_the_line_of_a_bad_cell_is_the_file_s_own(tmp_path: Path, wording: Wording) -> None:
    content = 'n,a\n"two\nlines",1\n\nx,2\ny,3\nz,oops\nu,1\nv,2\n'
    error = refused(written(tmp_path, content), DataError, "NOT-A-NUMBER", id_column="n")
    assert error.where.endswith("data.csv:7")
    assert "E-NOT-A-NUMBER" in wording(error)


def test_only_the_first_five_bad_cells_are_listed(tmp_path: Path, wording: Wording) -> None:
    rows = [f"{i},{'bad' if i % 3 == 0 else i}" for i in range(30)]
    error = refused(written(tmp_path, "a,b\n" + "\n".join(rows)), DataError, "NOT-A-NUMBER")
    assert "E-NOT-A-NUMBER" in wording(error)
    assert error.what.count("'bad'") == 5


def test_cells_and_names_are_cut_and_escaped(tmp_path: Path) -> None:
    name, cell = "n" * 500, "x\x1b[31m" + "y" * 500
    error = refused(written(tmp_path, f"{name},b\n1,2\n{cell},3\n4,5\n6,7\n"), DataError, "NOT-A-NUMBER")
    assert "\x1b" not in str(error)
    assert len(error.what) < 300


def test_a_text_column_deep_in_a_long_file_is_named(tmp_path: Path, wording: Wording) -> None:
    rows = [f"{i},{i}" for i in range(2000)] + [f"{i},w{i}" for i in range(5000)]
    error = refused(written(tmp_path, "a,b\n" + "\n".join(rows)), DataError, "NOT-A-NUMBER")
    assert "E-NOT-A-NUMBER" in wording(error)


def test_a_table_too_large_for_the_memory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,c\n" + "1,2,3\n" * 60_000)
    error = refused(path, RefusedByPlan, "MEMORY", Compute(memory_limit="1M"))
    assert error.exit_code == 82
    assert "60,001 x 3" in error.what


def test_an_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.data.text.records.LINE_LIMIT", 3 << 20)
    path = written(tmp_path, "a\n1\n" + "2" * (4 << 20))
    assert refused(path, DataError, "LINE-SIZE").where.endswith(":3")


def test_an_old_pyarrow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow

    from mlcli.data.files import arrow

    arrow.pyarrow.cache_clear()
    monkeypatch.setattr(pyarrow, "__version__", "23.0.0")
    try:
        assert refused(written(tmp_path, LONG), DependencyMissing, "PYARROW").exit_code == 69
    finally:
        arrow.pyarrow.cache_clear()


def test_rows_come_out_in_the_order_of_the_file(tmp_path: Path) -> None:
    ids = [f"r{(i * 7919) % 100_003}" for i in range(50_000)]
    table = table_of(tmp_path, "id,a\n" + "".join(f"{id},{row}\n" for row, id in enumerate(ids)), id_column="id")
    assert table.ids == tuple(ids)
    assert table.values[:, 0].tolist() == list(range(50_000))


@pytest.mark.parametrize("cut", range(0, 43))
def test_a_shorter_csv_is_read_only_up_to_a_whole_row(tmp_path: Path, cut: int) -> None:
    whole = b'id,"a ""q""",b\n"x 1",1,23\n"y,2",4.5,6\nz,7,8\n'
    full = [("x 1", 1.0, 23.0), ("y,2", 4.5, 6.0), ("z", 7.0, 8.0)]
    try:
        table = table_of(tmp_path, whole[:cut], id_column="id")
    except MlcliError as error:
        assert error.exit_code in (65, 78)
        return
    rows = [(id, *values) for id, values in zip(table.ids, table.values.tolist(), strict=True)]
    last = whole[:cut].split(b"\n")[-1] or whole[:cut].split(b"\n")[-2]
    assert rows[:-1] == full[: len(rows) - 1]
    assert len(rows) <= len(full)
    assert rows[-1] == full[len(rows) - 1] or not whole[:cut].endswith(b"\n")
    assert rows[-1][0] == full[len(rows) - 1][0]
    assert last


def test_a_missing_pyarrow_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcli.data.files import arrow

    arrow.pyarrow.cache_clear()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    try:
        assert "pip install" in refused(written(tmp_path, LONG), DependencyMissing, "PYARROW").hint
    finally:
        arrow.pyarrow.cache_clear()


@pytest.mark.medium
def test_a_row_of_endless_quoted_lines_is_refused(tmp_path: Path) -> None:
    cell = '"' + "x\n" * 65_000 + '"'
    names = [f"l{place}" for place in range(30)]
    content = ",".join(["a", *names]) + "\n1" + f",{cell}" * 30 + "\n2" + ",y" * 30 + "\n"
    refused(written(tmp_path, content), DataError, "CSV", label_columns=names)
