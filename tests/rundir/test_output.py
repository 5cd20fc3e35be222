"""A directory is written whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlcli.errors import OutputRefused, StorageError
from mlcli.publication import publish
from mlcli.publication.publish import writing
from mlcli.publication.replaceable import listing_of
from mlcli.rundir.journal import recording
from mlcli.rundir.manifest import manifest_of, write_manifest
from mlcli.rundir.names import MANIFEST
from mlcli.rundir.output import draft


def put(output: Path, text: str, *, force: bool = False) -> None:
    with draft(output, force=force) as folder:
        fill(folder, text)


def fill(folder: Path, text: str) -> None:
    (folder / "data").write_text(text)
    write_manifest(folder, manifest_of({}))


def kept(output: Path) -> str:
    """What a whole run holds; a torn one has other files than its run.json names."""
    assert {*listing_of(output / MANIFEST)["files"], "run.json"} == {path.name for path in output.iterdir()}
    return (output / "data").read_text()


def alone(output: Path) -> bool:
    return [path.name for path in output.parent.iterdir()] == [output.name]


def test_what_is_written_appears_at_the_end_and_not_before(tmp_path: Path) -> None:
    output = tmp_path / "deep" / "er" / "run"
    with draft(output, force=False) as folder:
        fill(folder, "whole")
        assert not output.exists()
        assert folder.parent == output.parent
        assert folder.name.startswith(".")
    assert kept(output) == "whole" and alone(output)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_any_failure_nothing_is_left(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), draft(tmp_path / "deep" / "run", force=False) as folder:
        (folder / "half").write_text("half")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_an_existing_run_is_kept_without_force_and_replaced_with_it(tmp_path: Path) -> None:
    output = tmp_path / "run"
    put(output, "first")
    with pytest.raises(OutputRefused) as caught:
        put(output, "second")
    assert "--force" in caught.value.hint
    assert kept(output) == "first"
    put(output, "second", force=True)
    assert kept(output) == "second" and alone(output)


def test_a_failed_replacement_keeps_the_old_run(tmp_path: Path) -> None:
    output = tmp_path / "run"
    put(output, "first")
    with pytest.raises(ValueError), draft(output, force=True) as folder:
        (folder / "data").write_text("half")
        raise ValueError
    assert kept(output) == "first" and alone(output)


def test_force_replaces_runs_only(tmp_path: Path) -> None:
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter1.tex").write_text("years of work")
    with pytest.raises(OutputRefused) as caught:
        put(precious, "run", force=True)
    assert caught.value.code == "E-OUTPUT-FOREIGN"
    assert (precious / "chapter1.tex").exists()


def test_a_file_or_a_link_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("file", "link", "file/below"):
        with pytest.raises(OutputRefused):
            put(tmp_path / name, "run", force=True)
    assert not (tmp_path / "elsewhere").exists()


def test_the_loser_of_a_race_does_not_overwrite_the_winner(tmp_path: Path) -> None:
    output = tmp_path / "run"
    with pytest.raises(OutputRefused) as caught, draft(output, force=False) as folder:
        fill(folder, "loser")
        put(output, "winner")
    assert caught.value.code == "E-OUTPUT-RACE"
    assert kept(output) == "winner" and alone(output)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputRefused):
        put(tmp_path / "run", "run")


@pytest.mark.parametrize("number", [28, 122, 5, None])
def test_every_failure_of_the_file_system_is_a_storage_error(number: int | None) -> None:
    """numpy reports a full disk as an OSError without errno."""
    with pytest.raises(StorageError), writing("here"):
        raise OSError(number, "no space") if number else OSError("80000 requested and 32752 written")


@pytest.mark.parametrize("length", [250, 255])
def test_a_name_of_full_length_is_written(tmp_path: Path, length: int) -> None:
    put(tmp_path / ("n" * length), "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["n" * length]


@pytest.mark.parametrize("name", ["n" * 256, f"{'n' * 256}/run", "zero\0byte"])
def test_an_impossible_name_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    begun = False
    with pytest.raises(OutputRefused), draft(tmp_path / name, force=True):
        begun = True
    assert not begun
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("exchanges", "step"), [*((True, step) for step in range(4)),
                                                 *((False, step) for step in range(7))])
def test_a_signal_while_a_run_is_replaced_leaves_one_whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                               step: int, late: bool, exchanges: bool) -> None:
    """The signal comes before or after each renaming call, and each that removes the old run."""
    output = tmp_path / "run"
    put(output, "first")
    calls: list[str] = []

    def interrupted(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            here = len(calls) == step + 1
            if here and not late:
                raise KeyboardInterrupt
            try:
                return work(*arguments, **options)
            finally:
                if here:
                    raise KeyboardInterrupt
        return call

    with pytest.raises(KeyboardInterrupt), draft(output, force=True) as folder:
        fill(folder, "second")
        monkeypatch.setattr(publish, "exchange",
                            interrupted("exchange", publish.exchange if exchanges else lambda first, second: False))
        monkeypatch.setattr(Path, "rename", interrupted("rename", Path.rename))
        for name in ("unlink", "rmdir"):
            monkeypatch.setattr(os, name, interrupted(name, getattr(os, name)))
    assert kept(output) in ("first", "second") and alone(output)


def test_files_that_come_while_the_old_run_is_removed_are_kept(tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder was open in another program, which writes after the last look at it."""
    output = tmp_path / "run"
    put(output, "first")
    before, unlink = os.open(output, os.O_RDONLY), os.unlink

    def late(name: Any, **options: Any) -> None:
        os.close(os.open("thesis", os.O_CREAT | os.O_WRONLY, dir_fd=before))
        unlink(name, **options)

    with recording() as journal, draft(output, force=True) as folder:
        fill(folder, "second")
        monkeypatch.setattr(os, "unlink", late)
    os.close(before)
    assert kept(output) == "second"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run.kept"]
    assert [path.name for path in (tmp_path / "run.kept").iterdir()] == ["thesis"]
    told, = journal.noted("W-KEPT")
    assert "thesis" in told["message"] and str(tmp_path / "run.kept") in told["message"]
