"""Signals, against real processes."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mlcli.errors import STOPPING
from mlcli.stages.algebra import ordering
from tests.cli.support import process
from tests.processes import neutral, python

ABSENT = "import sys; sys.modules['mlcli.base._watchdog'] = None\n"  # as in a build without a compiler
BUSY = "sum(range(10**12))"  # holds the interpreter's lock, as LAPACK does under SciPy
DEAF = """
        while True:
            try: time.sleep(60)
            except BaseException: pass
"""
PROGRAM = """
import sys, time
import mlcli.cli.program
from pathlib import Path
from mlcli.__main__ import main
from mlcli.base import watchdog
from mlcli.base.unfinished import unfinished

def work(arguments):
    draft = Path("draft")
    draft.mkdir()
    with unfinished(draft, draft.stat().st_ino):
        (draft / "embedding.csv").touch()
        print("begun", file=sys.stderr)
        {busy}

watchdog.GRACE = {grace}
mlcli.cli.program.dispatch = work
sys.argv = ["mlcli"]
main()
"""


def started(code: str) -> subprocess.Popen[bytes]:
    """A program that has said that it began."""
    child = subprocess.Popen([sys.executable, "-P", "-c", code], stderr=subprocess.PIPE, env=neutral())
    assert child.stderr and child.stderr.readline() == b"begun\n"
    return child


def ended(child: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """The exit code of a program and the rest of what it said."""
    said = child.communicate(timeout=30)[1]
    return child.returncode, said


@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_ends_the_run_without_an_output(number: signal.Signals) -> None:
    child = process("embed", "-", "-o", "out", "--progress", "json", stdin=subprocess.PIPE)
    assert child.stderr and child.stdin
    assert json.loads(child.stderr.readline())["event"] == "begin"  # now it waits for data
    child.send_signal(number)
    rest = child.stderr.read().decode().splitlines()
    assert child.wait(timeout=20) == 128 + number
    child.stdin.close()
    child.stderr.close()
    if child.stdout:
        child.stdout.close()
    assert json.loads(rest[-1])["error"] == {
        "code": "E-STOPPED", "exit": 128 + number, "what": f"stopped by {number.name}", "where": "", "hint": ""}
    assert list(Path().iterdir()) == [Path("data.csv")]


@pytest.mark.parametrize("code", [PROGRAM.format(busy=BUSY, grace=0.5), ABSENT + PROGRAM.format(busy=DEAF, grace=0.5)],
                         ids=["compiled", "python"])
def test_the_watchdog_ends_what_does_not_end_itself_and_leaves_nothing(code: str) -> None:
    child = started(code)
    child.send_signal(signal.SIGTERM)
    assert ended(child) == (143, b"mlcli: error[E-STOPPED]: stopped by SIGTERM\n")
    assert list(Path().iterdir()) == [Path("data.csv")]


@pytest.mark.parametrize("code", [PROGRAM.format(busy=BUSY, grace=600), ABSENT + PROGRAM.format(busy=DEAF, grace=600)],
                         ids=["compiled", "python"])
def test_a_second_signal_ends_the_program_at_once(code: str) -> None:
    child = started(code)
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    child.send_signal(signal.SIGTERM)
    assert ended(child) == (130, b"mlcli: error[E-STOPPED]: stopped by SIGINT\n")
    assert list(Path().iterdir()) == [Path("data.csv")]


@pytest.mark.skipif(not ordering.available(), reason="needs METIS")
@pytest.mark.parametrize("delay", [0.5, 1.0])
def test_metis_does_not_swallow_a_signal(delay: float) -> None:
    """While it orders a graph it puts handlers of its own in the place of those of SIGTERM."""
    side = 300
    points = np.arange(side * side).reshape(side, side)
    down, across = [points[:-1].ravel(), points[1:].ravel()], [points[:, :-1].ravel(), points[:, 1:].ravel()]
    sources, targets = np.concatenate([down, across, down[::-1], across[::-1]], axis=1)
    np.save("targets.npy", targets[np.argsort(sources, kind="stable")])
    np.save("starts.npy", np.concatenate([[0], np.cumsum(np.bincount(sources))]))
    order = ("import numpy as np; from mlcli.stages.algebra.ordering import nested_dissection; "
             "[nested_dissection(np.load('starts.npy'), np.load('targets.npy')) for _ in range(1000)]")
    child = started(PROGRAM.format(busy=order, grace=2.0))
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
    code = ("import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.argv = ['mlcli', '--version']\n"
            "from mlcli.__main__ import main\n"
            "try: main()\n"
            "finally: print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)")
    assert python(code).splitlines() == ["mlcli 0.1.0", "True"]


def test_urgent_data_stop_nothing() -> None:
    """SIGURG wakes the main thread; from elsewhere it means nothing."""
    child = process("embed", "-", "-o", "-", "--progress", "json", stdin=subprocess.PIPE)
    assert child.stderr and child.stderr.readline()
    child.send_signal(signal.SIGURG)
    assert child.communicate(Path("data.csv").read_bytes(), timeout=30)[0].startswith(b"id,y1,")
    assert child.returncode == 0
