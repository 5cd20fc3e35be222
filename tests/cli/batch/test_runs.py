"""`--jobs`: several runs at once write the bytes of one after another, share threads, and end together."""

import contextlib
import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from mlcli.base.context import set_context
from mlcli.base.values.compute import Compute
from mlcli.cli.batch.launch import Presentation
from mlcli.cli.batch.runs import announce_division
from mlcli.data.text import delimited
from mlcli.pipeline import run as pipeline
from tests.journeys.support import Caller, process, write_points
from tests.processes import neutral, python

pytestmark = pytest.mark.medium

SWEEP = ("input: {path: data.csv}\nmethod: {name: isomap}\noutput: out\n"
         "sweep: {method.neighbors.count: [5, 99], method.eigensolve.components: [1, 2]}\n")
PER_RUN = ("run.json", "report.html")  # which hold times


def bytes_of(folder: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*"))
            if path.is_file() and path.name not in PER_RUN and path.parent.name}


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads for two jobs, whatever the machine has."""
    monkeypatch.setenv("MLCLI_THREADS", "2")


def test_the_same_bytes_whether_at_once_or_one_after_another(mlcli: Caller, two_threads: None) -> None:
    Path("sweep.yaml").write_text(SWEEP)
    once = mlcli("run", "sweep.yaml", "--json", "--jobs", "2", "--progress", "none")
    Path("out").rename("at-once")
    turn = mlcli("run", "sweep.yaml", "--json", "--progress", "none", "--set", "compute.threads=1")
    assert once.code == turn.code == 78
    assert [run["run"] for run in json.loads(once.out)["runs"]] == [run["run"] for run in json.loads(turn.out)["runs"]]
    assert sorted(once.err.splitlines()) == sorted(turn.err.splitlines())
    ours, theirs = bytes_of("at-once"), bytes_of("out")
    assert ours.keys() == theirs.keys() and len(ours) > 20
    different = {name for name in ours if ours[name] != theirs[name]}
    assert {Path(name).name for name in different} == {
        "config.yaml", "runs.csv", "runs.html"}  # threads and seconds
    tables = [[(row["run"], row["exit"], row["trustworthiness"]) for row in csv.DictReader(text.decode().splitlines())]
              for text in (ours["runs.csv"], theirs["runs.csv"])]
    assert tables[0] == tables[1]
    assert not [path for path in Path("at-once").iterdir() if path.name.startswith(".")]


def test_what_a_run_says_stays_together(mlcli: Caller, two_threads: None) -> None:
    for name in "abcd":
        write_points(Path(f"{name}.csv"))
    called = mlcli("embed", *(f"{name}.csv" for name in "abcd"), "-o", "out", "--jobs", "2", "--verbose")
    assert called.code == 0, called.err
    *said, head, a, b, c, d, last = called.err.splitlines(keepends=True)
    blocks = "".join(said).split("pca of ")[1:]
    assert sorted(block.splitlines()[0][:5] for block in blocks) == ["a.csv", "b.csv", "c.csv", "d.csv"]
    assert all(block.splitlines()[-1] == f"open out/{block[0]}/report.html" for block in blocks)
    assert head.split() == ["run", "variance", "neighbors", "kept", "seconds"] and last == "open out/runs.html\n"
    assert [line.split()[:2] for line in (a, b, c, d)] == [[name, "95.8%"] for name in "abcd"]


def test_a_sweep_ends_with_a_table_and_the_warnings_of_its_runs(mlcli: Caller) -> None:
    Path("flat.csv").write_text(",x,y,c\na,1,2,5\nb,2,1,5\nc,4,4,5\nd,3,0,5\n")
    called = mlcli("embed", "flat.csv", "-p", "1,2,9", "--scale", "standard", "-o", "out")
    assert called.code == 78
    *said, head, one, two, nine, last = called.err.splitlines()
    assert [line.rpartition("; in the run ")[2] for line in said if line.startswith("warning[W-CONST]: ")] == [
        "out/components=1", "out/components=2"]
    assert [line for line in said if not line.startswith("warning[W-CONST]: ")] == [
        line for line in said if line.startswith("mlcli: error[E-COMPONENTS]: ")]
    assert head.split()[:2] == ["run", "variance"] and "%" in one and two.split()[1] == "100.0%"
    assert nine.split() == ["components=9", "E-COMPONENTS"] and last == "open out/runs.html"


def test_lines_of_json_name_their_run(mlcli: Caller, two_threads: None) -> None:
    write_points(Path("more.csv"))
    called = mlcli("embed", "data.csv", "more.csv", "-o", "out", "--jobs", "2", "--progress", "json")
    lines = [json.loads(line) for line in called.err.splitlines()]
    for run in ("out/data", "out/more"):
        events = [line["event"] for line in lines if line.get("run") == run]
        assert events[0] == "begin" and events[-1] == "done"
    assert [line["done"] for line in lines if line.get("stage") == "runs" and "done" in line] == [1, 2]


def test_a_run_whose_process_is_killed_is_one_failure(
        mlcli: Caller, two_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        write_points(Path(f"{name}.csv"))
    write = pipeline.write

    def killed(folder: Path, *arguments: Any) -> None:
        if ".b." in folder.name:  # the draft of out/b
            os.kill(os.getpid(), signal.SIGKILL)
        write(folder, *arguments)

    monkeypatch.setattr(pipeline, "write", killed)
    called = mlcli("embed", "a.csv", "b.csv", "c.csv", "-o", "out", "--jobs", "2", "-q")
    assert called.code == 137 and called.err.startswith("mlcli: error[E-KILLED]") and "out/b" in called.err
    assert "after reconstruct" in called.err and "MiB" in called.err
    assert sorted(path.name for path in Path("out").iterdir()) == ["a", "c", "runs.csv", "runs.html"]
    rows = list(csv.DictReader(Path("out/runs.csv").read_text().splitlines()))
    assert [(row["run"], row["exit"]) for row in rows] == [("a", "0"), ("b", "137"), ("c", "0")]


THREADS_AT_FORKS = """
import os, signal, sys, threading, time
from mlcli.cli.program import run
from mlcli.pipeline import run as pipeline

