"""Whole runs of many methods, and sweeps, killed at random moments, again and again, then run to their end.

Together 500 kills: what stands there is whole, nothing of an older run is lost, and the bytes in the end are those of
an undisturbed run. A quarter of the kills is aimed at the last fifth of a run, where it publishes.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from mlcli.data.samples import sample
from mlcli.publication.recovery import recover
from tests.faults.kills.test_going_on import KEEPING
from tests.faults.kills.test_kills import finished
from tests.processes import call, neutral

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
PROGRAM = [*KEEPING, "0"]
KILLS, OF_SWEEPS = 35, 50  # of each method, and of a sweep
METHODS = {
    "pca": ("-m", "pca"), "mds": ("-m", "mds"), "kpca": ("-m", "kpca"), "laplacian": ("-m", "laplacian", "-k", "9"),
    "filter": ("-m", "laplacian", "-k", "9", "--set", "method.eigensolve.solver=filter"),
    "isomap": ("-m", "isomap", "-k", "9", "--set", "method.paths.store=streamed",
               "--set", "method.eigensolve.solver=krylov"),
    "lle": ("-m", "lle", "-k", "9", "--set", "method.eigensolve.solver=krylov"), "fa": ("-m", "fa", "-p", "1"),
    "ica": ("-m", "ica"), "tsne": ("-m", "tsne", "--set", "method.descent={early_steps: 50, steps: 50}"),
    "gplvm": ("-m", "gplvm", "--set", "method.minimize.limit=8"), "sammon": ("-m", "sammon"),
    "nmds": ("-m", "nmds", "--set", "method.starts=4"),
    "smacof": ("-m", "smacof", "--set", "method.starts=2", "--set", "method.weights=-2"),
    "phate": ("-m", "phate"), "umap": ("-m", "umap", "--set", "method.epochs=100"),
    "sde": ("-m", "sde", "-k", "4", "--set", "method.constraints=at_most")}
ROWS = {"gplvm": 30, "sde": 40}
SWEEP = """
input: {path: data.npy}
method: {name: isomap, eigensolve: {solver: krylov}, paths: {store: streamed}}
compute: {threads: 1}
output: out
sweep: {method.neighbors.count: [8, 9], method.eigensolve.components: [1, 2, 3]}
"""
TIMES = re.compile(rb"[0-9.e-]+ s, finished [^<]+|<h2>Timings</h2>.*?</section>", re.DOTALL)
Left = dict[str, dict[str, bytes]]


def content(folder: Path) -> dict[str, bytes]:
    """The files of a run but for the times in them."""
    return {path.name: TIMES.sub(b"", path.read_bytes()) if path.suffix == ".html" else path.read_bytes()
            for path in folder.iterdir() if path.name != "run.json"}


def runs() -> Left:
    """The runs below the current directory, all of them whole."""
    folders = [path.parent for path in Path().glob("out/**/run.json") if not path.parent.name.startswith(".")]
    assert all(finished(folder) for folder in folders)
    return {str(folder): content(folder) for folder in folders}


def different(one: dict[str, bytes], other: dict[str, bytes]) -> set[str]:
    """The names of the files that differ."""
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def kill(command: list[str], generator: random.Random, whole: float) -> float | None:
    """Kills a run, or only what supervises it, or only what computes, at a random moment of so many seconds.

    Where it had ended by then, the seconds that it took.
    """
    late = generator.random() < 0.25
    moment = whole * generator.uniform(0.8 if late else 0.2, 1.05 if late else 1.0)
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
                             env=neutral(MLCLI_THREADS="2"))
    begun = time.monotonic()
    with suppress(subprocess.TimeoutExpired):
        child.wait(timeout=moment)
        return time.monotonic() - begun
    victim = generator.choice(("supervisor", "worker", "all"))
    children = below(child.pid)
    with suppress(ProcessLookupError):
        if victim == "all":
            os.killpg(child.pid, signal.SIGKILL)
        else:
            os.kill(child.pid if victim == "supervisor" or not children else children[0], signal.SIGKILL)
    code = child.wait(timeout=60)
    while any(Path(f"/proc/{one}").exists() for one in children):  # which the system ends a moment later
        time.sleep(0.01)
    assert code in (0, -signal.SIGKILL, 137)
    return None if code else time.monotonic() - begun


def below(process: int) -> list[int]:
    """The processes that one has started, those of the last ones after them."""
    with suppress(OSError):
        direct = list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))
        return direct + [further for one in direct for further in below(one)]
    return []


def timed(command: list[str]) -> float:
    """Seconds of a run that nothing disturbs."""
    begun = time.monotonic()
    subprocess.run(command, check=True, env=neutral(MLCLI_THREADS="2"), stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def killed_and_resumed(begin: Callable[[random.Random], list[str]], goal: Left, kills: int, whole: float) -> None:
    """Kills runs until there were so many kills; each course of them ends with the runs of an undisturbed one."""
    generator, killed, courses = random.Random(str(sorted(goal))), 0, 0
    while killed < kills:
        command = begin(generator)
        before, again = runs(), True
        while again:
            ended = kill(command, generator, whole)
            killed += ended is None
            whole = 0.5 * (whole + ended) if ended else whole  # it changes with the load of the machine
            now = runs()
            assert now.keys() >= before.keys(), "a run is lost"
            for name, files in now.items():
                assert files == before.get(name) or not different(files, goal[name])
            refused = now.keys() == goal.keys() and not {"--force", "--skip-existing"} & {*command}  # killed at its end
            again = ended is None and not refused and generator.random() < 0.4
        if runs() != goal or (ended is None and not refused):  # what was killed last is gone on from
            whole = 0.5 * (whole + timed(command))
        now = runs()
        assert now.keys() == goal.keys() and not any(different(now[name], goal[name]) for name in goal)
        recover(Path("out"))  # as every start does
        assert {path.name for path in Path().iterdir()} <= {"data.csv", "data.npy", "sweep.yaml", "out"}
        courses += 1
        if courses % 5 == 1:
            assert all(call("verify", name).returncode == 0 for name in goal)
    print(f"{killed} kills in {courses} courses")


@pytest.mark.parametrize("method", METHODS)
def test_runs_of_a_method(method: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    np.save("data.npy", sample("swiss-roll", ROWS.get(method, 120), 0).values)
    embed = [*PROGRAM, "embed", "data.npy", *METHODS[method], "-q", "--threads", "1", "-o", "out"]
    whole, goal = timed(embed), runs()
    shutil.rmtree("out")
    timed([*embed, "--set", "compute.seed=5"])
    older = Path(shutil.move("out", tmp_path_factory.mktemp("older") / "out"))

    def begin(generator: random.Random) -> list[str]:
        """Beside nothing, or over an older run."""
        shutil.rmtree("out", ignore_errors=True)
        if force := generator.random() < 0.4:
            shutil.copytree(older, "out")
        return [*embed, *(["--force"] if force else [])]

    killed_and_resumed(begin, goal, KILLS, whole)


def test_sweeps() -> None:
    np.save("data.npy", sample("swiss-roll", 120, 0).values)
    Path("sweep.yaml").write_text(SWEEP)
    command = [*PROGRAM, "run", "sweep.yaml", "--jobs", "2", "--skip-existing", "-q"]
    whole, goal = timed(command), runs()
    assert len(goal) == 6

    def begin(generator: random.Random) -> list[str]:
        shutil.rmtree("out", ignore_errors=True)
        return command

    killed_and_resumed(begin, goal, OF_SWEEPS, whole)
    assert {path.name for path in Path("out").iterdir()} == {
        *(Path(name).name for name in goal), "runs.csv", "runs.html"}
