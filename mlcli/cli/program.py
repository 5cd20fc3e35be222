"""The program: how it starts, carries out a command line, and ends."""

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

import mlcli
from mlcli.base.machine import blas, limits
from mlcli.cli.screen import streams
from mlcli.cli.screen.failure import ErrorForm, attempt, last_words, stopped
from mlcli.process import signals
from mlcli.process.shared_status import STATUS
from mlcli.process.signals import Stopped

VERSION = ["-V"], ["--version"]
READER_GONE = 128 + signal.SIGPIPE
PLUGINS = "PYDANTIC_DISABLE_PLUGINS"  # pydantic would look for its plugins among all packages that are installed


def run(arguments: list[str]) -> int:
    """The exit code of a command line; an error is reported in one line on standard error."""
    form = ErrorForm.of(arguments)
    try:
        return attempt(lambda: dispatch(arguments or ["--help"]), form)
    except BrokenPipeError:
        return READER_GONE
    except (KeyboardInterrupt, Stopped) as stop:
        return stopped(stop, form)


def dispatch(arguments: list[str]) -> None:
    """Parses the arguments and calls the command."""
    if arguments in VERSION:  # as the option of the group does; loading Typer would take twice as long as the rest
        print(f"mlcli {mlcli.__version__}", flush=True)
        return
    from mlcli.cli.group import program
    from mlcli.cli.line import completion

    group = program()
    if completion.ASKED in os.environ:
        completion.prepare()
        group.main(arguments, prog_name="mlcli")
    with group.make_context("mlcli", completion.with_shell(arguments)) as context:
        from mlcli.base.stages.stage import listening
        from mlcli.cli.screen.progress import StageReporter

        with listening(StageReporter()):
            group.invoke(context)


def main() -> None:
    """Carries out the command line and ends the process with its exit code; signals must be blocked."""
    blas.export(sys.argv[1:])  # before NumPy loads
    os.environ.setdefault(PLUGINS, "__all__")
    limits.spare_addresses(os.environ)
    streams.own()
    form = ErrorForm.of(sys.argv[1:])
    try:
        STATUS.post(words=last_words(form))
        signals.install_handlers()
        code = run(sys.argv[1:])
        signals.remove_handlers()
    except Stopped as stop:  # after the last line of `run`
        code = stopped(stop, form)
    STATUS.post(code=code)  # which holds whatever becomes of the process while it ends
    leave(code)


def leave(code: int) -> NoReturn:
    """End the process, once what libraries registered for its end was called.

    Python would first take down every module and value, which takes a quarter of a small run; the system frees them at
    once. Standard output was written by `attempt`, which reports what fails; after a stop some of it may be left.
    """
    with suppress(Exception):
        atexit._run_exitfuncs()
    with suppress(Exception):
        sys.stdout.flush()
    os._exit(code)