fork, write, threads = os.fork, pipeline.write, []

def tasks():
    return len(os.listdir("/proc/self/task"))

def counted():
    latest = time.monotonic() + 2  # the system may still have a thread that Python has joined
    while tasks() > threading.active_count() and time.monotonic() < latest:
        time.sleep(0.01)
    process = fork()
    if process:
        threads.append((threading.active_count(), tasks()))
    return process

def killed(folder, *arguments):
    if ".b." in folder.name:
        os.kill(os.getpid(), signal.SIGKILL)
    write(folder, *arguments)

os.fork, pipeline.write = counted, killed
print(run(sys.argv[1:]), threads)
"""


def test_processes_are_forked_in_a_single_thread_also_in_the_place_of_a_dead_one() -> None:
    for name in "abcd":
        write_points(Path(f"{name}.csv"))
    said = python(THREADS_AT_FORKS, "embed", *(f"{name}.csv" for name in "abcd"), "-o", "out", "--jobs", "2",
                  "--progress", "log", MLCLI_THREADS="2")
    assert said.splitlines()[-1] == "137 [(1, 1), (1, 1), (1, 1)]"


def test_a_fit_asks_for_the_memory_that_is_planned_for_it(mlcli: Caller) -> None:
    asked: list[tuple[float, float]] = []
    with set_context(gate=lambda needed, limit: asked.append((needed, limit))):
        mlcli.finished("embed", "data.csv", "-m", "isomap", "-k", "8", "-o", "out", "-q")
    plan = json.loads(mlcli("plan", "data.csv", "-m", "isomap", "-k", "8", "--json").out)
    assert asked[-1] == (plan["memory"], plan["memory_limit"])


@pytest.mark.parametrize(("asked", "threads", "variables", "expected"), [
    (2, ["auto"] * 4, {"MLCLI_THREADS": "8"}, (2, 4)),
    (3, ["auto"] * 4, {"MLCLI_THREADS": "8"}, (3, 2)),
    (9, ["auto"] * 4, {"MLCLI_THREADS": "8"}, (4, 2)),
    (9, ["auto"] * 9, {"MLCLI_THREADS": "2"}, (2, 1)),
    (4, [3, "auto", 2], {"MLCLI_THREADS": "8"}, (2, 4)),
    (4, [8, 8], {"MLCLI_THREADS": "4"}, (1, 4)),
    (2, ["auto"] * 2, {"SLURM_CPUS_PER_TASK": "6", "OMP_NUM_THREADS": "2"}, (2, 2)),
])
def test_jobs_and_threads_stay_within_the_limit(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: int, threads: list[int | str],
        variables: dict[str, str], expected: tuple[int, int]) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)))
    monkeypatch.setattr("mlcli.base.machine.resources.cpu_quota", lambda root: 0)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    division = announce_division(asked, [Compute(threads=count) for count in threads], Presentation(progress="log"))
    assert (division.jobs, division.threads.count) == expected
    assert ("N-JOBS" in capsys.readouterr().err) == (division.jobs < min(asked, len(threads)))


def test_an_embedding_on_standard_output_is_not_one_of_several_at_once(mlcli: Caller, two_threads: None) -> None:
    Path("one.yaml").write_text("input: {path: data.csv}\noutput: '-'\n")
    Path("two.yaml").write_text("input: {path: data.csv}\n")
    called = mlcli("run", "one.yaml", "two.yaml", "--jobs", "2")
    assert called.code == 2 and "E-STDOUT" in called.err


def waiting() -> subprocess.Popen[bytes]:
    """Two runs at once: one has ended, and one waits for standard input."""
    child = process("embed", "data.csv", "-", "-o", "out", "--jobs", "2", "--progress", "json",
                    stdin=subprocess.PIPE, env=neutral(MLCLI_THREADS="2"))
    assert child.stderr
    line: dict[str, object] = {}
    while (line.get("stage"), line.get("done")) != ("runs", 1):
        line = json.loads(child.stderr.readline())
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_and_leaves_finished_runs_only(number: signal.Signals) -> None:
    child = waiting()
    child.send_signal(number)
    begun = time.monotonic()
    said = child.communicate(timeout=30)[1].decode().splitlines()
    assert time.monotonic() - begun < 2 and child.returncode == 128 + number
    assert json.loads(said[-1])["error"]["code"] == "E-STOPPED"
    assert sorted(path.name for path in Path("out").iterdir()) == ["data", "runs.csv"]
    assert Path("out/data/run.json").exists() and Path("out/runs.csv").read_text().count("\n") == 2


def test_workers_do_not_outlive_a_parent_that_is_killed() -> None:
    child = waiting()
    child.kill()
    child.communicate(timeout=30)  # what ends when its last worker does, which has its standard error as well
    assert sorted(path.name for path in Path("out").iterdir()) == ["data", "runs.csv"]


def test_a_reader_that_crashes_is_the_inputs_fault_and_ends_one_run(
        mlcli: Caller, two_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        write_points(Path(f"{name}.csv"))
    survey = delimited.survey_text

    def crashing(file: Any, *arguments: Any) -> Any:
        if file.path.endswith("b.csv"):
            os.kill(os.getpid(), signal.SIGSEGV)
        return survey(file, *arguments)

    monkeypatch.setattr(delimited, "survey_text", crashing)
    called = mlcli("embed", "a.csv", "b.csv", "c.csv", "-o", "out", "--jobs", "2", "-q")
    assert called.code == 65 and called.err.count("error[") == 1, called.err
    assert called.err.startswith("mlcli: error[E-READER-CRASH]") and "out/b" in called.err
    rows = list(csv.DictReader(Path("out/runs.csv").read_text().splitlines()))
    assert [(row["run"], row["exit"]) for row in rows] == [("a", "0"), ("b", "65"), ("c", "0")]


@pytest.mark.slow
def test_processes_of_a_long_sweep_do_not_grow() -> None:
    """Resident memory of each, from 80 of 240 runs to 220: below 8 KiB for a run."""
    seeds = ", ".join(map(str, range(240)))
    Path("sweep.yaml").write_text("input: {path: data.csv}\nmethod: {name: pca}\nreport: {point_labels: none}\n"
                                  f"output: out\nsweep: {{compute.seed: [{seeds}]}}\n")
    child, sizes = process("run", "sweep.yaml", "-q", "--jobs", "2"), dict[str, list[int]]()
    while child.poll() is None:
        time.sleep(0.2)
        if 80 <= len(list(Path().glob("out/seed=*/run.json"))) <= 220:  # after that the page over all of them is made
            for number in descendants(child.pid):
                with contextlib.suppress(OSError, StopIteration):
                    lines = Path(f"/proc/{number}/status").read_text().splitlines()
                    sizes.setdefault(number, []).append(next(int(line.split()[1]) for line in lines if "VmRSS" in line))
    child.communicate()
    assert child.returncode == 0 and len(sizes) >= 3
    assert all(kept[-1] - kept[0] < 8 * 140 for kept in sizes.values()), sizes


def descendants(process: int) -> list[str]:
    """The processes that a process has started, and those that these have."""
    try:
        own = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [*own, *(other for number in own for other in descendants(int(number)))]
