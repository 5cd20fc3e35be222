"""Runs that are killed at random moments and at every system call that writes: 0 torn, 0 lost, 0 drafts left for ever.

Together more than 500 kills of a small run, with and without --force.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from mlcli.publication.recovery import recover
from mlcli.rundir.manifest import read_manifest, require_intact

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
EMBED = [sys.executable, "-m", "mlcli", "embed", "data.csv", "-q", "-p", "2", "--threads", "1", "-o", "out"]
SAMPLE = [sys.executable, "-m", "mlcli", "sample", "torus", "--rows", "40", "-o", "out.csv"]
CALLS = "/^(rename|fsync|write|mkdir|unlink|rmdir|link|flock)"
RANDOM = 205  # kills for each way of running; the calls are about a hundred more


def finished(output: Path) -> str | None:
    """When a run was finished, once all its files are those that it names; None where there is no output."""
    if not os.path.lexists(output):
        return None
    manifest = read_manifest(output)
    require_intact(output, manifest, tuple(manifest["files"]))
    assert {path.name for path in output.iterdir()} == {"run.json", *manifest["files"]}
    return str((output / "run.json").stat().st_mtime_ns)


def recovered(force: bool, *, run: bool = False) -> None:
    """What a killed run left is whole, and the start of the next one collects the rest."""
    after = finished(Path("out"))
    assert after is not None or not force, "the run is lost"
    if run:
        subprocess.run([*EMBED, "--force"], check=True)
        assert finished(Path("out")) != after
    else:  # how every run starts
        recover(Path("out"))
        assert finished(Path("out")) == after
    assert {path.name for path in Path().iterdir()} <= {"data.csv", "out"}


def fresh(force: bool, keep: Path) -> None:
    """Without --force no output, else a finished run."""
    shutil.rmtree("out", ignore_errors=True)
    if force:
        shutil.copytree(keep, "out")


@pytest.fixture
def keep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run to begin with."""
    subprocess.run(EMBED, check=True)
    return Path(shutil.move("out", tmp_path_factory.mktemp("keep") / "out"))


