"""Runs that are stopped, killed or out of time, and begun again by the same command: the same bytes in the end."""

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.data.samples import sample
from tests.journeys.support import forked, process, write_points
from tests.processes import OWN_KERNEL, code_of, neutral
from tests.wording import Wording

pytestmark = pytest.mark.medium

KEEPING = [sys.executable, "-P", str(Path(__file__).with_name("keeping.py"))]
EMBED = ["embed", "data.csv", "-o", "out", "-q", "--method", "fa", "-p", "1", "--threads", "1",
         "--set", "report.quality=null", "--set", "report.dimension=false", "--set", "method.iterate.tolerance=1e-12"]


def keeping(pause: float, *arguments: str, **settings: str) -> subprocess.Popen[bytes]:
    """Starts the program so that it keeps every checkpoint; forks, whose linear algebra it shares, go on from them."""
    return subprocess.Popen([*KEEPING, str(pause), *arguments], stderr=subprocess.PIPE,
                            env=neutral(**OWN_KERNEL, **settings))


def begin(*more: str, pause: float = 0.02) -> subprocess.Popen[bytes]:
    """Begins a run that keeps a checkpoint of every step of an iteration."""
    return keeping(pause, *EMBED, *more)


def after_steps(child: subprocess.Popen[bytes], count: int) -> None:
    """Waits until a run has gone some steps."""
    assert child.stderr
    for _ in range(count):
        assert child.stderr.readline() == b"offered\n"


def ended(child: subprocess.Popen[bytes]) -> tuple[int, str]:
    """The exit code of a run, and what it said besides its steps."""
    assert child.stderr
    lines = child.stderr.read().decode().splitlines()  # while standard input stays open
    code = child.wait(timeout=60)
    child.communicate()
    return code, "\n".join(line for line in lines if line != "offered")


