"""What is published appears in one step, replaces only what was checked, and leaves nothing behind."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mlcli.errors import OutputRefused, StorageError
from mlcli.publication import publish, renames, staging
from mlcli.publication.publish import append_line, write_whole
from mlcli.publication.replaceable import RUN, listing_of
from mlcli.publication.staging import Kind, drafts_in, new_draft
from mlcli.rundir.names import MANIFEST
from tests.publication.outputs import names, read, run_at, write
from tests.wording import Wording


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_an_output_is_made_and_replaced(tmp_path: Path, system: str, kind: Kind, wording: Wording) -> None:
    output = tmp_path / "new" / "out"
    write(output, kind, "first", force=False)
    with wording.raises(OutputRefused, "OUTPUT-EXISTS"):
        write(output, kind, "second", force=False)
    assert read(output, kind) == "first"
    write(output, kind, "second", force=True)
    assert read(output, kind) == "second" and names(output.parent) == ["out"]


def test_a_long_path_is_named_whole(tmp_path: Path) -> None:
    output = tmp_path / ("a" * 90) / "out"
    write(output, "folder", "first", force=False)
    with pytest.raises(OutputRefused) as refused:
        write(output, "folder", "second", force=False)
    assert refused.value.where == str(output)


@pytest.mark.parametrize("kind", ["folder", "file"])
@pytest.mark.parametrize("other", ["file", "folder", "link", "broken link"])
def test_what_appears_meanwhile_is_kept(tmp_path: Path, system: str, kind: Kind, other: str) -> None:
    output, elsewhere = tmp_path / "out", tmp_path / "elsewhere"

    def appear() -> None:
        run_at(elsewhere)
        if other == "file":
            output.write_text("precious")
        elif other == "folder":
            run_at(output, "precious")
        else:
            output.symlink_to(elsewhere if other == "link" else tmp_path / "nowhere")

    with pytest.raises(OutputRefused) as caught:
        write(output, kind, "mine", force=False, meanwhile=appear)
    assert caught.value.code == "E-OUTPUT-RACE"
    assert names(tmp_path) == ["elsewhere", "out"] and names(elsewhere) == ["data", "run.json"]
    assert output.is_symlink() or read(output, other) == "precious"  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "other"), [("folder", "file"), ("folder", "foreign"), ("folder", "link"),
                                             ("folder", "notes"), ("file", "foreign"), ("file", "link")])
@pytest.mark.parametrize("late", [False, True])
def test_force_keeps_what_may_not_be_replaced_however_late_it_comes(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, kind: Kind, other: str, late: bool) -> None:
    """It appears while the output is made, or between the last look and the rename."""
    if late and kind == "file" and system != "nothing":
        pytest.skip("rename() alone cannot tell what it replaces")
    output, elsewhere = tmp_path / "out", run_at(tmp_path / "elsewhere", "precious")
    write(output, kind, "first", force=False)

    def appear() -> None:
        if other == "notes":
            (output / "thesis.txt").write_text("precious")
            return
        output.rename(tmp_path / "moved")
        if other == "file":
            output.write_text("precious")
        elif other == "foreign":
            output.mkdir()
            (output / "thesis.txt").write_text("precious")
        else:
            output.symlink_to(elsewhere)

    if late:
        looked = publish.require

        def look(path: Path, *arguments: Any, **options: Any) -> None:
            looked(path, *arguments, **options)
            monkeypatch.setattr(publish, "require", looked)
            appear()

        monkeypatch.setattr(publish, "require", look)
    with pytest.raises(OutputRefused) as caught:
        write(output, kind, "second", force=True, meanwhile=(lambda: None) if late else appear)
    assert caught.value.exit_code == 73
    left = {"notes": {"elsewhere", "out"}}.get(other, {"elsewhere", "moved", "out"})
    assert set(names(tmp_path)) == left
    assert {"file": lambda: output.read_text() == "precious", "link": output.is_symlink}.get(
        other, lambda: (output / "thesis.txt").read_text() == "precious")()
    assert (elsewhere / "data").read_text() == "precious"


def test_a_run_that_another_job_publishes_is_replaced_under_force(tmp_path: Path, system: str) -> None:
    output = tmp_path / "out"
    write(output, "folder", "mine", force=True, meanwhile=lambda: write(output, "folder", "theirs", force=True))
    assert read(output, "folder") == "mine" and names(tmp_path) == ["out"]


def test_an_empty_folder_is_no_output(tmp_path: Path, system: str) -> None:
    output = tmp_path / "out"
    output.mkdir()
    write(output, "folder", "run", force=False)
    assert read(output, "folder") == "run"


@pytest.mark.parametrize("fixed", ["working directory", "mount point"])
def test_a_folder_that_cannot_be_replaced_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                     fixed: str) -> None:
    if fixed == "working directory":
        monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputRefused) as caught:
        write(tmp_path if fixed == "working directory" else Path("/proc"), "folder", "run", force=True)
    assert caught.value.code == "E-OUTPUT-FIXED"


@pytest.mark.parametrize("kind", ["folder", "file"])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EXDEV])
def test_a_rename_that_fails_is_told_with_the_systems_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                             kind: Kind, number: int) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.raises(StorageError, match=os.strerror(number)):
        write(tmp_path / "out", kind, "text", force=False, meanwhile=lambda: [
            monkeypatch.setattr(Path, "rename", fail), monkeypatch.setattr(renames, "_renameat2", fail)])
    monkeypatch.undo()
    assert names(tmp_path) == []


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_change_that_does_not_reach_the_disk_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                             system: str, kind: Kind, force: bool) -> None:
    if force:
        write(tmp_path / "out", kind, "old", force=False)
    sync = publish._sync

    def failing(path: Path) -> None:
        if path == tmp_path:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(path)

    monkeypatch.setattr(publish, "_sync", failing)
    with pytest.raises(StorageError, match=os.strerror(errno.EIO)):
        write(tmp_path / "out", kind, "new", force=force)
    assert names(tmp_path) == (["out"] if force else [])
    replaced = kind == "file" and system != "nothing"  # a file is overwritten where names cannot be exchanged
    assert not force or read(tmp_path / "out", kind) == ("new" if replaced else "old")


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_drafts_are_collected_when_their_writer_is_dead_and_only_then(tmp_path: Path, kind: Kind) -> None:
    script = ("import os, signal, sys; from pathlib import Path; from mlcli.publication.staging import new_draft\n"
              f"with new_draft(Path({str(tmp_path / 'dead')!r}), {kind!r}) as draft:\n"
              "    target = draft.path if draft.kind == 'file' else draft.path / 'half'; target.write_text('half')\n"
              "    os.kill(os.getpid(), signal.SIGKILL)")
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert len(drafts_in(tmp_path)) == 1
    with new_draft(tmp_path / "alive", kind) as alive:
        write(tmp_path / "out", "file", "text", force=False)
        assert drafts_in(tmp_path) == [alive.path]
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("case", ["no locks", "another system", "another user", "taken for one"])
def test_what_nobody_can_judge_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    if case == "no locks":
        def flock(descriptor: int, operation: int) -> None:
            raise OSError(errno.EBADF, "no locks for folders, as on NFS")

        monkeypatch.setattr("fcntl.flock", flock)
    with new_draft(tmp_path / "out", "folder") as draft:
        kept = draft.path.with_name(draft.path.name.replace(staging.running_kernel(), "0" * 8)
                                    if case == "another system" else draft.path.name)
        draft.path.rename(tmp_path / "away")  # the draft's end finds nothing to remove
    (tmp_path / "away").rename(kept)
    (kept / "half").write_text("half")
    if case == "another system":
        monkeypatch.setattr(staging, "mount_of", lambda path: publish.mount_of(path).__class__(path, "nfs4"))
    elif case == "another user":
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    elif case == "taken for one":
        kept.rename(tmp_path / "away")  # not what the name says, and not a run
        (tmp_path / "away").rename(kept := staging.renamed(kept, "folder", draft.inode + 1))
    write(tmp_path / "out", "folder", "text", force=False)
    assert names(tmp_path) == sorted([kept.name, "out"])


@pytest.mark.medium
def test_two_starts_collect_at_the_same_time(tmp_path: Path) -> None:
    """No start takes another's new draft for a dead one, and none fails over what another has collected."""
    script = ("import sys; from pathlib import Path; from mlcli.publication.publish import write_whole\n"
              "for i in range(60):\n"
              "    output = Path(sys.argv[1]) / f'{sys.argv[2]}-{i}'\n"
              "    write_whole(output, lambda path: path.write_text('x'), force=False)")
    jobs = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(number)]) for number in range(4)]
    assert [job.wait() for job in jobs] == [0] * 4
    assert len(names(tmp_path)) == 240 and not drafts_in(tmp_path)