@pytest.mark.parametrize("force", [False, True])
def test_killed_at_random_moments(keep: Path, force: bool) -> None:
    generator = random.Random(f"kills {force}")
    begun = time.monotonic()
    subprocess.run([*EMBED, "--force"], check=True)
    whole = time.monotonic() - begun
    killed = 0
    while killed < RANDOM:
        fresh(force, keep)
        child = subprocess.Popen([*EMBED, *(["--force"] if force else [])], stderr=subprocess.DEVNULL)
        time.sleep(whole * generator.uniform(0.3, 1.05))  # the first third starts Python
        workers = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        child.send_signal(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        while any(Path(f"/proc/{worker}").exists() for worker in workers):  # which the system ends a moment later
            time.sleep(0.01)
        recovered(force, run=killed % 20 == 1)
    print(f"{killed} kills at random, force={force}")


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("force", [False, True])
def test_killed_at_every_call(keep: Path, force: bool) -> None:
    command = [*EMBED, *(["--force"] if force else [])]
    fresh(force, keep)
    subprocess.run(["strace", "-f", "-o", "calls", "-e", f"trace={CALLS}", *command], check=True)
    calls = Counter(re.findall(r"^(\d+) +(\w+)\(.*", Path("calls").read_text(), re.MULTILINE))
    Path("calls").unlink()
    # strace counts the calls of each thread by themselves
    counts = {name: max(count for (_, other), count in calls.items() if other == name) for _, name in calls}
    killed = 0
    for name, count in counts.items():
        for number in range(1, count + 1):
            fresh(force, keep)
            traced = subprocess.run(["strace", "-f", "-o", os.devnull, "-e", f"trace={name}",
                                     "-e", f"inject={name}:signal=KILL:when={number}", *command],
                                    stderr=subprocess.DEVNULL, check=False)
            killed += traced.returncode in (137, -9)
            recovered(force, run=killed % 20 == 1)
    assert killed > 0.8 * sum(counts.values()) and {"fsync", "write", "mkdir"} <= counts.keys()
    print(f"{killed} kills at {counts}, force={force}")


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(("name", "error", "on"), [
    ("write", "ENOSPC", "+"), ("write", "EDQUOT", "+"), ("write", "EIO", ""), ("fsync", "EIO", ""),
    ("/^rename", "EIO", ""), ("mkdir", "ENOSPC", "+"), ("mkdir", "EDQUOT", "")])
def test_every_call_fails_once_or_from_then_on(keep: Path, name: str, error: str, on: str) -> None:
    """A run over an older one is complete, or ends with 74 and the older one is there; but for standard error."""
    number, codes = 0, list[int]()
    while number < 3 or codes[-3:] != [0, 0, 0]:
        number += 1
        fresh(True, keep)
        before = finished(Path("out"))
        traced = subprocess.run(["strace", "-f", "-o", os.devnull, "-e", f"trace={name}", "-e",
                                 f"inject={name}:error={error}:when={number}{on}", *EMBED, "--force"],
                                capture_output=True, text=True, check=False)
        codes.append(traced.returncode)
        assert codes[-1] in (0, 74) and traced.stderr.count("\n") <= 1, traced.stderr
        assert (finished(Path("out")) == before) == (codes[-1] == 74)
        assert {path.name for path in Path().iterdir()} == {"data.csv", "out"}
    assert 74 in codes
    print(f"{name} {error}: {codes}")


@pytest.mark.parametrize("force", [False, True])
def test_races(keep: Path, force: bool) -> None:
    """One winner without --force; with it any file, and any run that does not wait; a whole output in either case."""
    for _ in range(25):
        fresh(False, keep)
        for command in (EMBED, SAMPLE):
            racers = [subprocess.Popen([*command, *(["--force"] if force else [])], stderr=subprocess.DEVNULL)
                      for _ in range(16 if command is EMBED else 4)]
            codes = sorted(racer.wait() for racer in racers)
            if command is EMBED:  # 75 while another makes the output, 73 once it is there
                assert codes[0] == 0 and set(codes[1:]) <= ({0, 75} if force else {73, 75})
            else:
                assert codes == ([0] * 4 if force else [0, 73, 73, 73])
            output = Path(command[-1])
            assert {path.name for path in Path().iterdir()} == {"data.csv", output.name}
            if command is EMBED:
                finished(output)
                shutil.rmtree(output)
            else:
                assert len(output.read_text().splitlines()) == 41
                output.unlink()


@pytest.mark.parametrize("victim", ["supervisor", "worker"])
def test_after_the_winners_death_another_one_wins(victim: str) -> None:
    """Sixteen race for one directory and the winner, which waits for its data, is killed, twice; then one ends."""
    def started(source: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*EMBED[:4], source, *EMBED[5:]], stdin=subprocess.PIPE, stderr=subprocess.PIPE)

    for _ in range(2):
        racers = [started("-") for _ in range(16)]
        while sum(racer.poll() is None for racer in racers) > 1:
            time.sleep(0.02)
        (winner,) = (racer for racer in racers if racer.returncode is None)
        others = [racer.communicate()[1] for racer in racers if racer is not winner]
        assert {racer.returncode for racer in racers} == {75, None}
        assert all(b"E-LOCKED" in said and said.count(b"\n") == 1 for said in others)
        (worker,) = Path(f"/proc/{winner.pid}/task/{winner.pid}/children").read_text().split()
        os.kill(winner.pid if victim == "supervisor" else int(worker), signal.SIGKILL)
        winner.communicate()
        assert winner.returncode in (-signal.SIGKILL, 137)
        while Path(f"/proc/{worker}").exists():  # it dies a moment after what supervises it
            time.sleep(0.01)
    racers = [started("data.csv") for _ in range(16)]
    for racer in racers:
        racer.communicate()
    codes = sorted(racer.returncode for racer in racers)
    assert codes[0] == 0 and set(codes[1:]) <= {73, 75}
    assert finished(Path("out")) and {path.name for path in Path().iterdir()} == {"data.csv", "out"}
