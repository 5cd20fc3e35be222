"""Writers at the same time, and what they or dead ones leave: nothing is refused, removed or hidden without cause."""

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlcli.errors import OutputRefused
from mlcli.publication import publish
from mlcli.publication.recovery import recover
from mlcli.publication.replaceable import RUN
from mlcli.publication.staging import Kind, drafts_in, new_draft
from tests.publication.outputs import names, read, run_at, write

FORCING = """
import sys
from pathlib import Path
from mlcli.publication import renames
from mlcli.rundir.output import draft
from mlcli.rundir.manifest import manifest_of, write_manifest
if sys.argv[2] == "exchange":
    system = renames._renameat2
    renames._renameat2 = lambda first, second, flags: flags != renames.EXCHANGE and system(first, second, flags)
facts = manifest_of({})
for i in range(int(sys.argv[4])):
    with draft(Path(sys.argv[1]), force=True) as folder:
        (folder / f"data{sys.argv[3]}").write_text("data")  # every writer has a name of its own: runs do not mix
        write_manifest(folder, facts)
"""


@pytest.mark.medium
@pytest.mark.parametrize("lacking", ["", "exchange"])
@pytest.mark.parametrize("rounds", [12, pytest.param(500, marks=pytest.mark.slow)])
def test_writers_that_force_at_the_same_time_all_succeed(tmp_path: Path, lacking: str, rounds: int) -> None:
    jobs = [subprocess.Popen([sys.executable, "-c", FORCING, tmp_path / "out", lacking, str(number), str(rounds)],
                             stderr=subprocess.PIPE, text=True) for number in range(4)]
    told = [job.communicate()[1] for job in jobs]
    assert not any(told) and [job.returncode for job in jobs] == [0] * 4
    RUN.require(tmp_path / "out")
    recover(tmp_path / "out")
    assert names(tmp_path) == ["out"]


def test_an_output_that_vanishes_while_it_is_looked_at_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = run_at(tmp_path / "out")
    there = publish._exists
    monkeypatch.setattr(publish, "_exists", lambda path: there(path) and bool(path.rename(tmp_path / "moved")))
    write(output, "folder", "mine", force=False)
    assert read(output, "folder") == "mine" and names(tmp_path) == ["moved", "out"]


@pytest.mark.parametrize("put_back", [True, False])
def test_a_refusal_names_the_place_where_the_refused_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                          system: str, put_back: bool) -> None:
    """Notes get into the old run after the last look at it; in one case another job takes the place as well."""
    output, looked = run_at(tmp_path / "out", "first"), publish.require

    def look(path: Path, *arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(publish, "require", looked)
        found = looked(path, *arguments, **options)
        (path / "thesis").write_text("precious")
        return found

    def judged(path: Path, **options: Any) -> Any:
        if not put_back and path.name.startswith("."):
            if output.exists():
                output.rename(tmp_path / "mine")
            run_at(output, "another's")
        return looked(path, **options)

    monkeypatch.setattr(publish, "partial", lambda function, **options: functools.partial(judged, **options))
    monkeypatch.setattr(publish, "require", look)
    with pytest.raises(OutputRefused) as caught:
        write(output, "folder", "second", force=True)
    assert caught.value.code == "E-OUTPUT-FOREIGN"
    place = output if put_back else tmp_path / "out.kept"
    assert caught.value.where == str(place) and (place / "thesis").exists()
    assert not drafts_in(tmp_path)


def test_a_run_is_replaced_while_a_file_in_it_is_written_anew(tmp_path: Path, system: str) -> None:
    output = run_at(tmp_path / "out")
    with new_draft(output / "data", "file") as draft:
        draft.path.write_text("half")
        write(output, "folder", "second", force=True)
    assert read(output, "folder") == "second" and names(output) == ["data", "run.json"]
    assert names(tmp_path) == ["out"]


def exchanged(output: Path, prepare: Callable[[], Any], kind: Kind = "folder") -> None:
    """A writer is killed just after it has exchanged its draft with an output that is not what it had checked."""
    script = ("import os, signal, sys; from pathlib import Path; from mlcli.publication import publish\n"
              "sys.path.append(os.getcwd())\n"  # after the installed program, whose kernels a checkout lacks
              "from tests.publication.outputs import write\n"
              "publish.require = lambda path, *_, **__: [path.rename(path.with_name('first')),\n"
              "    path.with_name('prepared').rename(path)]\n"
              "publish.finish_exchange = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
              f"write(Path({str(output)!r}), {kind!r}, 'killed', force=True)")
    write(output, kind, "first", force=False)
    prepare()
    assert subprocess.run([sys.executable, "-P", "-c", script], check=False).returncode == -9
    assert len(drafts_in(output.parent)) == 1 and read(output, kind) == "killed"


@pytest.mark.parametrize("other", ["folder", "file"])
def test_a_start_for_any_output_puts_back_what_another_should_not_have_replaced(tmp_path: Path, other: Kind) -> None:
    def prepare() -> None:
        (tmp_path / "prepared").mkdir()
        (tmp_path / "prepared" / "thesis").write_text("precious")

    exchanged(tmp_path / "out", prepare)
    write(tmp_path / "other", other, "text", force=False)
    assert (tmp_path / "out" / "thesis").read_text() == "precious"
    write(tmp_path / "other", other, "text", force=True)  # the killed writer's draft is a dead one now
    assert names(tmp_path) == ["first", "other", "out"]


@pytest.mark.medium
@pytest.mark.parametrize("other", ["folder", "file"])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_start_of_any_kind_removes_what_others_have_replaced(tmp_path: Path, other: Kind, kind: Kind) -> None:
    def prepare() -> None:
        run_at(tmp_path / "prepared") if kind == "folder" else (tmp_path / "prepared").write_text("old")

    exchanged(tmp_path / "out", prepare, kind)
    write(tmp_path / "other", other, "text", force=False)
    assert read(tmp_path / "out", kind) == "killed" and names(tmp_path) == ["first", "other", "out"]
