"""Signals, against real processes."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mlcli.cli import supervisor
from mlcli.cli.screen.failure import stop_error
from mlcli.core import sparse_factors
from mlcli.errors import STOPPING
from mlcli.process import signals
from tests.journeys.support import process
from tests.processes import neutral, python
from tests.wording import Wording

BUSY = {
    "one call of the interpreter": "sum(range(10**12))",
    "LAPACK": "eigh(np.random.default_rng(0).random((6000, 6000)))",  # SciPy keeps the interpreter's lock for it
    "deaf": """
        while True:
            try: time.sleep(60)
            except BaseException: pass
"""}
PROGRAM = """
import os, sys, time
import mlcli.cli.program
from pathlib import Path
from mlcli.__main__ import main
from mlcli.cli import supervisor
from mlcli.cli.screen.failure import stop_error
from mlcli.process.unfinished import unfinished

def work(arguments):
    {prepare}
    draft = Path("draft")
    draft.mkdir()
    with unfinished(draft, draft.stat().st_ino):
        (draft / "embedding.csv").touch()
        print("begun", file=sys.stderr)
        {busy}

supervisor.GRACE = {grace}
mlcli.cli.program.dispatch = work
sys.argv = ["mlcli"]
main()
"""


def started(code: str, **options: Any) -> subprocess.Popen[bytes]:
    """A program that has said that it began."""
    child = subprocess.Popen([sys.executable, "-P", "-c", code], stderr=subprocess.PIPE, env=neutral(), **options)
    assert child.stderr and child.stderr.readline() == b"begun\n"
    return child


def ended(child: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """The exit code of a program and the rest of what it said."""
    assert child.stderr
    said = child.stderr.read()  # not by `communicate`, which does not know of what was read ahead
    child.stderr.close()
    return child.wait(timeout=30), said


OFTEN = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}  # what people, batch systems and lost terminals send


@pytest.mark.medium
@pytest.mark.parametrize("number", [pytest.param(number, marks=[] if number in OFTEN else pytest.mark.slow)
                                    for number in STOPPING])
def test_a_signal_ends_the_run_without_an_output(number: signal.Signals) -> None:
    child = process("embed", "-", "-o", "out", "--progress", "json", stdin=subprocess.PIPE)
    assert child.stderr and child.stdin
    assert json.loads(child.stderr.readline())["event"] == "begin"  # now it waits for data
    child.send_signal(number)
    rest = child.stderr.read().decode().splitlines()
    error = stop_error(number, kept=False)
    assert child.wait(timeout=20) == error.exit_code == (124 if number == signal.SIGUSR1 else 128 + number)
    child.stdin.close()
    child.stderr.close()
    if child.stdout:
        child.stdout.close()
    assert json.loads(rest[-1])["error"] == error.fields() and number.name in error.what
    assert list(Path().iterdir()) == [Path("data.csv")]


def program(busy: str, grace: float = 0.15) -> str:
    """A program that is busy with one of these."""
    prepare = "import numpy as np; from scipy.linalg import eigh" if busy == "LAPACK" else "pass"
    return PROGRAM.format(busy=BUSY.get(busy, busy), prepare=prepare, grace=grace)


@pytest.mark.medium
@pytest.mark.parametrize("busy", BUSY)
def test_what_does_not_end_itself_is_ended_and_leaves_nothing(busy: str) -> None:
    child = started(program(busy))
    time.sleep(0.2)
    begun = time.monotonic()
    child.send_signal(signal.SIGTERM)
    assert ended(child) == (143, b"mlcli: error[E-STOPPED]: stopped by SIGTERM\n")
    assert time.monotonic() - begun < 2
    assert list(Path().iterdir()) == [Path("data.csv")]


@pytest.mark.medium
def test_a_second_signal_ends_the_program_at_once() -> None:
    child = started(program("deaf", grace=600))
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    child.send_signal(signal.SIGTERM)
    assert ended(child) == (130, b"mlcli: error[E-STOPPED]: stopped by SIGINT\n")
    assert list(Path().iterdir()) == [Path("data.csv")]


@pytest.mark.medium
@pytest.mark.parametrize("busy", ["time.sleep(60)", "LAPACK"])
def test_a_signal_to_the_whole_group_is_one_signal(busy: str) -> None:
    """As Ctrl-C and batch systems send it: both processes receive it."""
    child = started(program(busy, grace=5 if busy != "LAPACK" else 0.15), start_new_session=True)
    os.killpg(child.pid, signal.SIGINT)
    assert ended(child) == (130, b"mlcli: error[E-STOPPED]: stopped by SIGINT\n")
    assert list(Path().iterdir()) == [Path("data.csv")]


@pytest.mark.parametrize(("number", "code", "said"), [
    (signal.SIGKILL, 137, "killed"), (signal.SIGBUS, 74, "(SIGBUS)"),
    (signal.SIGSEGV, 1, "crashed (SIGSEGV)"), (signal.SIGABRT, 1, "crashed (SIGABRT)")])
def test_the_death_of_the_computation_is_one_line_and_leaves_nothing(number: int, code: int, said: str) -> None:
    at = 'STATUS.post(doing="eigensolve, 3 of 9")'
    child = started(program(f"from mlcli.process.shared_status import STATUS; {at}; os.kill(os.getpid(), {number})"))
    returned, line = ended(child)
    assert (returned, line.count(b"\n")) == (code, 1), line
    assert said in line.decode() and " eigensolve, 3 of 9; " in line.decode()
    assert list(Path().iterdir()) == [Path("data.csv")]


def test_a_reader_that_crashes_is_the_inputs_fault() -> None:
    assert supervisor.died_of(signal.SIGSEGV, "read, 3 of 9", 1.0, kept=False).exit_code == 65
    assert "40" in supervisor.died_of(40, "", 1.0, kept=False).what


def test_a_kill_is_told_with_what_the_kernel_counts(wording: Wording) -> None:
    """A kill by hand leaves the count of kills for memory as it was, which is evidence."""
    child = started(program("os.kill(os.getpid(), 9)"))
    code, said = ended(child)
    if supervisor.kills_for_memory() is not None:
        assert code == 137 and b"E-KILLED" in said
    killed = [supervisor.died_of(9, "", 44.0, kept=False, kills=kills) for kills in (None, 0, 2)]
    assert [error.exit_code for error in killed] == [137] * 3
    assert [*map(wording, killed)] == [["E-KILLED"], ["E-KILLED"], ["E-KILLED"]] and " 2 " in killed[2].where


def test_no_process_outlives_the_supervisor() -> None:
    """Neither the one that computes nor those that it has started."""
    child = started(program("print(os.getpid(), os.posix_spawn('/bin/sleep', ['sleep', '60'], {}), file=sys.stderr); "
                            "time.sleep(60)"))
    assert child.stderr
    worker, grandchild = map(int, child.stderr.readline().split())
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert gone(worker)
    os.kill(grandchild, signal.SIGKILL)  # nobody is left to end it
    child.stderr.close()


def test_what_a_dead_computation_had_started_ends_with_it() -> None:
    child = started(program("print(os.posix_spawn('/bin/sleep', ['sleep', '60'], {}), file=sys.stderr, flush=True); "
                            "os.kill(os.getpid(), 9)"))
    assert child.stderr
    grandchild = int(child.stderr.readline())
    assert ended(child)[0] == 137 and gone(grandchild)


def gone(process: int) -> bool:
    """Whether a process has ended, which may take a moment."""
    for _ in range(100):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_the_supervisor_imports_nothing_heavy() -> None:
    """Some milliseconds: typing, which the errors need, and ctypes take most of them."""
    loaded = set(python("import sys; before = set(sys.modules); import mlcli.cli.supervisor; "
                        "print(*(set(sys.modules) - before))").split())
    ours = {name for name in loaded if name.startswith("mlcli")}
    assert ours == {"mlcli", "mlcli.errors", "mlcli.process", "mlcli.process.shared_status", "mlcli.process.signals",
                    "mlcli.process.unfinished", "mlcli.cli", "mlcli.cli.supervisor"}
    assert not loaded & {"numpy", "scipy", "typer", "pydantic", "rich", "yaml", "json", "importlib.metadata"}


@pytest.mark.medium
@pytest.mark.skipif(not sparse_factors.available(), reason="needs METIS")
@pytest.mark.parametrize("delay", [0.5, 1.0])
def test_metis_does_not_swallow_a_signal(delay: float) -> None:
    """While it orders a graph it puts handlers of its own in the place of those of SIGTERM."""
    side = 300
    points = np.arange(side * side).reshape(side, side)
    down, across = [points[:-1].ravel(), points[1:].ravel()], [points[:, :-1].ravel(), points[:, 1:].ravel()]
    sources, targets = np.concatenate([down, across, down[::-1], across[::-1]], axis=1)
    np.save("targets.npy", targets[np.argsort(sources, kind="stable")])
    np.save("starts.npy", np.concatenate([[0], np.cumsum(np.bincount(sources))]))
    order = ("import numpy as np; from mlcli.core.sparse_factors import nested_dissection; "
             "[nested_dissection(np.load('starts.npy'), np.load('targets.npy')) for _ in range(1000)]")
    child = started(program(order, grace=2.0))
    time.sleep(delay)
    child.send_signal(signal.SIGTERM)
    assert ended(child) == (143, b"mlcli: error[E-STOPPED]: stopped by SIGTERM\n")


@pytest.mark.parametrize("module", ["mlcli.errors", "typer", "mlcli.cli.program"])
def test_an_interrupt_while_the_program_is_imported_shows_no_traceback(module: str) -> None:
    command = [sys.executable, "-P", "-X", "importtime", "-m", "mlcli", "embed", "-", "-o", "out"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=neutral()) as child:
        assert child.stderr
        while not re.search(rf"\| +{module}$", child.stderr.readline().decode()):
            pass
        child.send_signal(signal.SIGINT)
        said = child.stderr.read().decode()
    assert child.returncode == 130 and "Traceback" not in said


def test_an_ignored_signal_stays_ignored() -> None:
    code = ("import atexit, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.argv = ['mlcli', '-V']\n"
            "from mlcli.__main__ import main\n"
            "atexit.register(lambda: print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN))\n"
            "main()")
    assert python(code).splitlines() == ["mlcli 0.1.0", "True"]


@pytest.mark.medium
def test_urgent_data_stop_nothing() -> None:
    """SIGURG wakes the main thread; from elsewhere it means nothing."""
    child = process("embed", "-", "-o", "-", "--progress", "json", stdin=subprocess.PIPE)
    assert child.stderr and child.stderr.readline()
    child.send_signal(signal.SIGURG)
    assert child.communicate(Path("data.csv").read_bytes(), timeout=30)[0].startswith(b"id,y1,")
    assert child.returncode == 0


LINGERING = """
import atexit, sys, time
import mlcli.cli.program
from mlcli.__main__ import main

