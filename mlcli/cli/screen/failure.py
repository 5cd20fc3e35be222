"""How a failed run is reported: one line and an exit code, the same for every command."""

import errno
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mlcli.base.context import spelled
from mlcli.base.frozen import frozen
from mlcli.errors import (
    STOPPING,
    InputMissing,
    MlcliError,
    OutOfMemory,
    RefusedByPlan,
    StorageError,
    TimeUp,
    TryAgain,
    UsageError,
    conceal,
    escaped,
)
from mlcli.process.shared_status import STATUS
from mlcli.process.signals import TIME_UP, Stopped, kind_of, should_retry

STORAGE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS}
NO_THREAD = "can't start new thread"  # Python's own words
NO_MAP = ("failed to map segment from shared object", "cannot map zero-fill pages", "annot allocate memory",
          "cannot create shared object descriptor")  # the loader's own words
NO_REASON = "error return without exception set"  # Python's, where code of a module cannot be allocated
LONGEST = 2000  # characters of a part of a message


@frozen
class ErrorForm:
    """How errors are to be shown; known before the arguments are parsed, since these may be wrong."""

    json: bool = False
    debug: bool = False
    run: str = ""  # which of several runs went wrong

    @classmethod
    def of(cls, arguments: Sequence[str]) -> "ErrorForm":
        """The form that a command line asks for."""
        options = arguments[:arguments.index("--")] if "--" in arguments else arguments
        lines = ("--progress=json" in options or ("--progress", "json") in itertools.pairwise(options)
                 or ("--progress" not in options and os.environ.get("MLCLI_PROGRESS") == "json"))
        asked = any(option.partition("=")[0] == "--json" for option in options)
        return cls(asked or lines, "--debug" in options)


def attempt(work: Callable[[], None], form: ErrorForm) -> int:
    """Return the exit code of some work, once all its output is written.

    Errors are reported; signals and closed pipes go further up.
    """
    code = 0
    for part in (work, sys.stdout.flush):
        try:
            part()
        except BrokenPipeError:
            raise
        except Exception as error:
            if is_of_typer(error, "Exit"):
                code = code or getattr(error, "exit_code", 0)
                continue
            if stop := stop_behind(error):
                raise stop from error
            told = tell(error, form)
            code = code or told
    return code


def is_of_typer(error: Exception, name: str, base: int = 0) -> bool:
    """Whether it is an exception of Typer's, or of a base of one; Typer may not be loaded, and is not loaded for this.
    """
    typer = sys.modules.get("typer")
    kind = getattr(typer, name, None)
    return kind is not None and isinstance(error, kind.__mro__[base])


def stop_behind(error: BaseException | None) -> Stopped | None:
    """The signal of which a library has made another error, as modules in C++ do that are being loaded."""
    seen: set[int] = set()  # an error can be its own cause, by way of others or without
    while error is not None and id(error) not in seen:
        if isinstance(error, Stopped):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def tell(error: Exception, form: ErrorForm) -> int:
    """Shows an error and returns its exit code."""
    if form.debug:
        import traceback

        print(conceal("".join(traceback.format_exception(error)).rstrip()), file=sys.stderr, flush=True)
    known = understood(error)
    say(rendered(known, form), keep=(escaped(spelled(known).where),))
    return known.exit_code


def understood(error: Exception) -> MlcliError:
    """Any exception as one of ours."""
    if isinstance(error, MlcliError):
        return error
    if is_of_typer(error, "BadParameter", base=1):  # Click's UsageError, which Typer has inside but does not show
        return usage(error)
    if is_out_of_memory(error):
        return OutOfMemory("OUT-OF-MEMORY", "memory ran out", hint="use fewer rows, another method or a larger machine")
    if isinstance(error, RuntimeError) and str(error) == NO_THREAD:
        return RefusedByPlan("NO-THREAD", "the system does not let this process start more threads",
                             hint="use fewer: --threads 1; or raise the limit (ulimit -u, ulimit -v, pids.max)")
    if isinstance(error, OSError) and is_storage(error):
        return StorageError("STORAGE", f"the file system failed: {error.strerror or error}",
                            where=str(error.filename or ""), hint="check the disk's free space and quota")
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return InputMissing("NAME-LENGTH", "no file can have so long a name", where=str(error.filename or "")[:60],
                            hint="check the path")
    from mlcli.base.values.plugins import culprit, in_words

    if (plugin := culprit(error)) is not None:
        return plugin.broken(in_words(error), written_down(error))
    return MlcliError("INTERNAL", f"{type(error).__name__}: {str(error)[:200]}", where=written_down(error),
                      hint="this is a bug; please report it with that file")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory or addresses ran out, in an error or in one behind it.

    A library that cannot be mapped is an ImportError, and a module whose code finds no room is an error of Python's
    import system without a reason.
    """
    behind = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM) or (
        isinstance(error, ImportError) and any(words in str(error) for words in NO_MAP)) or (
        isinstance(error, SystemError) and str(error) == NO_REASON)
    return behind or ((isinstance(error, (ImportError, SystemError))) and error.__cause__ is not None
                      and is_out_of_memory(error.__cause__))


def is_storage(error: OSError) -> bool:
    """Whether the disk is at fault; NumPy's short writes carry no errno, only their text."""
    text = str(error)
    return error.errno in STORAGE or ("requested and" in text and "written" in text)


