"""Finished runs whose files were changed together with their hashes: refused with file and place, and nothing waits."""

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.faults.fuzz import directories
from tests.faults.fuzz.directories import damaged
from tests.journeys.support import Caller
from tests.wording import Wording

READERS = [("verify",), ("report", "-q"), ("compare", "run", "-q"), ("project", "data.csv", "-q"),
           ("reconstruct", "run/embedding.csv", "-q")]


@pytest.fixture
def run(mlcli: Caller) -> Path:
    mlcli.finished("embed", "data.csv", "-o", "run", "-q")
    return Path("run")


def edited(run: Path, file: str, place: str, value: Any) -> Path:
    """A copy of a run beside it, with another value at a path of keys in a JSON file; None deletes it."""
    return directories.edited(run, Path("copy"), file, place, value)


@pytest.mark.parametrize(("file", "place", "value"), [
    ("run.json", "embedding.rows", None), ("run.json", "embedding.components", "2"), ("run.json", "input", []),
    ("run.json", "spectrum.exponent", 10**25), ("run.json", "spectrum.further_at_least", -5),
    ("run.json", "stages", {}), ("quality.json", "q_nx.values", [1]),
    ("certificate.json", "verdict", None), ("dimension.json", "recommendation.sentence", 3)])
def test_a_key_that_is_gone_or_of_another_type_is_named(run: Path, mlcli: Caller, file: str, place: str,
                                                       value: Any) -> None:
    called = mlcli("report", edited(run, file, place, value))
    assert called.code == 83 and f"copy/{file}:" in called.err
    assert place.removesuffix(".values") in called.err


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses_a_run_json_without_its_keys(run: Path, mlcli: Caller, reader: tuple[str, ...],
                                                          wording: Wording) -> None:
    copy = edited(run, "run.json", "spectrum", None)
    called = mlcli(reader[0], copy, *reader[1:])
    assert (called.code, called.err.count("error[E-RUN-FILES]")) == (83, 1)
    assert "E-RUN-FILES" in wording(called.err) and "copy/run.json:spectrum" in called.err


@pytest.mark.parametrize(("file", "change", "said"), [
    ("spectrum.csv", ("eigenvalue", "value"), "spectrum.csv:1"), ("embedding.csv", (",y2", ",z2"), "embedding.csv:1"),
    ("loadings.csv", ("\nx,", "\nx,1,"), "loadings.csv:2"), ("config.yaml", ("method:", "methods:"), "config.yaml"),
    ("shepard.csv", ("\n1", "\nx1"), "shepard.csv:")])
def test_damaged_texts_are_refused_with_the_line(run: Path, mlcli: Caller, file: str, change: tuple[str, str],
                                                 said: str) -> None:
    content = (run / file).read_text().replace(*change, 1)
    called = mlcli("report", damaged(run, Path("copy"), file, content.encode()))
    assert called.code == 83 and f"copy/{said}" in called.err


def test_arrays_that_do_not_fit_are_named(run: Path, mlcli: Caller) -> None:
    arrays = dict(np.load(run / "model.npz"))
    for name, value in {"projector.decoder.mean": np.zeros(9), "preparation.center": np.zeros(9),
                        "projector.centering.means": np.full(3, np.nan)}.items():
        stream = io.BytesIO()
        np.savez(stream, **{**arrays, name: value})
        called = mlcli("project", damaged(run, Path("copy"), "model.npz", stream.getvalue()), "data.csv")
        assert called.code == 83 and "error[E-MODEL]: " in called.err and f" {name} " in called.err


@pytest.mark.medium
def test_arrays_that_grow_are_not_inflated(run: Path, mlcli: Caller, wording: Wording) -> None:
    arrays, stream = dict(np.load(run / "model.npz")), io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in {**arrays, "projector.axes": np.zeros((20_000_000, 2))}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array)
    assert len(stream.getvalue()) < 2**20
    copy = damaged(run, Path("copy"), "model.npz", stream.getvalue())
    for reader in (("verify", copy), ("project", copy, "data.csv")):
        called = mlcli(*reader)
        assert called.code == 83 and "E-MODEL" in wording(called.err)


