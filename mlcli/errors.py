"""The error tree: one branch per exit code, caught in one place (`mlcli.cli`).

    MlcliError                1   internal, always a bug
    ├── UsageError            2   the command line is wrong
    ├── DataError            65   the input's content is wrong
    ├── InputMissing         66   the input is missing or unreadable
    ├── DependencyMissing    69   a package or service is missing or too old
    ├── OutputRefused        73   the output cannot be created, or exists
    ├── StorageError         74   reading or writing failed underneath
    ├── TryAgain             75   the same command can succeed later: locked, or stopped with a checkpoint
    ├── ConfigError          78   an option has a wrong name or value
    ├── NumericalError       80   a computation failed or did not converge
    ├── GeometryError        81   the data has no such geometry (pieces, rank)
    ├── RefusedByPlan        82   memory or threads are over the limit
    ├── UnsafeFile           83   a model or data file that must not be trusted
    ├── TimeUp              124   the time limit ended a run before its first checkpoint
    ├── OutOfMemory         137   memory ran out all the same
    ├── HungUp              129   SIGHUP ended the run: the terminal was closed
    ├── Interrupted         130   SIGINT (Ctrl-C) ended the run
    ├── Quit                131   SIGQUIT (Ctrl-\\) ended the run
    ├── SecondUserSignal    140   SIGUSR2 ended the run
    ├── AlarmRang           142   SIGALRM ended the run
    ├── Terminated          143   SIGTERM ended the run
    └── ProcessorTimeUp     152   SIGXCPU ended the run

Every error says what was found, where (file, row, column, config path), and what to do. A row is counted among those
that were looked at; whoever knows where these come from counts again (`changed`).
Its code (`E-...`) is stable and is listed with its remedy in `docs/errors.md`.
"""

import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Self
from urllib.parse import unquote

CREDENTIALS = re.compile(r"(?<=://)(?:[^\s/'\"]+|[^\s/:'\"]+:[^\s'\"]+)@")  # user and password of an address
PARTS = ("where", "hint", "kind", "row", "name", "column")  # of an error, besides its code and what was found
OPTION = re.compile(r"\{((?:input|onto|prepare|method|compute|report)\.[\w.]+)(?:=([^{}]*))?\}")  # in messages
MEANT = "did you mean "  # begins the remedy that names what was meant
Spelling = Callable[[str, str], str]  # of an option by its config path and its value, which is empty where it has none


def option(path: str, value: object = "") -> str:
    """Return the mark of an option, alone or with a value, in a message: `spell` replaces it.

    In a literal text the mark is written out, as in "bring them to one unit with {prepare.scale=standard}".
    """
    text = "".join(f"%{ord(ch):02X}" if ch in "%{}" else ch for ch in str(value))
    return f"{{{path}={text}}}" if text else f"{{{path}}}"


def options_in(text: str) -> list[tuple[str, str]]:
    """Return the options that a message names: config paths and values."""
    return [(path, unquote(value)) for path, value in OPTION.findall(text)]


def with_paths(text: str, paths: Mapping[str, str]) -> str:
    """Replace config paths in the marks of a message, where other options have the same part."""
    return spell(text, lambda path, value: option(paths.get(path, path), value))


def as_assignment(path: str, value: str) -> str:
    """Spell an option as a line of `--set`, without a command line around it."""
    return f"{path}={value}" if value else path


def spell(text: str, spelling: Spelling = as_assignment) -> str:
    """Replace the marks of options in a message."""
    return OPTION.sub(lambda mark: spelling(mark[1], unquote(mark[2] or "")), text)


def conceal(text: str) -> str:
    """Return text with user names and passwords of addresses (scheme://user:password@host) as asterisks."""
    return CREDENTIALS.sub("***@", text)


def escaped(text: str) -> str:
    r"""Return text without control characters, bidirectional marks and line breaks: they are written as \xNN or \uNNNN.
    """
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape", "surrogatepass").decode() for ch in text)


