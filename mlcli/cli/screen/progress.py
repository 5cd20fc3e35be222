"""Progress of a run: a bar on a terminal, lines in a log, JSON for programs, the running stage for the supervisor."""

import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, get_args

from mlcli.base.allocators import resident_memory
from mlcli.base.context import context
from mlcli.base.stages.stage import Limit, Listener, Note, Watcher, listening, note
from mlcli.base.units import duration
from mlcli.cli.line.behavior import Mode
from mlcli.cli.screen.failure import say
from mlcli.errors import MlcliError, UsageError, escaped, spell
from mlcli.process.shared_status import STATUS
from mlcli.rundir.journal import recording
from mlcli.rundir.json_values import json_value

VARIABLE = "MLCLI_PROGRESS"
STARTING = "starting"  # what is shown before the first stage
HEARTBEAT = 30.0  # seconds between two lines of a log
FASTEST = 0.1  # seconds between two JSON lines of one stage


class Shown(Listener, Protocol):
    """A listener that is shown between two moments."""

    def start(self) -> None: ...
    def stop(self, failed: bool = False) -> None: ...

    def without_thread(self) -> AbstractContextManager[None]:
        """Have no thread in a `with` block, in which a process may be forked."""
        return nullcontext()


@dataclass(repr=False, eq=False)
class Pace:
    """An estimate of the remaining time of stages, by their speed so far."""

    begun: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)  # when first reported, and how far

    def remaining(self, stage: str, part: str, done: int, total: int) -> float | None:
        """Estimate the seconds until `total`; None before there is a rate."""
        now = time.monotonic()
        work = stage, part.partition(",")[0]
        started, before = self.begun.setdefault(work, (now, done))
        if done < before:  # the same stage again
            self.begun[work] = (now, done)
            return None
        return (now - started) * (total - done) / (done - before) if done > before and now > started else None


class Silent(Watcher, Shown):
    """Shows nothing."""

    def start(self) -> None: ...
    def stop(self, failed: bool = False) -> None: ...


class ProgressBar(Watcher, Shown):
    """A bar for the running stage, gone when the run ends."""

    def __init__(self) -> None:
        from rich import progress
        from rich.console import Console
        from rich.text import Text

        class Left(progress.TimeRemainingColumn):
            """The time left once there is a rate; before, nothing that could be read as one."""

            def render(self, task: progress.Task) -> Text:
                known = task.total is not None and task.time_remaining is not None
                said = "" if task.description == STARTING else STARTING
                most = "at most " if isinstance(task.total, Limit) else ""
                return Text(f"left {most}").append_text(super().render(task)) if known else Text(said)

        class Counted(progress.MofNCompleteColumn):
            """How far a stage is, of one that has said how long it is."""

            def render(self, task: progress.Task) -> Text:
                return Text() if task.total is None else super().render(task)

        columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), Counted(),
                   progress.TimeElapsedColumn(), Left())
        self.progress = progress.Progress(*columns, console=Console(stderr=True), transient=True)
        self.tasks: dict[str, Any] = {}

    def start(self) -> None:
        """Takes hold of the terminal, with a bar until the first stage: libraries load meanwhile."""
        self.begin(STARTING)
        self.progress.start()

    def stop(self, failed: bool = False) -> None:
        """Gives the terminal back."""
        self.progress.stop()

    @contextmanager
    def without_thread(self) -> Iterator[None]:
        """Take the bar away in a `with` block, and the thread that draws it."""
        self.progress.stop()
        try:
            yield
        finally:
            self.progress.start()

    def begin(self, name: str) -> None:
        """Adds a bar."""
        self.end(STARTING)
        self.tasks[name] = self.progress.add_task(name, total=None)

    def end(self, name: str) -> None:
        """Removes a bar."""
        if name in self.tasks:
            self.progress.remove_task(self.tasks.pop(name))

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        """Moves a bar."""
        if name in self.tasks:
            self.progress.update(self.tasks[name], description=titled(name, part), completed=done, total=total)


