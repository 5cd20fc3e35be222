"""Copies of a run's .h5ad that are not made, or not to an end: nothing half-written, and no other file touched."""

import os
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from mlcli.runs import export_copy
from tests.cli.commands.export.cell_file import values
from tests.faults.kills.killing import killed
from tests.journeys.support import Caller


def test_a_file_that_was_moved_is_named(mlcli: Caller, cells: Path) -> None:
    mlcli.bare("cells.h5ad", "-p", "2", "-o", "run", "-q")
    Path("old").mkdir()
    cells.rename("old/cells.h5ad")
    called = mlcli("export", "run", "--into", "copy.h5ad")
    assert called.code == 66 and "--input" in called.err and not Path("copy.h5ad").exists()
    assert mlcli("export", "run", "--into", "copy.h5ad", "--input", "old/cells.h5ad").code == 0


def changed(cells: Path) -> list[str]:
    with h5py.File(cells, "r+") as file:
        file["X"][0, 0] += 1
    return ["run", "--into", "copy.h5ad"]


def plain(cells: Path) -> list[str]:
    with h5py.File("plain.h5", "w") as file:
        file["x"] = values()
    return ["plain", "--into", "copy.h5ad"]


def linked(cells: Path) -> list[str]:
    Path("link.h5ad").symlink_to("cells.h5ad")
    return ["run", "--into", "link.h5ad", "--force"]


def hard_linked(cells: Path) -> list[str]:
    os.link("cells.h5ad", "link.h5ad")
    return ["run", "--into", "link.h5ad", "--force"]


def existing(cells: Path) -> list[str]:
    Path("copy.h5ad").write_text("mine")
    return ["run", "--into", "copy.h5ad"]


REFUSED: list[tuple[Callable[[Path], list[str]], int, str]] = [
    (changed, 83, "E-RUN-INPUT"), (plain, 65, "E-NOT-H5AD"), (linked, 73, "E-OUTPUT-IS-INPUT"),
    (hard_linked, 73, "E-OUTPUT-IS-INPUT"), (existing, 73, "E-OUTPUT-EXISTS"),
    (lambda cells: ["run", "--into", "cells.h5ad"], 73, "E-OUTPUT-IS-INPUT"),
    (lambda cells: ["table", "--into", "copy.h5ad"], 65, "E-NOT-H5AD"),
    (lambda cells: ["genes", "--into", "copy.h5ad"], 78, "E-ROWS-OF-GENES"),
    (lambda cells: ["run", "--into", "copy.h5ad", "-o", "x.h5ad"], 2, "E-EXPORT-OPTION"),
    (lambda cells: ["run", "--into", "copy.h5ad", "--labels", "x.csv"], 2, "E-EXPORT-OPTION"),
    (lambda cells: ["run", "--into", "copy.h5ad", "--format", "h5ad"], 2, "E-EXPORT-OPTION"),
    (lambda cells: ["run", "--into", "-"], 2, "E-COPY-NAME"),
    (lambda cells: ["run", "--into", "copy.csv"], 2, "E-COPY-NAME"),
    (lambda cells: ["run", "--input", "cells.h5ad"], 2, "E-EXPORT-OPTION")]


@pytest.mark.parametrize(("prepare", "code", "error"), REFUSED)
def test_what_is_refused(mlcli: Caller, cells: Path, prepare: Callable[[Path], list[str]], code: int,
                         error: str) -> None:
    arguments = prepare(cells)
    sources = {"run": ["cells.h5ad"], "plain": ["plain.h5"], "table": ["table.csv"],
               "genes": ["cells.h5ad", "--transpose"]}
    np.savetxt("table.csv", values(), delimiter=",")
    name = arguments[0]
    assert mlcli.bare(*sources[name], "-p", "2", "-o", name, "-q").code == 0
    if prepare is changed:
        changed(cells)
    content, links = cells.read_bytes(), Path("link.h5ad").is_symlink()
    called = mlcli("export", *arguments)
    assert called.code == code and error in called.err and "-o," not in called.err, called.err
    assert cells.read_bytes() == content and Path("link.h5ad").is_symlink() == links
    assert not Path("copy.h5ad").exists() or Path("copy.h5ad").read_text() == "mine"


@pytest.mark.parametrize("link", ["external", "soft"])
def test_groups_that_lie_elsewhere_are_not_written_to(mlcli: Caller, cells: Path, link: str) -> None:
    with h5py.File("other.h5", "w") as other, h5py.File(cells, "r+") as file:
        other.create_group("obsm")
        del file["obsm"]
        file["obsm"] = h5py.ExternalLink("other.h5", "/obsm") if link == "external" else h5py.SoftLink("/layers")
    mlcli.bare("cells.h5ad", "-p", "2", "-o", "run", "-q")
    before = Path("other.h5").read_bytes()
    called = mlcli("export", "run", "--into", "copy.h5ad")
    assert called.code == 65 and "E-H5AD" in called.err and not Path("copy.h5ad").exists()
    assert Path("other.h5").read_bytes() == before


def test_a_disk_without_room_is_said_before(mlcli: Caller, cells: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlcli.bare("cells.h5ad", "-p", "2", "-o", "run", "-q")
    monkeypatch.setattr(export_copy, "free_bytes", lambda output: 1000)
    called = mlcli("export", "run", "--into", "copy.h5ad")
    assert called.code == 82 and "E-DISK" in called.err and not Path("copy.h5ad").exists()


@pytest.mark.medium
@pytest.mark.parametrize("force", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_killed_at_any_call_the_copy_is_whole_or_not_there(mlcli: Caller, cells: Path, force: bool) -> None:
    mlcli.bare("cells.h5ad", "-p", "2", "-o", "run", "-q")
    assert mlcli("export", "run", "--into", "whole.h5ad", "-q").code == 0  # imports all that the children need
    whole, copy, number, before = Path("whole.h5ad").read_bytes(), Path("copy.h5ad"), 0, {*Path().iterdir()}
    while True:
        number += 1
        copy.unlink(missing_ok=True)
        if force:
            copy.write_bytes(b"older")
        was = killed(lambda: export_copy.export_copy(Path("run"), copy, None, force=force), number)
        found = copy.read_bytes() if copy.exists() else None
        assert found in (whole, b"older" if force else None), number
        if not was:
            break
    assert number > 12 and found == whole
    assert mlcli("export", "run", "--into", "last.h5ad", "-q").code == 0
    assert {*Path().iterdir()} == {*before, copy, Path("last.h5ad")}  # drafts are cleared away
