"""`mlcli help`: the help of a command or a method, as people ask for it elsewhere."""

from importlib.resources import files
from typing import Annotated

import typer

from mlcli.cli.line.completion import completer_of
from mlcli.errors import UsageError


def commands(incomplete: str) -> list[str]:
    """The commands that a shell may complete."""
    from mlcli.cli.group import COMMANDS

    return completer_of(lambda: COMMANDS)(incomplete)


Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", show_default=False, autocompletion=commands, help=(
    "A command or a method; without a name, all commands are listed."))]


Agent = Annotated[bool, typer.Option("--agent", help=(
    "Print one page that a language model can work from: commands, methods, JSON, exit codes."))]


def help(names: Names = None, agent: Agent = False) -> None:
    """Show the help of a command, or of a method.

    \b
    mlcli help
    mlcli help embed
    mlcli help isomap
    mlcli help --agent
    """
    if agent:
        if names:
            raise UsageError("HELP", "--agent prints one page about all commands", where=" ".join(names)[:80],
                             hint="mlcli help --agent")
        typer.echo((files("mlcli") / "SKILL.md").read_text(encoding="utf-8"), nl=False)
        return
    from mlcli.cli.program import dispatch

    dispatch(help_arguments(names or []))


def help_arguments(names: list[str]) -> list[str]:
    """Return the command line that shows the help; raises UsageError for more than one command or method."""
    from mlcli.cli.group import COMMANDS

    if len(names) == 2 and names[0] == "methods":
        return names
    if len(names) > 1:
        raise UsageError("HELP", f"help takes one command or method, but {len(names)} words were given",
                         where=" ".join(names)[:80], hint=f"mlcli help {names[0][:40]}")
    if not names or names[0] in COMMANDS:
        return [*names, "--help"]
    from mlcli.methods import ALIASES, METHODS, remedy_for

    is_method = names[0] in METHODS or names[0] in ALIASES or bool(remedy_for(names[0]))  # which `methods` answers
    return ["methods", *names] if is_method else [*names, "--help"]