@dataclass(repr=False, eq=False)
class Log(Watcher, Shown):
    """A line of text every half minute: the stage, how far it is, the time and the memory."""

    seconds: float = HEARTBEAT
    started: float = field(default_factory=time.monotonic)
    running: str = ""  # the stage, the part of it, and how far it is
    pace: Pace = field(default_factory=Pace)
    over: threading.Event = field(default_factory=threading.Event)
    ticker: threading.Thread | None = None

    def start(self) -> None:
        """Starts the ticker."""
        self.ticker = threading.Thread(target=self.tick, name="progress", daemon=True)
        self.ticker.start()

    def stop(self, failed: bool = False) -> None:
        """Stops the ticker."""
        self.over.set()

    @contextmanager
    def without_thread(self) -> Iterator[None]:
        """Pause the ticker in a `with` block."""
        self.stop()
        if self.ticker is not None:
            self.ticker.join()
        try:
            yield
        finally:
            self.over.clear()
            self.start()

    def tick(self) -> None:
        """Writes a line at each beat until the run is over."""
        while not self.over.wait(self.seconds):
            say(self.line())

    def line(self) -> str:
        """The state of the run in one line."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S")
        stage, seconds = self.running or STARTING, time.monotonic() - self.started
        return f"{now} mlcli: {stage}, {seconds:.0f} s, {resident_memory() / 2**20:.0f} MiB"

    def begin(self, name: str) -> None:
        """A stage starts."""
        self.running = name

    def end(self, name: str) -> None:
        """A stage is over."""
        self.running = ""

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        """A stage has come further."""
        left = self.pace.remaining(name, part, done, total)
        how = "at most" if isinstance(total, Limit) else "about"
        ahead = "" if left is None else f", {how} {duration(left)} left of it"
        self.running = f"{titled(name, part)} {done}/{total}{ahead}"


@dataclass(repr=False, eq=False)
class Events(Watcher, Shown):
    """A JSON line for everything that happens."""

    started: float = field(default_factory=time.monotonic)
    last: dict[tuple[str, str], float] = field(default_factory=dict)  # when a stage last said how far it is
    pace: Pace = field(default_factory=Pace)

    def start(self) -> None: ...

    def stop(self, failed: bool = False) -> None:
        """Nothing more will come."""
        self.emit("failed" if failed else "done")

    def emit(self, event: str, **facts: Any) -> None:
        """Writes one line."""
        seconds = round(time.monotonic() - self.started, 3)
        say(json.dumps(json_value({"event": event, "seconds": seconds, **facts}), allow_nan=False))

    def begin(self, name: str) -> None:
        """A stage starts."""
        self.emit("begin", stage=name)

    def end(self, name: str) -> None:
        """A stage is over."""
        self.emit("end", stage=name)

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        """A stage has come further; reported at most ten times a second, and at its end."""
        now, work = time.monotonic(), (name, part.partition(",")[0])
        if name and (done >= total or now - self.last.get(work, 0.0) >= FASTEST):
            self.last[work] = now
            left = self.pace.remaining(name, part, done, total)
            self.emit("advance", stage=name, part=part or None, done=done, total=int(total),
                      at_most=isinstance(total, Limit), left=None if left is None else round(left, 1))

    def note(self, note: Note) -> None:
        """A warning or a fact."""
        self.emit("note", code=note.code, message=spell(note.message, context().spelling), facts=note.facts)


def mode_of(asked: Mode | None) -> Mode:
    """The way asked for, else the environment's, else `auto`; raises UsageError."""
    name = asked or os.environ.get(VARIABLE) or "auto"
    for mode in get_args(Mode):
        if mode == name:
            return cast(Mode, mode)
    raise UsageError("PROGRESS", f"{name[:40]!r} is not a progress mode", where=VARIABLE,
                     hint=f"use {', '.join(get_args(Mode))}")


@contextmanager
def watching(mode: Mode, quiet: bool, *, tell: bool = False) -> Iterator[None]:
    """Shows the progress of what runs inside the block, and with `tell` its warnings and notes at the end."""
    shown = shown_as(mode, quiet)
    shown.start()
    try:
        with listening(shown), recording() as journal:
            yield
    except BaseException:
        shown.stop(failed=True)
        raise
    shown.stop()
    if tell and not quiet and mode != "json":
        for item in (*journal.noted("W-"), *journal.noted("N-")):
            say(line_of(item["code"], item["message"]))


def warn(errors: Iterable[MlcliError]) -> None:
    """Warn of what other packages add and this program cannot use, which stops nothing."""
    with watching("none", quiet=False, tell=True):
        for error in errors:
            note("W-PLUGIN", f"left out: {error}")


def titled(stage: str, part: str) -> str:
    """A stage, and the part of it that is running."""
    return f"{stage}, {part}" if part else stage


def line_of(code: str, message: str) -> str:
    """A warning or a fact as one line."""
    return escaped(f"{'warning' if code.startswith('W') else 'note'}[{code}]: {message}")


def shown_as(mode: Mode, quiet: bool) -> Shown:
    """Return the display of progress for a mode; a bar needs a terminal."""
    if quiet or mode == "none":
        return Silent()
    if mode == "json":
        return Events()
    return ProgressBar() if mode != "log" and on_terminal() else Log()


def on_terminal() -> bool:
    """Whether standard error is a terminal that can move its cursor."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "")


class StageReporter(Watcher):
    """Posts the running stage."""

    def __init__(self) -> None:
        self.posted = 0.0

    def begin(self, name: str) -> None:
        """A stage starts."""
        STATUS.post(doing=name)

    def end(self, name: str) -> None:
        """A stage is over."""
        STATUS.post(doing=f"after {name}")

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        """A stage has come further."""
        now = time.monotonic()
        if now - self.posted >= FASTEST:
            self.posted = now
            STATUS.post(doing=", ".join(filter(None, (name, part, f"{done} of {total}"))))
