"""What commands write: exclusively without --force, and under it in the place of a run or a file, nothing else."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcli.publication import publish
from tests.journeys.support import Caller, forked
from tests.wording import Wording

FILES = {"project": ("project", "run", "data.csv", "-o", "out.csv"),
         "reconstruct": ("reconstruct", "run", "run/embedding.csv", "-o", "out.csv"),
         "sample": ("sample", "torus", "--rows", "20", "-o", "out.csv"),
         "compare": ("compare", "run", "other", "-o", "out.html")}
EMBED = ("embed", "data.csv", "-q", "-o", "out")


def names(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


@pytest.fixture
def runs(mlcli: Caller) -> None:
    for name in ("run", "other"):
        mlcli.finished("embed", "data.csv", "-q", "-o", name)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has something happen between the work and its publication."""
    def happens(event: Callable[[], object]) -> None:
        published = publish.publish
        monkeypatch.setattr(publish, "publish", lambda *arguments, **options: (
            event(), published(*arguments, **options))[1])
    return happens


@pytest.mark.parametrize("command", FILES)
def test_a_file_that_appears_meanwhile_is_kept(mlcli: Caller, runs: None, command: str,
                                               meanwhile: Callable[[Callable[[], object]], None],
                                               wording: Wording) -> None:
    output = FILES[command][-1]
    meanwhile(lambda: Path(output).write_text("precious"))
    called = mlcli(*FILES[command])
    assert called.code == 73 and "E-OUTPUT-RACE" in wording(called.err) and output in called.err
    assert Path(output).read_text() == "precious"
    assert mlcli(*FILES[command], "--force").code == 0
    assert Path(output).read_text() != "precious" and names(".") == {"data.csv", "run", "other", output}


@pytest.mark.parametrize("command", FILES)
@pytest.mark.parametrize("other", ["a folder", "a link", "a pipe"])
def test_force_replaces_regular_files_only(mlcli: Caller, runs: None, command: str, other: str) -> None:
    output = FILES[command][-1]
    if other == "a folder":
        Path(output).mkdir()
    elif other == "a link":
        Path("precious").write_text("precious")
        Path(output).symlink_to("precious")
    else:
        os.mkfifo(output)
    called = mlcli(*FILES[command], "--force")
    assert called.code == 73 and called.err.count("\n") == 1
    assert other != "a link" or Path("precious").read_text() == "precious"


@pytest.mark.medium
def test_a_race_of_processes_has_one_winner(runs: None) -> None:
    """All have seen that there is no output before any of them gets its points."""
    command = ("project", "run", "-", "-o", "out.csv", "--progress", "json")
    racers = [forked(*command, stdin=subprocess.PIPE) for _ in range(2)]
    assert all(racer.stderr and b"begin" in racer.stderr.readline() for racer in racers)
    points = Path("data.csv").read_bytes()
    for racer in racers:
        assert racer.stdin
        racer.stdin.write(points)
        racer.stdin.close()
        racer.stdin = None
    told = [racer.communicate()[1] for racer in racers]
    assert sorted(racer.returncode for racer in racers) == [0, 73], told
    assert names(".") == {"data.csv", "run", "other", "out.csv"}
    assert Path("out.csv").read_text().count("\n") == 31


@pytest.mark.parametrize("case", ["no run", "link", "notes", "pipe"])
def test_force_deletes_nothing_that_is_not_a_run(mlcli: Caller, case: str, wording: Wording) -> None:
    if case == "no run":
        Path("out").mkdir()
        Path("out/run.json").write_text("{}")
    else:
        assert mlcli(*EMBED).code == 0
    if case in ("link", "pipe"):
        Path("out/run.json").rename("elsewhere.json")
        Path("out/run.json").symlink_to("../elsewhere.json") if case == "link" else os.mkfifo("out/run.json")
    else:
        Path("out/thesis.txt").write_text("precious")
    before = names("out")
    called = mlcli(*EMBED, "--force")
    assert called.code == 73 and wording(called.err) == ["E-OUTPUT-FOREIGN"]
    assert names("out") == before and (case != "notes" or "thesis.txt" in called.err)


def test_a_run_that_gets_notes_while_another_is_made_is_kept(
        mlcli: Caller, meanwhile: Callable[[Callable[[], object]], None]) -> None:
    assert mlcli(*EMBED).code == 0
    finished = json.loads(Path("out/run.json").read_text())["finished"]
    meanwhile(lambda: Path("out/thesis.txt").write_text("precious"))
    called = mlcli(*EMBED, "--force")
    assert called.code == 73 and "thesis.txt" in called.err
    assert json.loads(Path("out/run.json").read_text())["finished"] == finished
    assert names(".") == {"data.csv", "out"}


def test_an_empty_folder_is_filled_and_another_is_not(mlcli: Caller) -> None:
    Path("out").mkdir()
    assert mlcli(*EMBED).code == 0
    assert "run.json" in names("out")
    called = mlcli(*EMBED)
    assert called.code == 73 and "E-OUTPUT-EXISTS" in called.err
    assert mlcli(*EMBED, "--force").code == 0
