"""What `ulimit` allows is known before NumPy is imported, and a run that is let start comes to its end."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from mlcli.base.machine import limits
from mlcli.base.machine.footprint import resident
from mlcli.base.machine.limits import MIB
from mlcli.base.machine.scheduler import Memory
from mlcli.base.values.compute import Compute
from mlcli.base.values.extras import missing_module
from mlcli.errors import RefusedByPlan
from tests.journeys.support import write_points
from tests.processes import neutral, program
from tests.wording import Wording

LIMITED = list(limits.LIMITS)


def start(name: str, size: int, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A run of a small table under one limit in bytes."""
    shell = f'{name} {size // 1024} && exec "$@"'
    command = [*program(), "embed", str(write_points(folder / "data.csv")), "-q", *arguments]
    return subprocess.run(["bash", "-c", shell, "bash", *command], cwd=folder, env=neutral(), capture_output=True,
                          text=True, timeout=60)


@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_too_little_is_82_before_the_start(tmp_path: Path, name: str, share: float) -> None:
    ended = start(name, int(share * limits.mapped(name, 2)), tmp_path, "--threads", "2", "-o", "run")
    assert ended.returncode == 82, ended.stderr
    assert ended.stderr.startswith("mlcli: error[E-ADDRESS-SPACE]: ") and f"; {name}; " in ended.stderr
    assert ("--threads 1" in ended.stderr) == (share * limits.mapped(name, 2) > limits.mapped(name, 1))
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.medium
@pytest.mark.parametrize(("name", "threads"), [("ulimit -v", 1), ("ulimit -v", 24), ("ulimit -d", 2)])
def test_what_is_asked_for_is_enough(tmp_path: Path, name: str, threads: int) -> None:
    ended = start(name, limits.mapped(name, threads) + MIB, tmp_path, "--threads", str(threads), "-o", "run")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "run" / "run.json").is_file()


@pytest.mark.skipif(bool(missing_module("plot")), reason="there is no Matplotlib")
@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITED)
def test_figures_by_matplotlib_need_more_and_are_given_it(tmp_path: Path, name: str) -> None:
    """Between both limits a run is refused before its fit, with how to draw nothing of the kind."""
    options = ("--threads", "1", "--set", "report.point_labels=ids", "--set", "report.arrows=2", "-o", "run")
    refused = start(name, limits.mapped(name, 1) + limits.DRAWING[name] // 2, tmp_path, *options)
    assert refused.returncode == 82
    assert "--set report.point_labels=none; " in refused.stderr and " report.arrows, " in refused.stderr
    ended = start(name, limits.mapped(name, 1) + limits.DRAWING[name] + 2 * MIB, tmp_path, *options)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.medium
def test_threads_of_the_configuration_count(tmp_path: Path) -> None:
    ended = start("ulimit -v", limits.mapped("ulimit -v", 3), tmp_path, "--set", "compute.threads=900", "-o", "run")
    assert ended.returncode == 82
    assert "with 900 threads" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_what_is_mapped_already_is_no_memory_for_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "limit", lambda name: 2**30 if name == "ulimit -v" else 0)
    for choice in ("auto", "8G"):
        found = Compute(threads=2, memory_limit=choice).allowed_memory()
        assert found.source == "ulimit -v"
        assert found.bytes == 2**30 - limits.mapped("ulimit -v", 2) + resident(2)
    assert Compute(threads=2, memory_limit="200M").allowed_memory().source == "compute.memory_limit"


@pytest.mark.parametrize(("source", "threads"), [
    ("ulimit -v", 2), ("ulimit -v", 1), ("ulimit -m", 2), ("SLURM_MEM_PER_CPU x 1", 2), ("control group", 2),
    ("machine memory", 2), ("compute.memory_limit", 2)])
def test_a_refusal_says_what_gives_more_memory(monkeypatch: pytest.MonkeyPatch, source: str, threads: int,
                                               wording: Wording) -> None:
    monkeypatch.setattr(Compute, "allowed_memory", lambda self: Memory(2**20, source))
    monkeypatch.setattr(limits, "limit", lambda name: 7 << 10)
    with wording.raises(RefusedByPlan, "MEMORY") as caught:
        Compute(threads=threads).require(2**21, "a table", "choose fewer columns")
    assert caught.value.where == source and caught.value.hint.startswith("choose fewer columns, ")
    assert ("threads" in caught.value.hint) == (source == "ulimit -v" and threads > 1)
    assert ("ulimit -v 7" in caught.value.what) == (source == "ulimit -v")


def test_more_threads_and_larger_stacks_take_more(monkeypatch: pytest.MonkeyPatch) -> None:
    small = [limits.mapped("ulimit -v", threads) for threads in (1, 2, 16)]
    assert small == sorted(set(small))
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (2**28, 2**28))
    assert limits.mapped("ulimit -v", 16) > small[2] + 15 * 2**27


@pytest.mark.medium
def test_doctor_says_what_was_found(tmp_path: Path) -> None:
    environment = os.environ | {"SLURM_CPUS_ON_NODE": "1", "NSLOTS": "7", "SLURM_MEM_PER_CPU": "300"}
    command = [sys.executable, "-m", "mlcli", "doctor"]
    found = json.loads(subprocess.run([*command, "--json"], env=environment, check=True, capture_output=True).stdout)
    assert (found["threads"], found["threads_source"]) == (1, "SLURM_CPUS_ON_NODE")
    assert {"SLURM_CPUS_ON_NODE": 1, "NSLOTS": 7}.items() <= found["threads_found"].items()
    assert (found["memory"], found["memory_source"]) == (300 * MIB, "SLURM_MEM_PER_CPU x 1")
    text = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert "threads: 1 (SLURM_CPUS_ON_NODE); found: 1 (SLURM_CPUS_ON_NODE), 7 (NSLOTS), " in text
    assert "memory: 300 MiB (SLURM_MEM_PER_CPU x 1); found: 300 MiB (SLURM_MEM_PER_CPU x 1), " in text
