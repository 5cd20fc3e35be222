"""Results of stages in files: equal values, shared between processes, nothing damaged taken, under a limit."""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.stages.stage import Note, Watcher, listening, note, stage
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.graph.search import Lists
from mlcli.engine import cache as module
from mlcli.engine.cache import Folder, StageCache


@pytest.fixture(autouse=True)
def everything_is_worthwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTHWHILE", 0.0)


computed: list[int] = []


@stage("neighbors", version=1)
def lists(values: Array, count: int, compute: Compute | None = None) -> Lists:
    """A result that follows from its inputs, with a note."""
    computed.append(count)
    note("W-COUNT", f"{count} were asked for", count=count)
    return Lists(np.arange(len(values) + 1), np.arange(len(values)), values[:, 0] * count)


class Notes(Watcher):
    """Keeps the notes that it hears."""

    def __init__(self) -> None:
        self.heard: list[Note] = []

    def note(self, note: Note) -> None:
        self.heard.append(note)


def asked(folder: Path, count: int, values: Array | None = None, limit: float = float("inf"),
          **inputs: Compute) -> tuple[Lists, StageCache, list[Note]]:
    """The stage's result with a new cache over a folder, as another process would have it."""
    notes, cached = Notes(), StageCache(Folder(folder, limit), {"kernels": "v3"})
    with listening(notes), listening(cached):
        result = lists(np.eye(4) if values is None else values, count, **inputs)
    return result, cached, notes.heard


def taken(folder: Path, count: int = 3, **inputs: Compute) -> bool:
    """Whether a result is taken from the folder; it has the right content in any case."""
    before = len(computed)
    result = asked(folder, count, **inputs)[0]
    np.testing.assert_array_equal(result.lengths, np.eye(4)[:, 0] * count)
    return len(computed) == before


def test_a_result_is_taken_with_its_notes(tmp_path: Path) -> None:
    first, missed, said = asked(tmp_path, 3)
    second, found, again = asked(tmp_path, 3)
    assert computed[-1:] == [3] and taken(tmp_path)
    for name in ("starts", "indices", "lengths"):
        one, other = getattr(first, name), getattr(second, name)
        assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
    assert said == again == [Note("W-COUNT", "3 were asked for", {"count": 3})]
    assert [answer.taken for one in (missed, found) for answer in one.answers] == [False, True]


def test_what_differs_is_named(tmp_path: Path) -> None:
    assert asked(tmp_path, 3)[1].answers[0].differs == ()
    assert asked(tmp_path, 4)[1].answers[0].differs == ["count"]
    assert asked(tmp_path, 4, np.ones((4, 4)))[1].answers[0].differs == ["values"]
    assert asked(tmp_path, 4, compute=Compute(seed=1))[1].answers[0].differs == [
        "compute as chosen", "compute.seed", "compute.threads", "compute.memory_limit"]
    assert asked(tmp_path, 4, compute=Compute(seed=2))[1].answers[0].differs == ["compute.seed"]


def test_where_a_cache_lies_is_no_part_of_a_key(tmp_path: Path) -> None:
    assert not taken(tmp_path, compute=Compute(cache="here"))
    assert taken(tmp_path, compute=Compute(cache="there", cache_limit="1G"))


@pytest.mark.parametrize("damage", [
    lambda content: content[:-1], lambda content: b"", lambda content: content[: len(content) // 2],
    lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:], lambda content: b"{}\n" + content,
    lambda content: b"[" * 10**5, lambda content: content.replace(b'"format": 1', b'"format": 2'),
    lambda content: content.replace(b'"type": "lists"', b'"type": "other"'), lambda content: b"null\n"],
    ids=["cut", "empty", "half", "a bit", "a line before", "deep", "another format", "another type", "null"])
def test_damaged_files_are_computed_again(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    assert not taken(tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    assert damage(content) != content
    path.write_bytes(damage(content))
    assert not taken(tmp_path) and taken(tmp_path)


def test_the_results_used_longest_ago_are_removed_first(tmp_path: Path) -> None:
    for place, count in enumerate((1, 2, 3)):
        asked(tmp_path, count)
        for entry in Folder(tmp_path).entries()[place:]:
            os.utime(entry.path, (place, place))
    sizes = 16 + sum(entry.bytes for entry in Folder(tmp_path).entries())  # the seconds have more or fewer digits
    assert taken(tmp_path, 1)  # which is the latest now
    asked(tmp_path, 4, limit=sizes)
    assert taken(tmp_path, 1) and taken(tmp_path, 3) and taken(tmp_path, 4)
    assert not taken(tmp_path, 2)


def test_what_is_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    asked(tmp_path, 3, limit=100)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not taken(tmp_path / "file") and not taken(tmp_path / "file" / "below")


def test_what_is_not_a_result_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    asked(tmp_path, 3)
    assert Folder(tmp_path).shrink(0) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def in_a_process(folder: Path) -> float:
    """The sum of many results, in a process of its own."""
    module.WORTHWHILE = 0.0
    return sum(float(asked(folder, count)[0].lengths.sum()) for count in (*range(1, 20), *range(1, 20)))


@pytest.mark.medium
def test_processes_share_a_folder(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        assert set(pool.map(in_a_process, [tmp_path] * 3)) == {2.0 * sum(range(1, 20))}
    assert len(Folder(tmp_path).entries()) == 19
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
