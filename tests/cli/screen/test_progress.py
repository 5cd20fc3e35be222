"""Progress is a bar on a terminal, lines in a log, JSON for programs, and nothing when quiet."""

import contextlib
import json
import os
import pty
import re
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from mlcli.base.stages import stage
from mlcli.base.types import Array
from mlcli.cli.screen import progress
from mlcli.cli.screen.progress import Events, Log, ProgressBar, Silent, shown_as, watching
from mlcli.core.iterate import Iterate, follow_schedule
from mlcli.core.minimize import Minimize, Point
from tests.processes import forked, neutral


def work() -> None:
    """A stage with a part."""
    with stage.running("eigensolve"), stage.part("pass 1"):
        stage.advance(1, 2)
        stage.advance(2, 2)
        stage.note("W-TEST", "look\nout", row=3)


def test_json_lines_tell_everything(capsys: pytest.CaptureFixture[str]) -> None:
    with watching("json", quiet=False):
        work()
    out, err = capsys.readouterr()
    events = [json.loads(line) for line in err.splitlines()]
    assert out == ""
    assert [(event["event"], event.get("stage")) for event in events] == [
        ("begin", "eigensolve"), ("advance", "eigensolve"), ("advance", "eigensolve"), ("note", None),
        ("end", "eigensolve"), ("done", None)]
    assert (events[2]["part"], events[2]["done"], events[2]["total"]) == ("pass 1", 2, 2)
    assert (events[3]["code"], events[3]["facts"]) == ("W-TEST", {"row": 3})


def test_json_lines_of_a_fast_stage_are_thinned(capsys: pytest.CaptureFixture[str]) -> None:
    with watching("json", quiet=False), stage.running("paths"):
        for done in range(1, 1001):
            stage.advance(done, 1000)
    assert 2 <= capsys.readouterr().err.count('"advance"') < 200


@pytest.mark.parametrize(("mode", "quiet"), [("none", False), ("auto", True), ("json", True), ("log", True)])
def test_nothing_is_shown(capsys: pytest.CaptureFixture[str], mode: progress.Mode, quiet: bool) -> None:
    with watching(mode, quiet, tell=True):
        work() if quiet else None
    assert capsys.readouterr() == ("", "")


