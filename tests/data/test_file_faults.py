"""Every way a file can be bad ends in its own error with its own exit code (failure table, group A)."""

import hashlib
import os
from pathlib import Path

import pytest

from mlcli.base.compute import Compute
from mlcli.data.digest import Digest
from mlcli.data.input import Input
from mlcli.data.read import read
from mlcli.errors import (
    ConfigError,
    DataError,
    DependencyMissing,
    InputMissing,
    MlcliError,
    RefusedByPlan,
    StorageError,
    UsageError,
)
from tests.data.helpers import feed, refused, table_of, written

TEXTS = [  # content, options, code, part of the message
    ("", {}, "EMPTY", "no rows"),
    ("\n\n", {}, "EMPTY", "no rows"),
    ("a,b\n", {}, "EMPTY", "0 rows and 2 columns"),
    ("a,b\n\n\n", {}, "EMPTY", "0 rows and 2 columns"),
    ("id\nx\ny\n", {"id_column": "id"}, "EMPTY", "no column is left"),
    ("a,b\n1,2\n3\n4,5\n", {}, "RAGGED", "row 2 has 1 value where the header has 2"),
    ("1,2\n3,4\n5,6,7\n", {}, "RAGGED", "row 3 has 3 values where the first row has 2"),
    ("a,b\nx,1,2\ny,3,4\n", {}, "RAGGED", "col.names=NA"),
    ("a,b\n1,2\n3,x\n4,5\n6,7\n", {}, "NOT-A-NUMBER", "'x' in line 3, row 2, column 'b'"),
    ("a,b\nx,1\ny,2\n", {}, "TEXT-COLUMN", "1 column of text among the numbers: 'a'"),
    ("a,b,c\nx,1,u\ny,2,v\n", {}, "TEXT-COLUMN", "2 columns of text among the numbers: 'a', 'c'"),
    ("a\n1\n1_000\n2\n3\n", {}, "NOT-A-NUMBER", "'1_000'"),
    ("a\n1\n１２\n2\n3\n", {}, "NOT-A-NUMBER", "'１２'"),
    ("a\n1\n١\n2\n3\n", {}, "NOT-A-NUMBER", "'١'"),
    ("a\n1\n0x10\n2\n3\n", {}, "NOT-A-NUMBER", "'0x10'"),
    ("a\n1\nNAN\n2\n3\n", {}, "NOT-A-NUMBER", "'NAN'"),
    ("a\n1\n-nan\n2\n3\n", {}, "NOT-A-NUMBER", "'-nan'"),
    ("a\n1\nN/A\n2\n3\n", {}, "NOT-A-NUMBER", "'N/A'"),
    ("a\n1\n1e400\n2\n3\n", {}, "OVERFLOW", "'1e400' in line 3, row 2, column 'a'"),
    ("a,b\n1,2\n-1e999,3\n", {}, "OVERFLOW", "'-1e999'"),
    ("a;b\n1;2\n", {}, "SEPARATOR", "';'"),
    ("1;2\n3;4\n", {}, "SEPARATOR", "';'"),
    ("a\tb\n1\t2\n", {}, "SEPARATOR", "input.separator=tab"),
    ("1 2\n3 4\n", {}, "SEPARATOR", "' '"),
    ("1,5;2,5\n3,5;4,5\n", {}, "TEXT-COLUMN", "input.separator=';'"),
    ("a,b\n1,2\n".encode("utf-16"), {}, "ENCODING", "UTF-16"),
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


@pytest.mark.parametrize(("content", "options", "code", "part"), TEXTS)
def test_bad_text(tmp_path: Path, content: str | bytes, options: dict[str, str], code: str, part: str) -> None:
    error = refused(written(tmp_path, content), DataError, code, **options)
    assert part in str(error)
    assert "data.csv" in error.where
    assert error.hint
    assert error.exit_code == 65


def test_the_line_of_a_bad_cell_is_the_file_s_own(tmp_path: Path) -> None:
    content = 'n,a\n"two\nlines",1\n\nx,2\ny,3\nz,oops\nu,1\nv,2\n'
    error = refused(written(tmp_path, content), DataError, "NOT-A-NUMBER", id_column="n")
    assert error.where.endswith("data.csv:7")
    assert "'oops' in line 7, row 4, column 'a'" in error.what


def test_only_the_first_five_bad_cells_are_listed(tmp_path: Path) -> None:
    rows = [f"{i},{'bad' if i % 3 == 0 else i}" for i in range(30)]
    error = refused(written(tmp_path, "a,b\n" + "\n".join(rows)), DataError, "NOT-A-NUMBER")
    assert error.what.startswith("10 cells are not numbers")
    assert error.what.count("'bad'") == 5
    assert "and 5 more" in error.what


def test_cells_and_names_are_cut_and_escaped(tmp_path: Path) -> None:
    name, cell = "n" * 500, "x\x1b[31m" + "y" * 500
    error = refused(written(tmp_path, f"{name},b\n1,2\n{cell},3\n4,5\n6,7\n"), DataError, "NOT-A-NUMBER")
    assert "\x1b" not in str(error)
    assert len(error.what) < 300


def test_a_text_column_deep_in_a_long_file_is_named(tmp_path: Path) -> None:
    rows = [f"{i},{i}" for i in range(2000)] + [f"{i},w{i}" for i in range(5000)]
    error = refused(written(tmp_path, "a,b\n" + "\n".join(rows)), DataError, "NOT-A-NUMBER")
    assert "line 2002" in error.what


@pytest.mark.parametrize("make", ["missing", "folder", "fifo", "device", "below-a-file", "zero-byte", "loop"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, make: str) -> None:
    path = tmp_path / "data.csv"
    if make == "folder":
        path.mkdir()
    if make == "fifo":
        os.mkfifo(path)
    if make == "loop":
        path.symlink_to(path)
    if make == "below-a-file":
        path.write_text("1\n")
        path = path / "data.csv"
    name = {"device": "/dev/zero", "zero-byte": "a\0b"}.get(make, str(path))
    error = refused(name, InputMissing, "NOT-A-FILE" if make in ("folder", "fifo", "device") else "INPUT-MISSING")
    assert error.exit_code == 66


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = Path(written(tmp_path, "a\n1\n"))
    path.chmod(0)
    assert "permissions" in refused(str(path), InputMissing, "INPUT-MISSING").hint


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    written(tmp_path, "a\n1\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "data.csv")
    assert read(Input(path=str(tmp_path / "link.csv"))).values.tolist() == [[1.0]]


class Meddling:
    """Changes a file when the first rows of it have been read."""

    def __init__(self, path: Path, change: str) -> None:
        self.path, self.change, self.done = path, change, False

    def begin(self, stage: str) -> None: ...
    def end(self, stage: str) -> None: ...
    def note(self, note: object) -> None: ...

    def advance(self, stage: str, done: int, total: int) -> None:
        if self.done:
            return
        self.done = True
        content = self.path.read_bytes()
        new = {"grow": content + b"9,9\n", "shrink": content[:2000], "rewrite": b"a,b\n" + b"x,y\n" * (len(content) // 4)}
        before = self.path.stat()
        with self.path.open("r+b") as file:
            file.write(new.get(self.change, content[:-2] + b"7\n"))
            file.truncate()
        if self.change == "same size and time":
            os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", ["grow", "shrink", "rewrite", "same size and time"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, change: str) -> None:
    from mlcli.base.stage import listening

    path = Path(written(tmp_path, "a,b\n" + "1,2\n" * 900_000))
    with listening(Meddling(path, change)), pytest.raises(StorageError) as caught:
        read(Input(path=str(path)))
    assert caught.value.code == "E-CHANGED"
    assert caught.value.exit_code == 74


def test_standard_input_is_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b",a,b\nx,1,2\ny,3,4\n")
    table = read(Input(path="-"))
    assert (table.ids, table.columns, table.values.tolist()) == (("x", "y"), ("a", "b"), [[1, 2], [3, 4]])
    assert table.source is not None
    assert (table.source.path, table.source.bytes) == ("-", 17)


def test_standard_input_at_a_terminal_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"", terminal=True)
    assert refused("-", UsageError, "STDIN-TERMINAL").exit_code == 2


def test_standard_input_too_large_for_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"1\n" * 5_000_000)
    refused("-", RefusedByPlan, "MEMORY", Compute(memory_limit="2M"))


def test_standard_input_errors_are_told_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"a,b\n1,2\n3\n")
    assert refused("-", DataError, "RAGGED").where == "standard input:3"


@pytest.mark.parametrize("format", ["parquet", "arrow", "npy", "npz"])
def test_standard_input_holds_no_binary_formats(monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    feed(monkeypatch, b"")
    assert refused("-", ConfigError, "FORMAT", format=format).exit_code == 78


def test_a_table_too_large_for_the_memory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,c\n" + "1,2,3\n" * 60_000)
    error = refused(path, RefusedByPlan, "MEMORY", Compute(memory_limit="1M"))
    assert error.exit_code == 82
    assert "60,001 x 3" in error.what


def test_an_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.data.text.LINE_LIMIT", 3 << 20)
    path = written(tmp_path, "a\n1\n" + "2" * (4 << 20))
    assert refused(path, DataError, "LINE-SIZE").where.endswith(":3")


def test_an_old_pyarrow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow

    from mlcli.data import arrow

    arrow.pyarrow.cache_clear()
    monkeypatch.setattr(pyarrow, "__version__", "23.0.0")
    try:
        assert refused(written(tmp_path, "a\n1\n"), DependencyMissing, "PYARROW").exit_code == 69
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


def test_a_file_that_changes_before_its_hash_is_known_is_refused(tmp_path: Path) -> None:
    from mlcli.data.source import SETTLED

    path = Path(written(tmp_path, "a,b\n" + "1,2\n" * 2_000_000))
    old = path.stat().st_mtime - 10 * SETTLED
    os.utime(path, (old, old))
    table = read(Input(path=str(path)))
    assert table.source is not None
    assert table.source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()

    descriptor = os.open(path, os.O_RDWR)
    digest = Digest(str(path), descriptor)
    os.write(descriptor, b"A")  # the hash needs some ten milliseconds more
    with pytest.raises(StorageError) as caught:
        digest.result()
    os.close(descriptor)
    assert caught.value.code == "E-CHANGED"
