"""The input is a regular file that stays the same while it is read, or standard input."""

import errno
import hashlib
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import get_native_id
from typing import BinaryIO

import pytest

from mlcli.base.stages.stage import Watcher, listening
from mlcli.base.values.compute import Compute
from mlcli.data.files.source import SETTLED, Digest
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import ConfigError, DataError, InputMissing, RefusedByPlan, StorageError, UsageError
from mlcli.process.file_hash import COURTESY, lower_priority
from tests.data.helpers import feed, refused, written
from tests.wording import Wording


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


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording) -> None:
    def denied(*args: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    path = written(tmp_path, "a\n1\n")
    monkeypatch.setattr(os, "open", denied)
    error = refused(path, InputMissing, "INPUT-MISSING")
    assert "permissions" in error.hint
    assert "E-INPUT-MISSING" in wording(error)


@pytest.mark.parametrize("age", [0.0, 1e9])
def test_a_small_text_is_read_once_and_again_only_where_it_has_just_been_written(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float) -> None:
    reads, reading = list[int](), os.preadv

    def counted(descriptor: int, buffers: list[memoryview], position: int) -> int:
        count = reading(descriptor, buffers, position)
        reads.append(count)
        return count

    content = "id,kind,a,b\n" + "".join(f"p{row},k{row % 3},{row / 7},{row}\n" for row in range(600))
    path = written(tmp_path, content)
    os.utime(path, (time.time() - age, time.time() - age))
    monkeypatch.setattr(os, "preadv", counted)
    table = read(Input(path=path, id_column="id", label_columns=("kind",)))
    assert table.source is not None and table.source.sha256 == hashlib.sha256(content.encode()).hexdigest()
    assert len(content) > 14_000 and list(filter(None, reads)) == [len(content)] * (2 if age == 0 else 1)


class NoDigest:
    """A hash that reads nothing, so that the reader itself meets the failure."""

    content = None

    def __init__(self, path: str, descriptor: int) -> None: ...

    def result(self) -> str:
        return ""

    def stop(self) -> None: ...


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.csv.bz2", "data.csv.zst", "data.npy", "data.npz",
                                  "data.parquet", "data.arrow", "data.phy"])
def test_a_disk_that_fails_is_a_storage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def failing(descriptor: int, buffers: list[memoryview], position: int) -> int:
        raise OSError(errno.EIO, "Input/output error")

    path = written(tmp_path, "a\n" + "1\n" * 50_000, name)
    monkeypatch.setattr("mlcli.data.files.source.Digest", NoDigest)
    monkeypatch.setattr(os, "preadv", failing)
    kind = "dissimilarities" if name.endswith("phy") else "features"
    error = refused(path, StorageError, "READ", kind=kind)
    assert error.exit_code == 74
    assert "Input/output error" in error.what


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    written(tmp_path, "a\n1\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "data.csv")
    assert read(Input(path=str(tmp_path / "link.csv"))).values.tolist() == [[1.0]]


class Meddling(Watcher):
    """Changes a file when the first rows of it have been read."""

    def __init__(self, path: Path, change: str) -> None:
        self.path, self.change, self.done = path, change, False

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        if self.done:
            return
        self.done = True
        content = self.path.read_bytes()
        new = {"grow": content + b"9,9\n", "shrink": content[:2000],
               "rewrite": b"a,b\n" + b"x,y\n" * (len(content) // 4)}
        before = self.path.stat()
        with self.path.open("r+b") as file:
            file.write(new.get(self.change, content[:-2] + b"7\n"))
            file.truncate()
        if self.change == "same size and time":
            os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", ["grow", "shrink", "rewrite", "same size and time"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, change: str) -> None:
    path = Path(written(tmp_path, "a,b\n" + "1,2\n" * 900_000))
    with listening(Meddling(path, change)), pytest.raises(StorageError) as caught:
        read(Input(path=str(path)))
    assert caught.value.code == "E-CHANGED"
    assert caught.value.exit_code == 74


@pytest.mark.medium
def test_a_file_that_changes_before_its_hash_is_known_is_refused(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("lines", [1000, 100_000])  # hashed at once, and by a thread
def test_the_hash_gives_way_and_nothing_else_does(tmp_path: Path, lines: int) -> None:
    path = Path(written(tmp_path, "1,2\n3,4\n" * lines))
    before = os.getpriority(os.PRIO_PROCESS, 0)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert Digest(str(path), descriptor).result() == hashlib.sha256(path.read_bytes()).hexdigest()
    finally:
        os.close(descriptor)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
    if sys.platform == "linux":
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lower_priority).result()
            found = pool.submit(lambda: os.getpriority(os.PRIO_PROCESS, get_native_id())).result()
        assert found == min(before + COURTESY, 19)


def test_standard_input_is_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b",a,b\nx,1,2\ny,3,4\n")
    table = read(Input(path="-"))
    assert (table.ids, table.columns, table.values.tolist()) == (("x", "y"), ("a", "b"), [[1, 2], [3, 4]])
    assert table.source is not None
    assert (table.source.path, table.source.bytes) == ("-", 17)


def test_standard_input_at_a_terminal_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"", terminal=True)
    assert refused("-", UsageError, "STDIN-TERMINAL").exit_code == 2


@pytest.mark.medium
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


def test_a_file_that_grows_between_two_looks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcli.data.text import records

    path = Path(written(tmp_path, "a,b\n1,2\n"))
    survey = records.survey

    def then_grown(stream: BinaryIO, name: str,
                   watch: records.Watch | None) -> tuple[records.Survey, records.TextStart]:
        found = survey(stream, name, watch)
        path.write_text("a,b\n" + "1,2\n" * 100)
        return found

    monkeypatch.setattr(records, "survey", then_grown)
    refused(str(path), StorageError, "CHANGED")


def test_a_file_replaced_by_a_pipe_between_look_and_opening_is_refused(tmp_path: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a\n1\n")
    opening = os.open

    def replaced(name: str, flags: int) -> int:
        Path(name).unlink()
        os.mkfifo(name)
        return opening(name, flags)

    monkeypatch.setattr(os, "open", replaced)
    refused(path, InputMissing, "NOT-A-FILE")