def files(folder: str = "out") -> dict[str, bytes]:
    """The files of a run that hold no times."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()
            if path.name not in ("run.json", "report.html")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the run gives when nothing happens to it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_points(folder / "data.csv")
    assert code_of(*EMBED, cwd=folder) == 0
    before = Path.cwd()
    os.chdir(folder)
    try:
        return files()
    finally:
        os.chdir(before)


@pytest.fixture
def goes_on(undisturbed: dict[str, bytes]) -> Iterator[None]:
    """What happened leaves no output; the same command then goes on, and leaves nothing but the run."""
    yield
    left = {path.name.rpartition(".")[2] for path in Path().iterdir()}
    assert {"csv", "claim"} <= left <= {"csv", "claim", "folder"}  # a draft, where nobody was left to remove it
    assert ended(forked("0", *EMBED, script=KEEPING[-1])) == (0, "")
    assert files() == undisturbed
    said: dict[str, Any] = json.loads(Path("out/run.json").read_text())
    assert said["resumed"] == {"run": 1}
    assert {path.name for path in Path().iterdir()} == {"data.csv", "out"}


@pytest.mark.usefixtures("goes_on")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGUSR1, 75), (signal.SIGTERM, 143)])
def test_a_signal_keeps_what_the_run_goes_on_from(number: signal.Signals, code: int, wording: Wording) -> None:
    child = begin()
    after_steps(child, 3)
    child.send_signal(number)
    returned, said = ended(child)
    assert returned == code and wording(said) == ["E-STOPPED"] and number.name in said


@pytest.mark.usefixtures("goes_on")
def test_the_time_limit_stops_at_a_checkpoint(wording: Wording) -> None:
    begun = time.monotonic()
    child = forked("1.0", *EMBED, "--time-limit", "6s", script=KEEPING[-1])
    code, said = ended(child)
    assert code == 75 and wording(said) == ["E-TIME-LIMIT"]
    assert time.monotonic() - begun < 12


def test_a_time_limit_without_a_checkpoint_ends_the_run_by_force() -> None:
    child = forked("embed", "-", "-o", "out", "-q", "--time-limit", "2s", stdin=subprocess.PIPE)
    code, said = ended(child)
    assert code == 124 and said.startswith("mlcli: error[E-TIME-LIMIT]: ")
    assert list(Path().iterdir()) == [Path("data.csv")]


def test_the_end_of_a_slurm_job_is_a_time_limit() -> None:
    child = forked("embed", "-", "-o", "out", "-q", stdin=subprocess.PIPE,
                   env=neutral(SLURM_JOB_END_TIME=str(int(time.time()) + 6)))
    assert ended(child)[0] == 124


def test_a_short_run_begun_late_in_a_job_is_made() -> None:
    """Nine seconds before its end; more where a machine that is busy takes long for it.

    `test_three_quarters_of_a_short_limit_can_be_used` holds the limits themselves.
    """
    begun = time.monotonic()
    assert ended(process("embed", "data.csv", "-o", "first", "-q"))[0] == 0
    left = max(9.0, 5 * (time.monotonic() - begun))
    child = process("embed", "data.csv", "-o", "out", "-q",
                    env=neutral(SLURM_JOB_END_TIME=str(math.ceil(time.time() + left))))
    assert ended(child) == (0, "")


@pytest.mark.parametrize(("rows", "method", "stage", "kept"), [
    (16_000, ("isomap", "-k", "12", "--set", "method.paths.algorithm=elimination", "--set",
              "method.paths.store=streamed"), "elimination", "elimination-at-"),
    (8000, ("mds", "--set", "method.eigensolve.solver=dense"), "eigensolve", None)])
def test_sigusr1_waits_two_seconds_where_no_iteration_runs(
        rows: int, method: tuple[str, ...], stage: str, kept: str | None) -> None:
    """An elimination keeps the tasks that it has done; a call of LAPACK, which nothing interrupts, is lost."""
    np.savetxt("data.csv", np.random.default_rng(0).standard_normal((rows, 5)), delimiter=",")
    child = process("embed", "data.csv", "-o", "out", "--progress", "json", "--threads", "1", "-m", *method)
    assert child.stderr
    running = "begin" if kept is None else "advance"  # an elimination has done its first task
    while (event := json.loads(child.stderr.readline())).get("stage") != stage or event["event"] != running:
        pass
    begun = time.monotonic()
    child.send_signal(signal.SIGUSR1)
    code, _ = ended(child)
    assert time.monotonic() - begun < 2
    assert code == (124 if kept is None else 75)
    assert kept is None or any(path.name.startswith(kept) for path in Path().glob(".out.*.claim/*.stage"))


def test_a_killed_search_for_neighbors_goes_on_with_the_next_block() -> None:
    np.save("data.npy", np.random.default_rng(0).standard_normal((8_400, 20)))
    search = ["embed", "data.npy", "-q", "-m", "laplacian", "-k", "8", "--threads", "1", "--outputs", "embedding",
              "--set", "method.eigensolve.solver=filter"]
    assert ended(forked("0", *search, "-o", "out", script=KEEPING[-1])) == (0, "")
    Path("out").rename("whole")
    child = keeping(0.2, *search, "-o", "out")
    while not any(path.name.startswith("neighbors-at-") for path in Path().glob(".out.*.claim/*.stage")):
        after_steps(child, 1)
    child.kill()
    assert ended(child)[0] == -signal.SIGKILL
    assert ended(forked("0", *search, "-o", "out", script=KEEPING[-1])) == (0, "")
    assert files("out") == files("whole")
    assert json.loads(Path("out/run.json").read_text())["resumed"]["neighbors"] == 1


def test_a_signal_before_anything_is_kept_is_not_worth_another_try() -> None:
    child = process("embed", "-", "-o", "out", "--progress", "json", stdin=subprocess.PIPE)
    assert child.stderr and json.loads(child.stderr.readline())["event"] == "begin"
    child.send_signal(signal.SIGUSR1)
    code, said = ended(child)
    assert code == 124 and "E-STOPPED" in said and "SIGUSR1" in said


@pytest.mark.slow
def test_a_stop_is_in_time_for_the_end_of_the_job() -> None:
    """Inside a call of minutes, to the end that is known: the scheduler gave eight seconds."""
    np.savetxt("data.csv", sample("swiss-roll", 6000, 0).values, delimiter=",", header="x,y,z", comments="")
    child = process("embed", "data.csv", "-o", "out", "--progress", "json", "-m", "mds", "--set",
                    "method.eigensolve.solver=dense", env=neutral(SLURM_JOB_END_TIME=str(int(time.time()) + 60)))
    assert child.stderr
    while json.loads(child.stderr.readline()).get("stage") != "eigensolve":
        pass
    begun = time.monotonic()
    child.send_signal(signal.SIGUSR1)
    assert ended(child)[0] in (75, 124) and time.monotonic() - begun < 50


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_sweep_one_of_whose_runs_has_ended_is_worth_another_try(jobs: str) -> None:
    """Given again, it goes on after the run that is there, but not once more where no other has ended by then."""
    Path("sweep.yaml").write_text(SWEEP)
    Path("other.yaml").write_text("input: {path: '-'}\nmethod: {name: pca}\noutput: waits\n")
    for expected in (75, 124):
        run = process("run", "sweep.yaml", "other.yaml", "--skip-existing", "-q", "--jobs", jobs,
                      stdin=subprocess.PIPE, env=neutral(MLCLI_THREADS=jobs))
        while run.poll() is None and not (Path("out/seed=1/run.json").exists() and [*Path().glob(".waits.*.claim")]):
            time.sleep(0.02)
        time.sleep(0.3)  # now it waits for data
        run.send_signal(signal.SIGUSR1)
        assert ended(run)[0] == expected


@pytest.mark.slow
def test_a_start_that_adds_nothing_to_what_was_kept_is_not_worth_another_try() -> None:
    """A scheduler that gave the same command again after 75 would do so for ever; a signal by hand goes on from it."""
    child = begin()
    after_steps(child, 3)
    child.send_signal(signal.SIGUSR1)
    assert ended(child)[0] == 75
    for number, code, said in ((signal.SIGUSR1, 124, "before a new checkpoint"),
                               (signal.SIGTERM, 143, "the same command goes on")):
        child = begin(pause=60.0)
        after_steps(child, 1)  # before it is kept
        child.send_signal(number)
        found = ended(child)
        assert found[0] == code and said in found[1]


@pytest.mark.usefixtures("goes_on")
def test_a_killed_run_frees_its_output_for_the_next() -> None:
    child = begin(pause=1.0)
    after_steps(child, 3)
    code, said = ended(forked("0", *EMBED, script=KEEPING[-1]))
    assert code == 75 and "E-LOCKED" in said
    child.send_signal(signal.SIGKILL)
    assert ended(child)[0] == -signal.SIGKILL


@pytest.mark.usefixtures("goes_on")
def test_a_computation_that_the_system_kills_says_that_the_run_goes_on() -> None:
    child = begin()
    after_steps(child, 3)
    (worker,) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    os.kill(int(worker), signal.SIGKILL)
    code, said = ended(child)
    assert code == 137 and "the same command goes on from what was kept" in said


SWEEP = """
input: {path: data.csv}
method: {name: fa, axes: {components: 1}, iterate: {tolerance: 1.0e-12}}
report: {quality: null, dimension: false}
compute: {threads: 1}
output: out
sweep: {compute.seed: [0, 1]}
"""
RUNS = ("out/seed=0", "out/seed=1")


def sweep(*more: str, pause: float = 0.0) -> subprocess.Popen[bytes]:
    """Begins two runs at once."""
    Path("sweep.yaml").write_text(SWEEP)
    return keeping(pause, "run", "sweep.yaml", "--jobs", "2", "-q", *more, MLCLI_THREADS="2")


@pytest.mark.slow
@pytest.mark.parametrize("limit", [(), ("--time-limit", "20s")])
def test_each_of_several_runs_keeps_a_checkpoint_before_it_ends(limit: tuple[str, ...]) -> None:
    child = sweep(*limit, pause=2.0 if limit else 0.1)
    while child.poll() is None and len({path.parent for path in Path("out").glob(".*.claim/*.stage")}) < 2:
        time.sleep(0.02)
    if not limit:
        child.send_signal(signal.SIGUSR1)
    code, said = ended(child)
    assert code == 75 and said.endswith("the same command goes on from what was kept"), said
    assert len({path.parent for path in Path("out").glob(".*.claim/*.stage")}) == 2
    assert ended(sweep()) == (0, "")
    assert [json.loads(Path(run, "run.json").read_text())["resumed"] for run in RUNS] == [{"run": 1}] * 2
    resumed = {run: files(run) for run in RUNS}
    assert ended(sweep("--force")) == (0, "")
    assert {run: files(run) for run in RUNS} == resumed


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_runs_killed_at_random_again_and_again(undisturbed: dict[str, bytes]) -> None:
    """Five hundred kills in the middle of an iteration, each of which the next start goes on from."""
    generator, kills, runs = random.Random("going on"), 0, 0
    while kills < 500:
        child = begin(pause=0.01)
        assert child.stderr
        if generator.random() < 0.9:
            child.stderr.readline()  # a step, or the end: also where the one before is still being killed, with 75
        time.sleep(generator.uniform(0, 0.3))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        assert child.returncode in (-signal.SIGKILL, 0, 75)
        kills += child.returncode == -signal.SIGKILL
        if Path("out").exists():
            assert files() == undisturbed
            runs += 1
            shutil.rmtree("out")
    print(f"{kills} kills in {runs} runs")
    assert runs > 5
