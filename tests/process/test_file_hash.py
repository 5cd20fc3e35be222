"""A large file is hashed from the start of the program on; whoever opens it gets this hash, if it is of the file."""

import hashlib
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcli.process import file_hash
from mlcli.process.file_hash import FileHash, hash_early, hash_of

CONTENT = bytes(range(256)) * 4096


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A megabyte is large."""
    monkeypatch.setattr(file_hash, "LARGE", len(CONTENT))
    yield
    file_hash._early.clear()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A large file."""
    (tmp_path / "data.npy").write_bytes(CONTENT)
    return tmp_path / "data.npy"


def opened(path: Path) -> FileHash:
    """The hash that whoever opens a file gets."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return hash_of(descriptor)
    finally:
        os.close(descriptor)


def test_whoever_opens_the_file_gets_the_hash_that_has_begun(path: Path) -> None:
    hash_early(["embed", "--method", "pca", str(path), "-o", "out"])
    begun = file_hash._early[0]
    assert opened(path) is begun
    assert (begun.result(), begun.same) == (hashlib.sha256(CONTENT).hexdigest(), True)
    assert opened(path) is not begun  # a second look is a second hash
    assert sys.getswitchinterval() > file_hash.SWITCH


@pytest.mark.parametrize("change", ["other content", "other file", "renamed"])
def test_another_file_or_content_is_hashed_anew(path: Path, change: str) -> None:
    hash_early(["embed", str(path)])
    begun, other = file_hash._early[0], path.with_name("other")
    begun.result()
    other.write_bytes(CONTENT[::-1])
    if change == "other content":
        path.write_bytes(CONTENT[::-1])
        os.utime(path, ns=(0, 0))
    if change == "renamed":
        other.rename(path)
    found = opened(other if change == "other file" else path)
    assert found is not begun
    assert found.result() == hashlib.sha256(CONTENT[::-1]).hexdigest()


@pytest.mark.parametrize("arguments", [[], ["embed"], ["plan", "{}"], ["embed", "no such file"], ["embed", "\0", "."]])
def test_nothing_else_is_hashed_early(path: Path, arguments: list[str]) -> None:
    hash_early([text.format(path) for text in arguments])
    assert file_hash._early == []


def test_a_small_file_and_a_limit_of_addresses_leave_the_hash_for_later(path: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    path.with_name("small").write_bytes(CONTENT[1:])
    hash_early(["embed", str(path.with_name("small"))])
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (2**33, 2**33))
    hash_early(["embed", str(path)])
    assert file_hash._early == []


def test_a_child_does_not_wait_for_a_thread_of_its_parent(path: Path) -> None:
    hash_early(["embed", str(path)])
    child = os.fork()
    if not child:
        os._exit(len(file_hash._early))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(file_hash._early) == 1


def test_a_file_in_use_is_compared_with_its_state_each_time(path: Path) -> None:
    found, held = opened(path), opened(path)
    held.hold()
    for one in (found, held):
        assert one.result()
        assert one.same
    with path.open("ab") as file:
        file.write(b"more")
    for one in (found, held):
        one.result()
    assert (found.same, held.same) == (True, False)