def test_a_log_has_a_line_a_beat(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(seconds=0.05)
    log.start()
    with stage.listening(log), stage.running("paths"):
        stage.advance(120, 698)
        time.sleep(0.25)
    log.stop()
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 6
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d mlcli: paths 120/698, 0 s, \d+ MiB", lines[-1])


def test_a_log_and_events_tell_the_time_left_at_the_pace_so_far(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    monkeypatch.setattr("mlcli.cli.screen.progress.time.monotonic", lambda: now[0])
    log, events = Log(), Events()
    for shown in (log, events):
        with stage.listening(shown), stage.running("paths"), stage.part("pass 1"):
            for done in (10, 40):
                stage.advance(done, 100)
                now[0] += 15.0
            stage.advance(41, 100)
            if shown is log:  # 31 in 30 s, so 59 more
                assert "paths, pass 1 41/100, about 57 s left of it, " in log.line()
        now[0] += 15.0
        with stage.listening(shown), stage.running("paths"), stage.part("pass 1"):  # begun anew
            stage.advance(5, 100)
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    left = [event["left"] for event in told if event["event"] == "advance"]
    assert left[:3] == [None, pytest.approx(15 * 60 / 30), pytest.approx(30 * 59 / 31, abs=0.1)] and left[3] is None


def test_an_iteration_that_may_converge_has_at_most_the_time_to_its_limit_left(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Minimizations and fixed points alike; a schedule has as many steps as it says."""
    now = [100.0]
    monkeypatch.setattr("mlcli.cli.screen.progress.time.monotonic", lambda: now[0])

    def bowl(values: Array) -> tuple[float, Array]:
        now[0] += 1.0
        return float((values**4).sum()), 4 * values**3

    def half(state: Point) -> Point:
        now[0] += 1.0
        return Point(state.values / 2, state.objective / 2)

    def ends(run: Callable[[], object]) -> tuple[str, set[bool]]:
        """What a log says at the end of the stage, and what all events say of their totals."""
        log, events, seen = Log(), Events(), list[str]()
        monkeypatch.setattr(log, "end", lambda name: seen.append(log.line()))
        with stage.listening(log), stage.listening(events):
            run()
        said = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        return seen[-1], {event["at_most"] for event in said if event["event"] == "advance"}

    start = np.array([3.0, 4.0])
    for run in (lambda: Minimize(limit=500)(bowl, start), lambda: Iterate(limit=500)(half, Point(start, 5.0))):
        line, at_most = ends(run)
        assert re.search(r"iterate \d+/500, at most [^,]+ left of it, ", line) and at_most == {True}
    line, at_most = ends(lambda: follow_schedule(lambda state, _: half(state), Point(start, 5.0), 9))
    assert "iterate 9/9, about 0 s left of it" in line and at_most == {False}


def test_how_a_part_stands_does_not_make_it_another_part(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("mlcli.cli.screen.progress.time.monotonic", lambda: now[0])
    log = Log()
    with stage.listening(log), stage.running("training"):
        for done in (1, 2):
            with stage.part(f"epoch, objective {1 / done}"):
                stage.advance(done, 5)
            now[0] += 10.0
        assert "training, epoch, objective 0.5 2/5, about 30 s left of it, " in log.line()


def test_a_log_names_the_stage_and_the_part_that_has_come_further() -> None:
    log = Log()
    with stage.listening(log), stage.running("eigensolve"):
        assert "mlcli: eigensolve, " in log.line()
        with stage.running("kernel"):
            stage.advance(1, 2)
        assert "mlcli: eigensolve, kernel 1/2, " in log.line()
    assert "mlcli: starting, " in log.line()


def test_a_short_run_leaves_no_line_and_no_thread(capsys: pytest.CaptureFixture[str]) -> None:
    with watching("log", quiet=False):
        work()
    assert capsys.readouterr() == ("", "")
    time.sleep(0.05)
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_notes_are_told_at_the_end_once(capsys: pytest.CaptureFixture[str]) -> None:
    with watching("none", quiet=False, tell=True):
        work()
        work()
    assert capsys.readouterr().err == "warning[W-TEST]: look\\nout\n"


def test_a_bar_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(shown_as("auto", False), Log)
    assert isinstance(shown_as("bar", False), Log)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(shown_as("auto", False), ProgressBar)
    assert isinstance(shown_as("log", False), Log)
    assert isinstance(shown_as("json", False), Events)
    assert isinstance(shown_as("auto", True), Silent)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(shown_as("auto", False), Log)
    monkeypatch.setattr("sys.stderr", None)
    assert isinstance(shown_as("auto", False), Log)


def test_a_bar_says_starting_until_it_knows_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    bar = ProgressBar()

    def shown() -> str:
        with bar.progress.console.capture() as captured:
            bar.progress.console.print(bar.progress.get_renderable())
        return captured.get()

    bar.begin("starting")
    assert shown().count("starting") == 1 and "?" not in shown()
    bar.begin("paths")
    assert "starting" in shown() and "left" not in shown() and "?" not in shown()
    bar.advance("paths", "", 1, 100)
    assert "starting" in shown() and "left" not in shown()
    monkeypatch.setattr(bar.progress, "get_time", lambda: time.monotonic() + 30)
    bar.advance("paths", "", 50, 100)
    bar.advance("paths", "", 60, 100)
    assert re.search(r"left 0:0\d:\d\d", shown())
    bar.end("paths")
    bar.begin("iterate")
    for seconds, done in ((60, 1), (90, 50), (91, 60)):
        monkeypatch.setattr(bar.progress, "get_time", lambda seconds=seconds: time.monotonic() + seconds)
        bar.advance("iterate", "", done, stage.Limit(100))
    assert re.search(r"left at most 0:0\d:\d\d", shown())


def read_all(descriptor: int) -> str:
    """What a terminal has received, until its other side is closed."""
    received = b""
    with contextlib.suppress(OSError):  # what Linux gives at the end
        while part := os.read(descriptor, 4096):
            received += part
    os.close(descriptor)
    return received.decode()


@pytest.mark.medium
@pytest.mark.parametrize(("environment", "colored"), [
    ({}, True), pytest.param({"NO_COLOR": "1"}, False, marks=pytest.mark.slow)])
def test_a_bar_on_a_terminal_is_gone_at_the_end(environment: dict[str, str], colored: bool) -> None:
    """What a terminal receives: cursor codes while the bar is there, then the plain summary."""
    ours, theirs = pty.openpty()
    child = forked("embed", "data.csv", stderr=theirs, env=neutral(TERM="xterm-256color", **environment))
    os.close(theirs)
    text = read_all(ours)
    child.communicate()
    assert child.returncode == 0
    assert "\x1b[?25l" in text and "\x1b[?25h" in text  # cursor hidden and shown again
    assert bool(re.search(r"\x1b\[(?!0m)[0-9;]*m", text)) is colored
    assert text.rstrip().rpartition("open ")[2].count("runs/data-pca/report.html") == (2 if colored else 1)


def test_a_failure_is_not_called_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError), watching("json", quiet=False):
        work()
        raise KeyError
    events = [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()]
    assert events[-1] == "failed" and "done" not in events


def test_progress_outside_every_stage_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    with watching("json", quiet=False):
        stage.advance(1, 1)
        stage.note("N-X", "far", gap=float("inf"))
    events = [json.loads(line, parse_constant=pytest.fail) for line in capsys.readouterr().err.splitlines()]
    assert [event["event"] for event in events] == ["note", "done"]
    assert events[0]["facts"] == {"gap": None}
