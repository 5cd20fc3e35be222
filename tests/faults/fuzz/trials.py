"""The program called in this process on damaged files, and how it may end."""

import contextlib
import io
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mlcli.cli.program import run

MEMORY = 2 << 30  # bytes
SECONDS = 20.0
BLAMED = {65, 78}  # of what a user gives; a run's own files are 83
DOES_NOT_FIT = 0, 82, "plan"  # a plan that says so in its lines
OWN = "mlcli: ", "warning[", "note[", "wrote ", "  "  # begin the program's own lines
INTERNAL, MISUSED = 1, {2, 137}  # a bug, and codes that no damaged file may end with


@dataclass(frozen=True)
class Trial:
    """How a call ended."""

    arguments: tuple[str, ...]
    code: int
    err: str
    seconds: float

    @property
    def fault(self) -> str:
        """What is wrong with the way it ended, or nothing."""
        errors = self.err.count("mlcli: error[E-")
        if self.code == INTERNAL or self.code in MISUSED:
            return f"exit {self.code}"
        if self.arguments[0] == "verify" and self.code in BLAMED:
            return f"exit {self.code}, as if the input or the command line were at fault"
        if self.seconds > SECONDS:
            return f"{self.seconds:.1f} s"
        if errors != (self.code != 0) and (errors, self.code, self.arguments[0]) != DOES_NOT_FIT:
            return f"exit {self.code} and {errors} errors"
        return "another line" if any(not line.startswith(OWN) for line in self.err.splitlines()) else ""


def tried(*arguments: str) -> Trial:
    """Calls the program, and measures the processor's time; a call that waits or does not end is ended."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    start = time.process_time()
    with ended_after(int(3 * SECONDS)), warnings.catch_warnings(), contextlib.redirect_stdout(out), \
            contextlib.redirect_stderr(err):
        warnings.simplefilter("error")
        try:
            code = run(list(arguments))
        except TimeoutError:
            code = INTERNAL
    return Trial(arguments, code, err.getvalue(), time.process_time() - start)


def faults_of(told: str, calls: Iterable[tuple[str, ...]]) -> list[str]:
    """What goes wrong in calls on one damage, in words to repeat it by."""
    trials = [tried(*arguments) for arguments in calls]
    return [f"{told}: {trial.arguments[0]}: {trial.fault}: {trial.err[:300]}" for trial in trials if trial.fault]


def changed(content: Callable[[], bytes]) -> bytes | None:
    """A damaged content; None where a change cannot be made, as not every one can be of every array."""
    try:
        return content()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


@contextlib.contextmanager
def ended_after(seconds: int) -> Iterator[None]:
    """Raises TimeoutError in a block that takes longer."""
    def end(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def peak() -> int:
    """Bytes that this process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def commands(directory: Path, file: str) -> list[tuple[str, ...]]:
    """The calls that read a file of a run."""
    run, rows = str(directory), str(directory / "new.csv")
    if file == "config.yaml":
        return [("verify", run), ("report", run, "-q"), ("plan", str(directory / file))]
    looked = [("verify", run), ("report", run, "-q"), ("compare", run, run, "-q")]
    if file.startswith(("model", "embedding")):
        looked.append(("route", run, "1", "2", "-q"))
    if file.startswith("model") or file == "run.json":
        looked += [("verify", run, "--input", "absent"), ("project", run, rows, "-q"), ("reconstruct", run, rows, "-q")]
    return looked
