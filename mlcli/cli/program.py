"""The program: its commands by name, each imported only when it is called, and how it starts and ends."""

import atexit
import importlib
import os
import signal
import sys
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

import mlcli
from mlcli.base.machine import blas, limits
from mlcli.cli.line import completion
from mlcli.cli.line.parsing import Command, Given
from mlcli.cli.module_stubs import install_stubs
from mlcli.cli.screen import streams
from mlcli.cli.screen.failure import Form, attempt, last_words, stopped
from mlcli.process import signals
from mlcli.process.shared_status import STATUS
from mlcli.process.signals import Stopped

COMMANDS = {
    "embed": "Embed the rows of a table, or of a dissimilarity matrix.",
    "run": "Do the runs of YAML files; a sweep makes several runs.",
    "check": "Examine a data set before a run.",
    "explore": "Try methods and settings on a data set, and recommend one.",
    "plan": "Show what would run: stages, choices, memory and time.",
    "project": "Place new points in the space of a finished run.",
    "route": "Find the shortest path between two points on a run's graph.",
    "reconstruct": "Compute features from coordinates, for methods that can.",
    "compare": "Compare finished runs: shapes, spans, neighbors, spectra.",
    "relate": "Relate a finished run to other variables of its rows.",
    "collect": "Make one table and one page of finished runs.",
    "report": "Make the report of a finished run again.",
    "export": "Write a finished run in the format of another program.",
    "verify": "Check a finished run again: its files and its numbers.",
    "methods": "List the methods, or show one with its options.",
    "schema": "Print the JSON schema of the YAML files, for editors.",
    "sample": "Write a generated data set.",
    "cache": "Show what the cache holds, or what a run took from it.",
    "doctor": "Show libraries, threads and memory; test the eigensolver.",
    "help": "Show the help of a command, or of a method.",
}
SETTINGS = {"help_option_names": ["-h", "--help"]}
READER_GONE = 128 + signal.SIGPIPE


class LazyGroup(Given, TyperGroup):
    """A group that imports a command's module when the command is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names, with its options."""
        if not ctx.resilient_parsing and args and self.get_command(ctx, args[0]) is None:
            from mlcli.cli.line.unknown_command import unknown_command

            raise unknown_command(args, COMMANDS)
        name, known, rest = super().resolve_command(ctx, args)
        if name and known:
            limits.require_room(blas.settings().count)
            known = command(name)
        return name, known, rest


@cache
def command(name: str) -> Any:
    """A command with its options, from the module of the same name."""
    module = importlib.import_module(f"mlcli.cli.commands.{name}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=Command, context_settings=SETTINGS)(getattr(module, name))
    return typer.main.get_command(app)


@cache
def program() -> Any:
    """All commands by name and sentence."""
    app = typer.Typer(cls=LazyGroup, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
                      context_settings=SETTINGS)
    app.callback()(root)
    for name, sentence in COMMANDS.items():
        app.command(name, help=sentence)(lambda: None)  # `LazyGroup` puts the command itself in its place
    return typer.main.get_command(app)


def root(version: Annotated[bool, typer.Option("-V", "--version", help="Show the version and exit.", is_eager=True,
                                               callback=lambda asked: show_version() if asked else None)] = False,
         install: completion.Install = None, show: completion.Show = None) -> None:
    """Reduce a table or a distance matrix to a few dimensions: PCA, PCoA, Isomap and others.

    One command reads a file and writes a directory: coordinates of the rows, eigenvalues, figures, a report with
    measures of quality, a model that places new rows, and a certificate of checks of the results.

    \b
    mlcli check data.csv                    is there a problem in the data?
    mlcli embed data.csv                    PCA, into runs/data-pca
    mlcli embed --method isomap data.csv    another method: mlcli methods
    mlcli explore data.csv                  which method, and how many axes?
    mlcli run configs/isomap-swiss-roll.yaml
    """


def show_version() -> None:
    """One line, for workflow managers."""
    typer.echo(f"mlcli {mlcli.__version__}")
    raise typer.Exit


def run(arguments: list[str]) -> int:
    """The exit code of a command line; an error is reported in one line on standard error."""
    form = Form.of(arguments)
    try:
        return attempt(lambda: dispatch(arguments or ["--help"]), form)
    except BrokenPipeError:
        return READER_GONE
    except (KeyboardInterrupt, Stopped) as stop:
        return stopped(stop, form)


def dispatch(arguments: list[str]) -> None:
    """Parses the arguments and calls the command."""
    group = program()
    if completion.ASKED in os.environ:
        completion.prepare()
        group.main(arguments, prog_name="mlcli")
    with group.make_context("mlcli", completion.with_shell(arguments)) as context:
        from mlcli.base.stages.stage import listening
        from mlcli.cli.stage_reporter import StageReporter

        with listening(StageReporter()):
            group.invoke(context)


def main() -> None:
    """Carries out the command line and ends the process with its exit code; signals must be blocked."""
    blas.export(sys.argv[1:])  # before NumPy loads
    install_stubs()
    limits.spare_addresses(os.environ)
    streams.own()
    form = Form.of(sys.argv[1:])
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
