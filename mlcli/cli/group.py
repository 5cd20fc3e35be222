"""The commands by name, each imported only when it is called."""

import importlib
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import mlcli
from mlcli.base.machine import blas, limits
from mlcli.cli.line import completion
from mlcli.cli.line.parsing import Command, LazyParsing
from mlcli.errors import UsageError

COMMANDS = {
    "embed": "Embed the rows of a table, or of a dissimilarity matrix.",
    "run": "Do the runs of YAML files; a sweep makes several runs.",
    "check": "Examine a data set before a run.",
    "explain": "Show a method on a dozen rows, step by step.",
    "explore": "Try methods and settings on a data set, and recommend one.",
    "plan": "Show what would run: stages, choices, memory and time.",
    "project": "Place new points in the space of a finished run.",
    "route": "Find the shortest path between two points on a run's graph.",
    "reconstruct": "Compute features from coordinates, for methods that can.",
    "compare": "Compare finished runs: shapes, spans, neighbors, spectra.",
    "relate": "Relate a finished run to other variables of its rows.",
    "collect": "Make one table and one page of finished runs.",
    "show": "Print the corner of a matrix that a run kept.",
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


class LazyGroup(LazyParsing, TyperGroup):
    """A group that imports a command's module when the command is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names, with its options; for a method, or for data, `embed`."""
        if args and args[0] not in COMMANDS:
            from mlcli.cli.line.unknown import as_command

            try:
                args = as_command(args, COMMANDS)
            except UsageError:
                if not ctx.resilient_parsing:
                    raise
        name, known, rest = super().resolve_command(ctx, args)
        if name and known:
            limits.require_room(blas.settings().count)
            known = command(name)
        return name, known, rest

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The commands, then the methods, which may stand in the place of one; a shell adds names of files."""
        from mlcli.methods import METHODS

        found: list[Any] = super().shell_complete(ctx, incomplete)
        item = completion.item_type()
        return [*found, *(item(name, help=f"mlcli embed -m {name}") for name in METHODS if name.startswith(incomplete))]


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
    mlcli data.csv                 PCA, into runs/data-pca: short for mlcli embed
    mlcli umap data.csv            another method: mlcli embed -m umap
    mlcli methods                  all methods, and five to start with
    mlcli check data.csv           is there a problem in the data?
    mlcli explore data.csv         which method, and how many axes?
    mlcli run configs/isomap-swiss-roll.yaml

    A word that is a command is never taken for a file of this name: ./report is the file.
    """


def show_version() -> None:
    """One line, for workflow managers."""
    typer.echo(f"mlcli {mlcli.__version__}")
    raise typer.Exit