@pytest.mark.medium
def test_a_run_that_was_moved_aside_comes_back(tmp_path: Path, wording: Wording) -> None:
    """Killed between the two renames that replace a run where names cannot be exchanged."""
    output = run_at(tmp_path / "out", "first")
    script = ("import os, signal; from pathlib import Path; from mlcli.publication import publish\n"
              "from mlcli.rundir.output import draft\n"
              "publish.exchange = lambda first, second: False\n"
              "publish.move = lambda *names: os.kill(os.getpid(), signal.SIGKILL)\n"
              f"with draft(Path({str(output)!r}), force=True) as folder: (folder / 'data').write_text('second')")
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert not output.exists() and len(names(tmp_path)) == 2
    with wording.raises(OutputRefused, "OUTPUT-EXISTS"):
        write(output, "folder", "third", force=False)
    assert read(output, "folder") == "first" and names(tmp_path) == ["out"]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def full(path: Path) -> None:
        path.write_text("half")
        raise OSError("80000 requested and 32752 written")

    with pytest.raises(StorageError):
        write_whole(tmp_path / "deep" / "out", full, force=False)
    assert names(tmp_path) == []


def test_what_holds_a_run_is_read_from_its_manifest(tmp_path: Path, wording: Wording) -> None:
    run = run_at(tmp_path / "run")
    RUN.require(run)
    (run / "data").write_text("edited")  # a hash need not match
    RUN.require(run)
    assert listing_of(run / MANIFEST)["files"].keys() == {"data"}
    for number in range(5):
        (run / f"note{number}").write_text("")
    with wording.raises(OutputRefused, "OUTPUT-FOREIGN"):
        RUN.require(run)


def test_a_line_is_appended_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines.csv"
    for line in ("1,2", "3,4"):
        append_line(path, line, "a,b")
    assert path.read_text() == "a,b\n1,2\n3,4\n"

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(publish.os, "fsync", fail)
    with pytest.raises(StorageError):
        append_line(path, "5,6", "a,b")
    assert path.read_text() == "a,b\n1,2\n3,4\n"
    with pytest.raises(OutputRefused):
        append_line(path, "5,6", "a,c")


@pytest.mark.medium
def test_lines_of_several_processes_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    script = "import sys; from pathlib import Path; from mlcli.publication.publish import append_line\n" \
             "for number in range(50): append_line(Path(sys.argv[1]), f'{sys.argv[2]},{number}', 'a,b')"
    started = [subprocess.Popen([sys.executable, "-P", "-c", script, str(path), name]) for name in "xyz"]
    assert [process.wait() for process in started] == [0, 0, 0]
    head, *lines = path.read_text().splitlines()
    assert head == "a,b" and sorted(lines) == sorted(f"{name},{number}" for name in "xyz" for number in range(50))
