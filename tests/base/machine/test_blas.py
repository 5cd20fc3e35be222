"""Variables of the linear algebra libraries are set before NumPy loads, only where the user set none, and told."""

import contextvars
import json
import os
import sys
from pathlib import Path

import pytest

from mlcli.base.machine import blas
from mlcli.base.machine.resources import CORE
from mlcli.base.machine.scheduler import Threads
from tests.journeys.support import write_points
from tests.processes import call

FLAGS = "fpu avx2 avx512f avx512dq avx512bw avx512vl avx512cd"


def root_of(folder: Path, vendor: str = "AuthenticAMD", flags: str = FLAGS) -> Path:
    """A machine with this processor and a quota of three cores."""
    for name, text in {"proc/cpuinfo": f"vendor_id\t: {vendor}\nflags\t: {flags}\n",
                       "sys/fs/cgroup/cpu.max": "300000 100000"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def export(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str],
           environment: dict[str, str]) -> blas.Settings:
    """What a start with these arguments sets, in a context of its own."""
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.setattr("mlcli.base.machine.resources.affinity", lambda: 8)
    return contextvars.copy_context().run(blas.export, arguments, environment, root_of(folder))


def test_the_quota_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment: dict[str, str] = {}
    settings = export(tmp_path, monkeypatch, ["embed", "data.csv"], environment)
    assert environment == dict.fromkeys(blas.POOLS, "3") | {"OPENBLAS_CORETYPE": "SKYLAKEX"} == dict(settings.exported)
    assert settings.threads == Threads(3, "cgroup quota")


def test_what_the_user_set_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "ZEN"}
    settings = export(tmp_path, monkeypatch, [], environment)
    assert environment == {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "ZEN",
                           "OPENBLAS_NUM_THREADS": "2"}
    assert settings.facts() == {"exported": {"OPENBLAS_NUM_THREADS": "2"}, "core_type": None,
                                "reason": "OPENBLAS_CORETYPE was set already; SKYLAKEX is quicker on this processor"}


def test_our_own_export_is_not_taken_for_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--threads sets OMP_NUM_THREADS for the libraries; what the environment allows stays what it was."""

    def start() -> Threads:
        blas.export(["embed", "--threads", "2"], os.environ, root_of(tmp_path))
        return blas.environment_threads()

    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.setattr("mlcli.base.machine.resources.affinity", lambda: 8)
    for name in (*blas.POOLS, "MLCLI_THREADS", "SLURM_CPUS_PER_TASK", CORE):
        monkeypatch.setenv(name, "")
    assert contextvars.copy_context().run(start) == Threads(3, "cgroup quota")
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_nothing_is_set_when_numpy_is_there_already(tmp_path: Path) -> None:
    environment: dict[str, str] = {}
    settings = contextvars.copy_context().run(blas.export, ["--threads", "2"], environment, root_of(tmp_path))
    assert environment == {}
    assert "NumPy was loaded" in settings.reason


@pytest.mark.parametrize(("arguments", "count"), [
    ([], 0), (["--threads", "4"], 4), (["--threads=5", "x"], 5), (["--threads", "4", "--threads", "2"], 2),
    (["--threads"], 0), (["--threads", "auto"], 0), (["--", "--threads", "4"], 0), (["--threads=x"], 0)])
def test_threads_on_the_command_line(arguments: list[str], count: int) -> None:
    assert blas.requested_threads(arguments) == count


@pytest.mark.parametrize(("vendor", "flags", "environment", "core"), [
    ("AuthenticAMD", FLAGS, {}, "SKYLAKEX"),
    ("AuthenticAMD", FLAGS, {"MLCLI_NO_BLAS_TUNE": "0"}, "SKYLAKEX"),
    ("AuthenticAMD", FLAGS, {"MLCLI_NO_BLAS_TUNE": "1"}, ""),
    ("AuthenticAMD", FLAGS, {"OPENBLAS_CORETYPE": "Haswell"}, ""),
    ("AuthenticAMD", FLAGS.replace("avx512vl", ""), {}, ""),
    ("GenuineIntel", FLAGS, {}, ""),
])
def test_core_type_only_where_it_is_right(tmp_path: Path, vendor: str, flags: str, environment: dict[str, str],
                                          core: str) -> None:
    found, reason = blas.core_type(environment, root_of(tmp_path, vendor, flags))
    assert found == ({CORE: core} if core else {})
    assert ("SKYLAKEX is quicker" in reason) == ("OPENBLAS_CORETYPE" in environment)


@pytest.mark.medium
def test_a_run_records_its_threads_and_what_was_set(tmp_path: Path) -> None:
    settings, points = {"MLCLI_THREADS": "1", "MLCLI_NO_BLAS_TUNE": "1"}, write_points(tmp_path / "a.csv")
    assert call("embed", points, "-q", "-o", tmp_path / "one", **settings).returncode == 0
    assert call("embed", points, "-q", "-o", tmp_path / "two", "--threads", "2", **settings).returncode == 0
    one, two = (json.loads((tmp_path / name / "run.json").read_text()) for name in ("one", "two"))
    assert (one["threads"], one["threads_source"]) == (1, "MLCLI_THREADS")
    assert (two["threads"], two["threads_source"]) == (2, "compute.threads")
    assert one["blas_settings"] == {"exported": dict.fromkeys(blas.POOLS, "1"), "core_type": None,
                                    "reason": "MLCLI_NO_BLAS_TUNE is set"}
    assert two["blas_settings"]["exported"] == dict.fromkeys(blas.POOLS, "2")
    assert {pool["threads"] for pool in one["blas"]} == {1}


@pytest.mark.medium
def test_doctor_tells_threads_and_settings() -> None:
    text = call("doctor", MLCLI_THREADS="1", MLCLI_NO_BLAS_TUNE="1").stdout
    assert "threads: 1 (MLCLI_THREADS)" in text
    assert "OpenBLAS core type: left alone (MLCLI_NO_BLAS_TUNE is set)" in text