def usage(error: Exception) -> MlcliError:
    """A wrong command line, in one line."""
    context = getattr(error, "ctx", None)
    name = context.command_path if context is not None else "mlcli"
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split()).rstrip(".")
    message = message.replace("Value error, ", "")  # pydantic's, on which newer Typers rest
    word = context.info_name if context is not None and context.parent is not None else ""
    file = f"for the file of this name: mlcli ./{word}; " if os.path.isfile(word) else ""  # noqa: PTH113 (no import)
    return UsageError("USAGE", message, hint=f"{file}{unknown_option(error, context)}see {name} --help")


def unknown_option(error: Exception, context: Any) -> str:
    """Return the beginning of a hint for a flag that a command with --set does not have; empty if there is none.

    Such a flag may be an option that is set by its path.
    """
    flag = getattr(error, "option_name", None)
    takes_paths = context is not None and any("--set" in option.opts for option in context.command.params)
    if not isinstance(flag, str) or not takes_paths:
        return ""
    from mlcli.cli.line.unknown import hint_for

    found = hint_for(flag)
    return f"{found}; " if found else ""


def written_down(error: Exception) -> str:
    """The log file that holds an unexpected error's traceback."""
    import tempfile
    import traceback

    try:
        descriptor, name = tempfile.mkstemp(prefix="mlcli-", suffix=".log")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.writelines(map(conceal, traceback.format_exception(error)))
    except OSError:
        return "no traceback could be written"
    return f"traceback in {name}"


def rendered(error: MlcliError, form: ErrorForm) -> str:
    """An error as one line of text or of JSON."""
    error = spelled(error)
    fields = {name: shortened(part) if isinstance(part, str) else part for name, part in error.fields().items()}
    if form.json:
        return json.dumps({"error": fields, **({"run": form.run} if form.run else {})})
    said = error.line(*(str(fields[name]) for name in ("what", "where", "hint")))
    said += f"; in the run {form.run}" if form.run else ""
    return f"mlcli: error[{error.code}]: {escaped(said)}"


def shortened(text: str) -> str:
    """Return a part of a message, cut where it is of no use to a reader, with the number of characters left out."""
    left = len(text) - LONGEST
    return text if left <= 0 else f"{text[:LONGEST]}... ({left:,} more characters)"


def say(text: str, *, keep: Sequence[str] = ()) -> None:
    """Lines on standard error, folded on a terminal, but never within a phrase to keep, such as a path with blanks."""
    print(fold_for_errors(text, keep), file=sys.stderr, flush=True)


def fold_for_errors(text: str, keep: Sequence[str] = ()) -> str:
    """Return lines as standard error takes them."""
    if sys.stderr is None or not sys.stderr.isatty():
        return text
    from mlcli.cli.screen.terminal import for_stream

    return for_stream(text, sys.stderr, keep)


def say_written(said: str, *paths: object) -> None:
    """A line on standard error about files, whose paths stay whole; `said` holds them."""
    say(escaped(said), keep=[escaped(str(path)) for path in paths])


def stopped(stop: BaseException, form: ErrorForm) -> int:
    """Shows that a signal ended the run and returns the code that shells give it."""
    facts = STATUS.read()
    number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
    error = stop_error(number, kept=should_retry(number, [facts], kept=bool(facts.get("kept"))))
    say(rendered(error, form))
    STATUS.post(told=True)
    return error.exit_code


def stop_error(number: int, *, kept: bool) -> MlcliError:
    """The error for a signal, or the time limit; where something was kept, the run can go on from it."""
    hint = "the same command goes on from what was kept" if kept else ""
    if number != TIME_UP:
        kind, name = kind_of(number, kept=kept), signal.Signals(number).name
        if kind is not TimeUp:
            return kind("STOPPED", f"stopped by {name}", hint=hint)
        return kind("STOPPED", f"stopped by {name}, before a new checkpoint was written",
                    hint="give the job more time, or send the signal earlier")
    if kept:
        return TryAgain("TIME-LIMIT", "stopped before the time limit", hint=hint)
    return TimeUp("TIME-LIMIT", "the time limit was reached before a new checkpoint was written",
                  hint="set a longer one with --time-limit, or in the job")


def last_words(form: ErrorForm) -> dict[int, tuple[str, str]]:
    """Return the supervisor's messages for each signal: without and with kept results.

    A terminal whose cursor a bar has hidden gets it back.
    """
    shown = "\x1b[?25h" if sys.stderr.isatty() else ""

    def message(number: int, *, kept: bool) -> str:
        return f"{shown}{fold_for_errors(rendered(stop_error(number, kept=kept), form))}\n"

    return {int(number): (message(number, kept=False), message(number, kept=True)) for number in (*STOPPING, TIME_UP)}
