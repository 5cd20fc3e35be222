"""The first word of a command line where it is no command: a method or data is embedded, else what may be meant; and
flags that a command does not have.
"""

import difflib
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from mlcli.base.values.naming import shown
from mlcli.cli.line.parsing import SET
from mlcli.errors import UsageError

EMBED, STDIN = "embed", "-"
LIKE = 0.6  # likeness of a word to the name that may be meant
SLIP = 0.8  # likeness of a command with a letter too many or too few, which no method has
DATA = "DATA"  # stands for a file that was not named
MEANT = {  # words that other programs have for it
    **dict.fromkeys(("fit", "reduce", "fit-transform", "decompose"), "embed"),
    **dict.fromkeys(("transform", "predict"), "project"), "inverse-transform": "reconstruct",
    **dict.fromkeys(("validate", "certify"), "verify"), **dict.fromkeys(("convert", "save"), "export"),
    **dict.fromkeys(("generate", "simulate"), "sample"), **dict.fromkeys(("list", "algorithms"), "methods")}
ELSEWHERE = {  # words for what no command here does, and where it is found
    **dict.fromkeys(("plot", "draw", "figure", "figures", "view", "show", "page", "redraw", "open"),
                    "a run draws its figures: open report.html in its directory; `mlcli report RUN` draws them again"),
    **dict.fromkeys(("cluster", "leiden", "louvain", "kmeans", "k-means", "hdbscan", "dbscan", "hclust"),
                    "clusters are not found here: take embedding.csv to another program, or the graph of a run "
                    "to scanpy (`mlcli export RUN --into FILE`)"),
    **dict.fromkeys(("permanova", "adonis", "adonis2", "envfit", "betadisper", "permdisp", "wascores", "dispersion"),
                    "`mlcli relate RUN --with FILE` does this for a finished run: see mlcli relate --help"),
    **dict.fromkeys(("procrustes", "protest"), "`mlcli compare RUN RUN --permutations 999` does this"),
    **dict.fromkeys(("anosim", "simper", "mantel"), "it is not available; `mlcli relate RUN --with FILE --formula "
                    "GROUPS` tests groups by PERMANOVA, `--dispersion GROUPS` their spread"),
    **dict.fromkeys(("alpha", "omega", "reliability"), "`mlcli fa DATA --reliability` has alpha, omega and statistics "
                    "of items"),
    "version": "`mlcli --version` shows it"}
MOST = 3  # paths in a hint


def as_command(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return a command line that begins with a command: `embed -m` before the data of a method, `embed` before data.

    A command is never taken for a file of its name, nor a method of this program. Raises UsageError for other words.
    """
    name, *rest = arguments
    if name in commands:
        return [*arguments]
    word, data = name.lower().replace("_", "-"), is_data(name)
    if not data and difflib.get_close_matches(word, commands, n=1, cutoff=SLIP):
        raise unknown_command(arguments, commands)
    from mlcli.methods import METHODS

    own = {word, word.replace("-", "")} & {*METHODS.own, *METHODS.aliases}
    if (own or not data) and (kind := METHODS.named(name)) is not None:
        return [EMBED, "-m", str(kind.model_fields["name"].default), *rest]
    if data:
        return [EMBED, *arguments]
    raise unknown_command(arguments, commands)


def is_data(name: str) -> bool:
    """Whether a word is for data: the name of a file, as one that is there or as it has an ending or a folder."""
    path = Path(name)
    if path.suffix:
        return not is_configuration(path)
    return name == STDIN or "/" in name or path.is_file() or (path.is_dir() and name not in {*MEANT, *ELSEWHERE})


def is_configuration(path: Path) -> bool:
    """Whether a file is a YAML file by its name."""
    if not path.suffix:
        return False
    from mlcli.data.files.signatures import YAML  # with the formats, which a misspelled command does without

    return path.suffix in YAML


def unknown_command(arguments: Sequence[str], commands: Collection[str]) -> UsageError:
    """Return the error for a first word that is neither a command nor a method nor data."""
    name, *rest = arguments
    return UsageError("COMMAND", f"no command {shown(name)}", hint=meant_by(name, rest, commands) or "see mlcli --help")


def meant_by(name: str, rest: Sequence[str], commands: Collection[str]) -> str:
    """Return a question for the command that may be meant; empty where none is like it."""
    word = name.lower().replace("_", "-")
    if is_configuration(Path(name)):
        return f"did you mean 'mlcli run {shlex.quote(name)}'?"
    if word in ELSEWHERE:
        return ELSEWHERE[word]
    slips = [MEANT[word]] if word in MEANT else difflib.get_close_matches(word, commands, n=1, cutoff=SLIP)
    if slips:
        return f"did you mean {slips[0]!r}?"
    from mlcli.methods import ALIASES, METHODS
    from mlcli.methods.not_included import BY_NAME, hyphenated, remedy

    if hyphenated(name) in BY_NAME:
        return remedy(name, [*METHODS.own, *ALIASES])
    near = difflib.get_close_matches(word, [*commands, *METHODS.own, *ALIASES], n=1, cutoff=LIKE)
    if not near:
        return ""
    if near[0] in commands:
        return f"did you mean {near[0]!r}?"
    data = rest[0] if rest and not rest[0].startswith("-") else DATA
    return f"did you mean 'mlcli {ALIASES.get(near[0], near[0])} {shlex.quote(data)}'?"


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
