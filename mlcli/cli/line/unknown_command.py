"""Words that are no command: what was meant by a method, a file, or a word of another program."""

import difflib
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from mlcli.data.options.wording import shown
from mlcli.errors import UsageError

SLIP = 0.8  # likeness of a command with a letter too many or too few, which no method has
DATA = "DATA"  # stands for a file that was not named
MEANT = {  # words that other programs have for it
    **dict.fromkeys(("plot", "draw", "figure", "figures", "view", "show", "page", "redraw"), "report"),
    **dict.fromkeys(("fit", "reduce", "fit-transform", "decompose"), "embed"),
    **dict.fromkeys(("transform", "predict"), "project"), "inverse-transform": "reconstruct",
    **dict.fromkeys(("validate", "certify"), "verify"), **dict.fromkeys(("convert", "save"), "export"),
    **dict.fromkeys(("generate", "simulate"), "sample"), **dict.fromkeys(("list", "algorithms"), "methods")}


def unknown_command(arguments: Sequence[str], commands: Collection[str]) -> UsageError:
    """Return the error for a first word that is no command."""
    name, *rest = arguments
    hint = f"did you mean {meant!r}?" if (meant := _meant(name, rest, commands)) else "see mlcli --help"
    return UsageError("COMMAND", f"no command {shown(name)}", hint=hint)


def _meant(name: str, rest: Sequence[str], commands: Collection[str]) -> str:
    """Return the command that was meant, or the whole command line; empty where none is like it."""
    word = name.lower().replace("_", "-")
    if word in MEANT:
        return MEANT[word]
    if slips := difflib.get_close_matches(word, commands, n=1, cutoff=SLIP):
        return slips[0]
    from mlcli.methods import ALIASES, METHODS

    if word in METHODS or word in ALIASES:
        data = rest[0] if rest and not rest[0].startswith("-") else DATA
        return f"mlcli embed -m {ALIASES.get(word, word)} {shlex.quote(data)}"
    if Path(name).suffix and Path(name).exists():
        return f"mlcli {'run' if Path(name).suffix in ('.yaml', '.yml') else 'embed'} {shlex.quote(name)}"
    near = difflib.get_close_matches(word, commands, n=1)
    return near[0] if near else ""
