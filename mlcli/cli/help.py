"""`mlcli help`: the same as --help, as people ask for it elsewhere."""

from typing import Annotated

import typer

from mlcli.cli.completion import offering


def commands(incomplete: str) -> list[str]:
    """The commands that a shell may complete."""
    from mlcli.cli.program import COMMANDS

    return offering(COMMANDS)(incomplete)


Name = Annotated[str | None, typer.Argument(metavar="COMMAND", show_default=False, autocompletion=commands,
                                            help="The command; without one, all are listed.")]


def help(name: Name = None) -> None:
    """Show the help of a command.

    \b
    mlcli help
    mlcli help embed
    """
    from mlcli.cli.program import dispatch

    dispatch(["--help"] if name is None else [name, "--help"])