def last():
    print("done", file=sys.stderr, flush=True)
    time.sleep(20)

dispatch = mlcli.cli.program.dispatch
mlcli.cli.program.dispatch = lambda arguments: (dispatch(arguments), atexit.register(last))
sys.argv = ["mlcli", "sample", "torus", "--rows", "10", "-o", "torus.csv"]
main()
"""


@pytest.mark.medium
def test_a_program_that_has_done_its_work_keeps_its_exit_code(tmp_path: Path) -> None:
    """A signal that comes while the interpreter ends neither undoes what was written nor calls it stopped."""
    child = subprocess.Popen([sys.executable, "-P", "-c", LINGERING], stderr=subprocess.PIPE, env=neutral(),
                             cwd=tmp_path)
    assert child.stderr
    while b"done" not in (line := child.stderr.readline()):
        assert line
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=10) == 0
    child.communicate()
    assert (tmp_path / "torus.csv").exists()


@pytest.mark.parametrize(("saved", "end", "offers", "waits"), [
    (0, math.inf, True, 1.5), (20, math.inf, True, 20), (500, math.inf, True, 60), (500, 12, True, 12),
    (500, math.inf, False, 1.5), (500, 1, False, 1)])
def test_a_stop_waits_no_longer_than_what_it_would_lose(
        saved: float, end: float, offers: bool, waits: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor beyond the end of the job, nor where no loop offers: one that was just kept is at hand."""
    watching, asked = supervisor.Supervisor(0), list[int]()
    now = time.monotonic()
    watching.begun, watching.job_end = now, end
    monkeypatch.setattr(supervisor, "STATUS", SimpleNamespace(
        read_all=lambda: iter([{"claim": "x", "saved": now - saved, "offers": offers}]), ask=asked.append))
    monkeypatch.setattr(supervisor.os, "kill", lambda *_: None)
    watching.stop(signal.SIGUSR1)
    assert asked == [signal.SIGUSR1] and abs(watching.end - now - waits) < 0.4


