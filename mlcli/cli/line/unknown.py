"""Words of a command line that are no command and no flag: what a user may have meant by them."""

import difflib
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from mlcli.cli.line.parsing import SET
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
MOST = 3  # paths in a hint


def unknown_command(arguments: Sequence[str], commands: Collection[str]) -> UsageError:
    """Return the error for a first word that is no command."""
    name, *rest = arguments
    hint = f"did you mean {meant!r}?" if (meant := meant_by(name, rest, commands)) else "see mlcli --help"
    return UsageError("COMMAND", f"no command {shown(name)}", hint=hint)


def meant_by(name: str, rest: Sequence[str], commands: Collection[str]) -> str:
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


def hint_for(flag: str) -> str:
    """Return a hint that names the options of a flag's name; empty if there is none."""
    from mlcli.config.other_names import FLAGS_ELSEWHERE, paths_for

    if keyword := FLAGS_ELSEWHERE.get(flag.partition("=")[0].lstrip("-").replace("-", "_")):
        return f"it is --{keyword} here"
    found = list(paths_for(flag).items())[:MOST]
    if found and found[0][1] != "VALUE":
        return f"it is {' or '.join(f'{path} = {formula}' for path, formula in found)}, which {SET} sets"
    listed = " or ".join(f"{SET} {path}={value}" for path, value in found)
    return f"{listed} sets this option" if listed else ""
