"""Shell completion: the options that install and show it, for a shell that is named or that SHELL names; and values."""

import os
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from typer.completion import install_callback, show_callback

from mlcli.errors import OutputRefused, UsageError

ASKED = "_MLCLI_COMPLETE"  # set by the shell that asks for completions
CHANGED = {  # ends of Typer's scripts, and what stands there instead
    "bash": ("    return 0\n", "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n    return 0\n"),  # after KEY=
    "zsh": ("compdef %(complete_func)s %(prog_name)s\n",
            "(( ${+functions[compdef]} )) || { autoload -Uz compinit && compinit -u; }\n"  # a shell without completion
            "compdef %(complete_func)s %(prog_name)s\n"
            "if (( ${+compstate} )); then %(complete_func)s; fi\n")}  # for the first TAB, at which zsh loads the script
Shell = Literal["bash", "zsh", "fish", "powershell", "pwsh"]


def install(context: typer.Context, option: typer.CallbackParam, shell: str | None) -> None:
    """Writes the completion where the shell reads it, and exits; raises OutputRefused where that cannot be done."""
    mend_scripts()
    try:
        install_callback(context, option, shell)
    except (OSError, RuntimeError) as error:  # the latter of a user without a home
        raise OutputRefused("COMPLETION", f"completion cannot be installed: {error}", where="--install-completion",
                            hint="--show-completion prints it; save it where you like") from error


def show(context: typer.Context, option: typer.CallbackParam, shell: str | None) -> None:
    """Prints the completion, and exits."""
    mend_scripts()
    show_callback(context, option, shell)


def mend_scripts() -> None:
    """Puts into Typer's scripts what they lack; its private names are asked for where completion is, and only there."""
    from typer import _completion_shared as typers

    for shell, (end, better) in CHANGED.items():
        script = typers._completion_scripts[shell]
        typers._completion_scripts[shell] = script if better in script else script.replace(end, better)


Install = Annotated[Shell | None, typer.Option(
    "--install-completion", callback=install, is_eager=True, expose_value=False, show_default=False,
    help="Install completion for a shell (default: the one that SHELL names).")]
Show = Annotated[Shell | None, typer.Option(
    "--show-completion", callback=show, is_eager=True, expose_value=False, show_default=False,
    help="Print what --install-completion would install.")]


def item_type() -> Any:
    """Return the type of a completion, which Typer has inside but does not show."""
    from typer._click.shell_completion import CompletionItem

    return CompletionItem


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
    from typer._click.shell_completion import add_completion_class
    from typer._completion_classes import BashComplete, ZshComplete, completion_init

    class Bash(BashComplete):  # which replaces what is behind the sign of equality only
        def format_completion(self, item: Any) -> str:
            return str(item.value.rpartition("=")[2] or item.value)

    class Zsh(ZshComplete):  # which adds a space, but not behind the sign of equality
        def complete(self) -> str:
            found = [str(item.value) for item in self.get_completions(*self.get_completion_args())]
            keys = found and all(value.endswith("=") for value in found)
            return f"compadd -S '' -- {shlex.join(found)}" if keys else str(super().complete())

    completion_init()
    add_completion_class(Bash, "bash")
    add_completion_class(Zsh, "zsh")
    if os.environ[ASKED] == "complete_bash":
        between = "\n" if "\n" in os.environ["COMP_WORDS"] else " "
        words, place = whole(os.environ["COMP_WORDS"].split(between), int(os.environ["COMP_CWORD"]))
        os.environ |= {"COMP_WORDS": between.join(words), "COMP_CWORD": str(place)}


def whole(words: list[str], place: int) -> tuple[list[str], int]:
    """Words with KEY=VALUE in one, which Bash takes for three, and the new place of the word at `place`."""
    joined: list[str] = []
    moved = 0
    for number, word in enumerate(words):
        if number > 1 and (word == "=" or joined[-1].endswith("=")):
            joined[-1] += word
            moved += number <= place
        else:
            joined.append(word)
    return joined, place - moved


def completer_of(names: Callable[[], Iterable[str]], *, commas: bool = False) -> Callable[[str], list[str]]:
    """Return a completer of one of the names that a function gives, or with `commas` of a list of them."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",") if commas else ("", "", incomplete)
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last)]

    return complete


def assignments(context: typer.Context, incomplete: str) -> list[str]:
    """Complete KEY=VALUE: options of the chosen method, or of all; then the names that an option takes."""
    from mlcli.config.describe import names_of
    from mlcli.config.run_config import option_rows
    from mlcli.methods import ALIASES

    chosen = context.params.get("method")
    chosen = ALIASES.get(chosen or "", chosen)
    path, equals, value = incomplete.partition("=")
    here = [row for row in option_rows() if not row.type.startswith("a section")
            and (chosen is None or row.only.get("method", chosen) == chosen)]
    if not equals:
        return list(dict.fromkeys(f"{row.path}=" for row in here if row.path.startswith(incomplete)))
    return [f"{path}={name}" for name in names_of(row for row in here if row.path == path) if name.startswith(value)]
