"""A run that learns late that its results are to be portable starts the program anew: once, and before all else."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcli.base.machine import blas
from mlcli.base.machine.portable import variables
from mlcli.base.values.compute import Compute
from mlcli.cli import restart
from mlcli.errors import ConfigError
from mlcli.process.shared_status import SharedStatus
from tests.journeys.support import Caller, write_points
from tests.processes import neutral, process, program

able = pytest.mark.skipif(not variables(neutral()), reason="this processor computes no portable results")
COUNTING = "import os\nwith open({!r}, 'a') as file:\n    file.write('start\\n')\n"  # as Python starts
BARE = {"outputs": ["embedding", "spectrum"]}
Start = Callable[..., tuple[subprocess.CompletedProcess[str], int]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts `mlcli` and returns how it ended, and how often Python was started for it."""
    (tmp_path / "sitecustomize.py").write_text(COUNTING.format(str(tmp_path / "starts")))
    write_points(tmp_path / "data.csv")

    def call(*arguments: object, given: str | None = None, **settings: str) -> tuple[
            subprocess.CompletedProcess[str], int]:
        (tmp_path / "starts").write_text("")
        ended = subprocess.run([*program(), *map(str, arguments)], cwd=tmp_path, input=given, capture_output=True,
                               text=True, check=False, env=neutral(PYTHONPATH=str(tmp_path), **settings))
        return ended, (tmp_path / "starts").read_text().count("start")

    return call


def written(folder: Path, **options: Any) -> str:
    """Write a configuration of a portable run, and return it."""
    document = {"input": {"path": "data.csv"}, "method": {"name": "kpca"}, "report": BARE, "output": "run",
                "compute": {"portable": True}, **options}
    (folder / "run.yaml").write_text(yaml.safe_dump(document))
    return (folder / "run.yaml").read_text()


def kernels(folder: Path) -> list[str]:
    """The kernels that a run used, in capitals."""
    return [library["kernel"].upper() for library in json.loads((folder / "run.json").read_text())["blas"]]


@able
@pytest.mark.medium
def test_a_file_of_options_starts_the_program_anew(start: Start, tmp_path: Path) -> None:
    text = written(tmp_path)
    ended, starts = start("run", "run.yaml", "-q")
    assert (ended.returncode, ended.stdout, ended.stderr, starts) == (0, "", "", 2)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert kernels(tmp_path / "run") == [variables({})["OPENBLAS_CORETYPE"]]
    assert facts["portable"].keys() >= {"architecture", "c_library", "numpy", "scipy", "python", "mlcli", "blas"}
    ended, starts = start("run", "-", "-q", "--force", given=text)  # its standard input is handed over
    assert (ended.returncode, ended.stdout, ended.stderr, starts) == (0, "", "", 2)


@able
@pytest.mark.medium
def test_so_does_what_is_set_beside_the_flags(start: Start, tmp_path: Path) -> None:
    ended, starts = start("embed", "-", "-q", "-o", "-", "--set", "compute.portable=true",
                          given=(tmp_path / "data.csv").read_text())
    assert (ended.returncode, len(ended.stdout.splitlines()), ended.stderr, starts) == (0, 31, "", 2)
    again, starts = start("embed", "data.csv", "-q", "-o", "-", MLCLI__COMPUTE__PORTABLE="true")
    assert (again.returncode, again.stdout, starts) == (0, ended.stdout, 2)
    flagged, starts = start("embed", "data.csv", "-q", "-o", "-", "--portable")
    assert (flagged.returncode, flagged.stdout, starts) == (0, ended.stdout, 1)


@able
@pytest.mark.medium
def test_what_forbids_them_is_told_without_a_new_start(start: Start, tmp_path: Path) -> None:
    written(tmp_path)
    ended, starts = start("run", "run.yaml", OPENBLAS_CORETYPE="Prescott")
    assert (ended.returncode, starts) == (78, 1)
    assert "E-PORTABLE" in ended.stderr and "OPENBLAS_CORETYPE" in ended.stderr and not (tmp_path / "run").exists()


@able
@pytest.mark.medium
def test_several_runs_at_once_have_the_same_settings(start: Start, tmp_path: Path) -> None:
    ended, starts = start("embed", "data.csv", "-m", "kpca,pca", "--jobs", "2", "-q", "-o", "runs", "--threads", "1",
                          "--outputs", "embedding", "--set", "compute.portable=true", MLCLI_THREADS="2")
    assert (ended.returncode, starts) == (0, 2), ended.stderr
    assert {kernel for run in (tmp_path / "runs").glob("name=*") for kernel in kernels(run)} == {
        variables({})["OPENBLAS_CORETYPE"]}


@able
@pytest.mark.medium
def test_signals_reach_the_second_start(tmp_path: Path) -> None:
    write_points(tmp_path / "data.csv", rows=400)
    written(tmp_path, method={"name": "tsne", "descent": {"steps": 100_000}})
    child = process("run", "run.yaml", cwd=tmp_path)
    until = time.monotonic() + 60
    while not [*tmp_path.glob(".run.*.folder")] and child.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 143 and b"E-STOPPED" in said
    assert {path.name for path in tmp_path.iterdir()} <= {"data.csv", "run.yaml"}


def test_a_part_of_another_program_is_not_started_anew(mlcli: Caller, monkeypatch: pytest.MonkeyPatch,
                                                       tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    write_points(tmp_path / "data.csv")
    called = mlcli("embed", "data.csv", "--portable")
    assert called.code == 78 and "E-PORTABLE" in called.err


def test_there_is_no_third_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.engine.portable.require_possible", lambda: None)
    monkeypatch.setattr(restart, "STATUS", SharedStatus())
    monkeypatch.setattr(restart.supervisor, "start_anew", lambda *given: started.append(given))
    for settings, starts in ((blas.Settings(early=True), 1), (blas.Settings(early=True, portable=True), 0),
                             (blas.Settings(), 0)):
        started: list[Any] = []
        monkeypatch.setattr(blas, "settings", lambda settings=settings: settings)
        monkeypatch.setattr(restart.os, "_exit", lambda code: None)
        restart.start_portably([Compute(), Compute(portable=True)])
        assert len(started) == starts
        restart.start_portably([Compute()])
        assert len(started) == starts


def test_a_new_start_keeps_what_the_user_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that the first start has set itself would look like the user's."""
    monkeypatch.setenv("OPENBLAS_CORETYPE", "SKYLAKEX")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(blas, "settings", lambda: blas.Settings(early=True, exported={"OPENBLAS_CORETYPE": "SKYLAKEX"}))
    from mlcli.engine.portable import own_environment

    assert "OPENBLAS_CORETYPE" not in own_environment() and own_environment()["OMP_NUM_THREADS"] == "2"


def test_a_machine_that_has_none_is_refused_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "settings", lambda: blas.Settings(early=True))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    with pytest.raises(ConfigError) as raised:
        restart.start_portably([Compute(portable=True)])
    assert raised.value.code == "E-PORTABLE"
