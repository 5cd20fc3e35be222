"""Shell completion: the options that install and show it, for a shell that is named or that SHELL names."""

import os
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from typer.completion import install_callback, show_callback

from mlcli.errors import OutputRefused, UsageError

ASKED = "_MLCLI_COMPLETE"  # set by the shell that asks for completions
Shell = Literal["bash", "zsh", "fish", "powershell", "pwsh"]


def install(context: typer.Context, option: typer.CallbackParam, shell: str | None) -> None:
    """Writes the completion where the shell reads it, and exits; raises OutputRefused where that cannot be done."""
    try:
        install_callback(context, option, shell)
    except (OSError, RuntimeError) as error:  # the latter of a user without a home
        raise OutputRefused("COMPLETION", f"completion cannot be installed: {error}", where="--install-completion",
                            hint="--show-completion prints it, for a place of your choice") from error


Install = Annotated[Shell | None, typer.Option(
    "--install-completion", callback=install, is_eager=True, expose_value=False, show_default=False,
    help="Install completion for a shell (default: the one that SHELL names).")]
Show = Annotated[Shell | None, typer.Option(
    "--show-completion", callback=show_callback, is_eager=True, expose_value=False, show_default=False,
    help="Print what --install-completion would install.")]


def with_shell(arguments: list[str]) -> list[str]:
    """The arguments, with the shell that SHELL names after an option of completion alone; else raises UsageError."""
    if arguments not in (["--install-completion"], ["--show-completion"]):
        return arguments
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in get_args(Shell):
        raise UsageError("SHELL", "no known shell is named by the environment variable SHELL", where=arguments[0],
                         hint=f"name the shell, as in {arguments[0]} bash")
    return [*arguments, shell]


def prepare() -> None:
    """Makes Typer's answers to shells known, which it does itself only for options of its own."""
    from typer._completion_classes import completion_init

    completion_init()
