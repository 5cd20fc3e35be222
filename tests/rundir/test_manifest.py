"""run.json is JSON whatever a run has found."""

import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.errors import MlcliError, OutputRefused
from mlcli.publication.publish import publishing, write_whole
from mlcli.publication.replaceable import RUN
from mlcli.rundir.machine import versions
from mlcli.rundir.manifest import manifest_bytes, manifest_of, replace_listed, require_intact, write_manifest
from mlcli.rundir.names import MANIFEST


def replace(run: Path, content: bytes) -> None:
    replace_listed(run, {"page": content}, known=manifest_bytes(run))


def test_numbers_that_json_lacks_become_null(tmp_path: Path) -> None:
    facts = {"notes": [{"code": "N-X", "gap": float("inf"), "share": np.float64("nan"), "rows": np.int64(3)}]}
    write_manifest(tmp_path, manifest_of(facts))
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["notes"] == [{"code": "N-X", "gap": None, "share": None, "rows": 3}]


def test_versions_and_libraries_are_told(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest_of({}))
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert {"python", "platform", "numpy", "scipy", "pyarrow", "pydantic"} <= set(manifest["versions"])
    assert {"library", "kernel", "threads", "used_by"} <= set(manifest["blas"][0])


def test_a_file_is_replaced_with_its_hash(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("old")
    (tmp_path / "other").write_text("stays")
    write_manifest(tmp_path, manifest_of({}))
    before = json.loads((tmp_path / MANIFEST).read_text())["files"]
    replace(tmp_path, b"new")
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    require_intact(tmp_path, manifest, ("page", "other"))
    assert manifest["files"]["other"] == before["other"] and manifest["files"]["page"] != before["page"]
    assert {path.name for path in tmp_path.iterdir()} == {"page", "other", MANIFEST}


@pytest.mark.parametrize("step", range(3))
def test_a_page_that_could_not_be_replaced_leaves_no_wrong_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                step: int) -> None:
    (tmp_path / "page").write_text("old")
    (tmp_path / "other").write_text("stays")
    write_manifest(tmp_path, manifest_of({}))
    writes = iter(range(3))

    def write(path: Path, work: Callable[[Path], Any], *, force: bool) -> None:
        if next(writes) == step:
            raise KeyboardInterrupt
        write_whole(path, work, force=force)

    monkeypatch.setattr("mlcli.rundir.manifest.write_whole", write)
    with pytest.raises(KeyboardInterrupt):
        replace(tmp_path, b"new")
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    require_intact(tmp_path, manifest, tuple(manifest["files"]))
    assert "other" in manifest["files"]
    RUN.require(tmp_path)  # each file is named, so that --force can replace the run
    monkeypatch.undo()
    replace(tmp_path, b"new")
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    require_intact(tmp_path, manifest, ("page", "other"))
    assert "pending" not in manifest


@pytest.mark.parametrize("name", ["page", MANIFEST])
def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "page").write_text("old")
    write_manifest(run, manifest_of({}))
    (run / name).rename(tmp_path / "precious")
    (run / name).symlink_to(tmp_path / "precious")
    before = (tmp_path / "precious").read_bytes()
    known = before if name == MANIFEST else (run / MANIFEST).read_bytes()
    with pytest.raises(OutputRefused) as caught:
        replace_listed(run, {"page": b"new"}, known=known)
    assert caught.value.where == str(run / name)
    assert (tmp_path / "precious").read_bytes() == before and (run / name).is_symlink()


def whole(run: Path) -> None:
    """A run whose files are those that it names."""
    RUN.require(run)
    manifest = json.loads((run / MANIFEST).read_text())
    require_intact(run, manifest, tuple(manifest["files"]))


def exchange(run: Path) -> None:
    """Another job replaces the run."""
    with publishing(run, RUN, force=True) as draft:
        (draft.path / "page").write_text("another run's")
        write_manifest(draft.path, manifest_of({"seed": 1}))


def test_a_page_of_one_run_does_not_get_into_another(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "page").write_text("old")
    write_manifest(run, manifest_of({}))
    known = manifest_bytes(run)
    exchange(run)
    with pytest.raises(OutputRefused) as caught:
        replace_listed(run, {"page": b"new"}, known=known)
    assert caught.value.code == "E-OUTPUT-RACE" and caught.value.where == str(run)
    assert (run / "page").read_text() == "another run's"
    whole(run)
    (run / "page").unlink()
    (run / MANIFEST).unlink()
    run.rmdir()
    with pytest.raises(OutputRefused):
        replace_listed(run, {"page": b"new"}, known=known)
    assert not run.exists()


@pytest.mark.parametrize("step", range(3))
def test_a_run_that_is_replaced_while_its_page_is_written_gets_nothing_of_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "page").write_text("old")
    write_manifest(run, manifest_of({}))
    writes = iter(range(3))

    def write(path: Path, work: Callable[[Path], Any], *, force: bool) -> None:
        if next(writes) == step:
            exchange(run)
        write_whole(path, work, force=force)

    monkeypatch.setattr("mlcli.rundir.manifest.write_whole", write)
    with pytest.raises(MlcliError) as caught:
        replace(run, b"new")
    assert caught.value.exit_code in (73, 74) and "/proc" not in str(caught.value)
    assert (run / "page").read_text() == "another run's"
    whole(run)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_system_is_named_without_starting_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would have the locks of drafts for a moment, and longer than a killed run."""
    def refused(*arguments: object, **named: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(platform, "_uname_cache", None)
    monkeypatch.setattr("subprocess.Popen", refused)
    found = versions()["platform"]
    assert found is not None and found.startswith(f"{platform.system()}-{platform.release()}-{platform.machine()}")