class MlcliError(Exception):
    """Something unexpected: always a bug, to be reported with the log file that the message names."""

    exit_code = 1
    place_first = False  # whether messages begin with the place, as those about a file do

    def __init__(self, code: str, what: str, *, where: str = "", hint: str = "", kind: str = "", row: int | None = None,
                 name: str = "", column: int | None = None) -> None:
        self.code, self.where, self.hint = f"E-{code}", conceal(where), conceal(hint)
        self.kind = kind  # of input that the content is, where another was expected and the hint asks for this one
        self.row, self.name = row, name  # of the row that is wrong: its place, from 0, and its id as it is shown
        self.column = column  # the place, from 0, of a column that is wrong, which tells its file
        self.found = what = conceal(what)
        self.what = what if row is None else f"row {row + 1}{name and f' ({name})'}, {what}"
        super().__init__(self.line(self.what, self.where, spell(self.hint)))

    @classmethod
    def line(cls, *parts: str) -> str:
        """Return what was found, the place and the remedy, each empty or not, as one line.

        A name that was meant instead stands next to the one that was given.
        """
        what, where, hint = parts
        if hint.startswith(MEANT):
            what, hint = f"{what}: {hint}", ""
        if cls.place_first and where:
            what, where = f"{where}: {what}", ""
        return "; ".join(part for part in (what, where, hint) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors come from other processes, too."""
        parts = {name: getattr(self, name) for name in PARTS}
        return partial(type(self), self.code.removeprefix("E-"), self.found, **parts), ()

    def spelled(self, spelling: Spelling) -> Self:
        """Return the error with the options that its hint names as `spelling` has them."""
        return self.changed(hint=spell(self.hint, spelling))

    def changed(self, **parts: Any) -> Self:
        """Return a copy of the error with another place, remedy or row, or other words for what was found (`found`)."""
        same = {name: getattr(self, name) for name in PARTS}
        found = parts.pop("found", self.found)
        return type(self)(self.code.removeprefix("E-"), found, **{**same, **parts})

    def fields(self) -> dict[str, str | int]:
        """The error as plain values."""
        return {"code": self.code, "exit": self.exit_code, "what": self.what, "where": self.where, "hint": self.hint}


class UsageError(MlcliError):
    """The command line itself is wrong."""

    exit_code = 2


class DataError(MlcliError):
    """The input was read, and its content cannot be used."""

    exit_code = 65


class InputMissing(MlcliError):
    """The input does not exist, or may not be read."""

    exit_code = 66
    place_first = True


class DependencyMissing(MlcliError):
    """A package or service that this run needs is missing or too old."""

    exit_code = 69


class OutputRefused(MlcliError):
    """The output cannot be created, or exists and is not to be replaced."""

    exit_code = 73


class StorageError(MlcliError):
    """The file system failed while reading or writing."""

    exit_code = 74


class TryAgain(MlcliError):
    """Another job makes the output, or the run was stopped and can be resumed: repeat the command later."""

    exit_code = 75


class ConfigError(MlcliError):
    """An option has an unknown name or a value that does not fit."""

    exit_code = 78


class NumericalError(MlcliError):
    """A computation failed, overflowed or did not converge."""

    exit_code = 80


class GeometryError(MlcliError):
    """The data lacks the geometry that the method needs."""

    exit_code = 81


class RefusedByPlan(MlcliError):
    """The run would need more memory, or more threads, than it may have."""

    exit_code = 82

    def spelled(self, spelling: Spelling) -> Self:
        """Return the error with the option that sets the limit as `spelling` has it, in the place too."""
        error = super().spelled(spelling)
        return error.changed(where=spelling(error.where, "")) if error.where.startswith("compute.") else error


class UnsafeFile(MlcliError):
    """A file that could run code, or whose hash or format is wrong."""

    exit_code = 83


class TimeUp(MlcliError):
    """The time limit ended a run before its first checkpoint; a longer limit can help."""

    exit_code = 124


class OutOfMemory(MlcliError):
    """Memory ran out although the prediction was below the limit."""

    exit_code = 137


class HungUp(MlcliError):
    """The terminal or the connection was closed (SIGHUP); no output is left behind."""

    exit_code = 128 + signal.SIGHUP


class Interrupted(MlcliError):
    """Ctrl-C (SIGINT) ended the run; no output is left behind."""

    exit_code = 128 + signal.SIGINT


class Quit(MlcliError):
    """Ctrl-\\ (SIGQUIT) ended the run; no output is left behind."""

    exit_code = 128 + signal.SIGQUIT


class SecondUserSignal(MlcliError):
    """SIGUSR2 ended the run, as batch systems send it before a limit; no output is left behind."""

    exit_code = 128 + signal.SIGUSR2


class AlarmRang(MlcliError):
    """A timer of the system (SIGALRM) ended the run; no output is left behind."""

    exit_code = 128 + signal.SIGALRM


class Terminated(MlcliError):
    """SIGTERM ended the run, as schedulers and time limits send it; no output is left behind."""

    exit_code = 128 + signal.SIGTERM


class ProcessorTimeUp(MlcliError):
    """The limit of processor time was reached (SIGXCPU); no output is left behind."""

    exit_code = 128 + signal.SIGXCPU


@contextmanager
def rows_from(first: int) -> Iterator[None]:
    """Counts the rows of a block among all rows, the first of it being row `first` from 0."""
    try:
        yield
    except MlcliError as error:
        if error.row is None:
            raise
        raise error.changed(row=first + error.row) from error


STOPPING: dict[signal.Signals, type[MlcliError]] = {signal.SIGUSR1: TryAgain, **{
    signal.Signals(kind.exit_code - 128): kind
    for kind in (HungUp, Interrupted, Quit, SecondUserSignal, AlarmRang, Terminated, ProcessorTimeUp)}}