def named_as_input(run: Path, path: str) -> Path:
    """A copy of a run whose configuration names another input."""
    content = (run / "config.yaml").read_text().replace("path: data.csv", f"path: {path}")
    return damaged(run, Path("copy"), "config.yaml", content.encode())


@pytest.mark.timeout(60)
@pytest.mark.parametrize("path", ["/proc/kmsg", "/dev/zero", "/dev/random", "pipe", "/", "/proc/self/mem"])
def test_verify_opens_regular_files_only(run: Path, mlcli: Caller, path: str) -> None:
    os.mkfifo("pipe")
    path = str(Path(path).absolute())
    called = mlcli("verify", named_as_input(run, path))
    assert called.code == 0, called.err
    assert "; the input is missing" in called.out or "; the input is changed" in called.out


def test_a_path_that_no_system_takes_is_a_missing_input(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-o", "run", "-q").code == 0
    called = mlcli("verify", named_as_input(Path("run"), 5000 * "x"))
    assert called.code == 0 and "; the input is unchanged" in called.out  # found where the run found it
    Path("data.csv").unlink()
    assert "; the input is missing" in mlcli("verify", "copy").out


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["run.json", "model.npz", "config.yaml", "embedding.csv"])
def test_a_pipe_in_the_place_of_a_file_is_refused(run: Path, mlcli: Caller, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    for reader in READERS[:2]:
        called = mlcli(reader[0], run, *reader[1:])
        assert called.code in {"run.json": (66,), "model.npz": (0, 83)}.get(name, (83,)), called.err


@pytest.mark.parametrize(("section", "damage"), [
    ("input", {"id_column": "nothing"}), ("input", {"columns": ["nothing"]}), ("input", {"format": "npy"}),
    ("input", {"separator": ";"}), ("prepare", {"scale": "x"}), ("compute", {"threads": -1}),
    ("method", {"name": "x"})])
def test_a_configuration_that_does_not_fit_its_own_run_is_damaged(run: Path, mlcli: Caller, section: str,
                                                                  damage: dict[str, Any]) -> None:
    """83 whatever it says: nobody has asked for what it holds."""
    document = yaml.safe_load((run / "config.yaml").read_text())
    document[section].update(damage)
    called = mlcli("verify", damaged(run, Path("copy"), "config.yaml", yaml.safe_dump(document).encode()))
    assert called.code == 83 and "error[E-RUN-FILES]: config.yaml " in called.err


@pytest.mark.parametrize("command", [("verify", "copy"), ("report", "copy", "-q"), ("compare", "copy", "run", "-q"),
                                     ("run", "copy/config.yaml", "-o", "again", "-q")])
def test_a_run_of_an_earlier_version_is_read(run: Path, mlcli: Caller, command: tuple[str, ...]) -> None:
    """Its config.yaml has the option `cluster`, which was always null, and none of those that came later."""
    document = yaml.safe_load((run / "config.yaml").read_text())
    assert document["compute"]["cluster"] is None
    for section, later in (("compute", "cluster_folder"), ("input", "labels"), ("input", "stream")):
        del document[section][later]
    damaged(run, Path("copy"), "config.yaml", yaml.safe_dump(document).encode())
    assert mlcli(*command).code == 0


@pytest.mark.parametrize("reader", [("report", "-q"), ("compare", "run", "-q")])
@pytest.mark.parametrize("cell", ["nan", "", "-inf"])
def test_a_coordinate_that_is_no_number_is_named(run: Path, mlcli: Caller, reader: tuple[str, ...], cell: str) -> None:
    lines = (run / "embedding.csv").read_text().splitlines()
    lines[3] = ",".join([*lines[3].split(",")[:-1], cell])
    copy = damaged(run, Path("copy"), "embedding.csv", ("\n".join(lines) + "\n").encode())
    called = mlcli(reader[0], copy, *reader[1:])
    assert called.code == 83 and "copy/embedding.csv:4" in called.err


def test_loadings_without_an_axis_are_named(run: Path, mlcli: Caller) -> None:
    first = [line.split(",")[0] for line in (run / "loadings.csv").read_text().splitlines()]
    called = mlcli("verify", damaged(run, Path("copy"), "loadings.csv", ("\n".join(first) + "\n").encode()))
    assert called.code == 83 and "copy/loadings.csv:1" in called.err