@pytest.mark.parametrize(("job", "limit", "works"), [(9, None, 5.0), (30, None, 16.8), (65, None, 41.2),
                                                     (3600, None, 3529), (None, 9, 6.7), (None, 3600, 3539)])
def test_three_quarters_of_a_short_limit_can_be_used(job: int | None, limit: float | None, works: float,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that stands still: a run goes on for so many seconds, and is asked to end within one more.

    A minute is left to a checkpoint, and of a job ten seconds to the scheduler; a quarter where less than four times
    as much is left.
    """
    clock, asked = SimpleNamespace(time=lambda: 1e9, monotonic=lambda: 0.0), list[int]()
    facts = [] if limit is None else [{"limit": limit}]
    monkeypatch.setattr(supervisor, "time", clock)
    monkeypatch.setattr(supervisor, "STATUS", SimpleNamespace(read_all=lambda: iter(facts), ask=asked.append))
    monkeypatch.setattr(supervisor.os, "kill", lambda *_: None)
    monkeypatch.setenv(supervisor.JOB_END, "" if job is None else str(10**9 + job))
    watching = supervisor.Supervisor(0)
    for now, stops in ((works, []), (works + 1, [signals.TIME_UP])):
        clock.monotonic = lambda now=now: now
        watching.tick()
        assert asked == stops


@pytest.mark.medium
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_has_one_wording_from_the_start(tmp_path: Path, number: signal.Signals) -> None:
    """Before the program has loaded what says so, the supervisor does."""
    code = ("import sys, time\nfrom mlcli.cli.supervisor import supervise\nimport signal\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])\nsupervise()\n"
            "print('begun', file=sys.stderr, flush=True)\ntime.sleep(60)")
    child = started(code, cwd=tmp_path)
    child.send_signal(number)
    error = stop_error(number, kept=False)
    assert ended(child) == (128 + number, f"mlcli: error[{error.code}]: {error}\n".encode())
