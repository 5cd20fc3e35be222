"""Flags that stand for config paths, as options of a command, with the help that the options themselves give."""

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from mlcli.base.values.options import TAG
from mlcli.cli.line.completion import completer_of
from mlcli.config.describe import LIST, OptionRow, names_of, unique
from mlcli.config.flags import COMMAS, EVERY, Flag, first_name, repeats, rows_of
from mlcli.data.options.formats import ANNDATA
from mlcli.methods import METHODS

LINE = 66  # characters of choices that stand beside a flag


def with_flags(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command these flags; their values reach it as keywords."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function)
        own = [item for item in signature.parameters.values() if item.kind is not item.VAR_KEYWORD]
        first = [item for item in own if item.kind is not item.KEYWORD_ONLY]
        function.__signature__ = signature.replace(parameters=[  # type: ignore[attr-defined]
            *first, *map(parameter, names), *(item for item in own if item.kind is item.KEYWORD_ONLY)])
        return function

    return declare


def parameter(name: str) -> inspect.Parameter:
    """Return a flag as a parameter of a command, without the words for its help: these take all methods' options."""
    flag = EVERY[name]
    kind: Any = bool if flag.constant else list[str] | None if repeats(flag) else str | None
    option = typer.Option(*flag.names, help="", show_default=False, rich_help_panel=flag.heading,
                          autocompletion=completer_of(lambda: names_of(rows_of(flag)), commas=flag.path in COMMAS))
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option],
                             default=False if flag.constant else None)


def describe(options: Iterable[Any]) -> None:
    """Set the help and the metavariable of those options of a command that `parameter` made."""
    for option in options:
        if option.name in EVERY and option.help == "":
            flag = EVERY[option.name]
            described = rows_of(flag)
            option.help = sentence(flag, described)
            option.metavar = None if flag.constant else metavar(flag, described)


def sentence(flag: Flag, described: list[OptionRow]) -> str:
    """A flag's help: its option's sentence, the methods that have it, its default."""
    if flag.spells:
        value = flag.spells.format(metavar(flag, described))
        return f"The same as {first_name(flag.path)} {value}, for {ANNDATA} files: {flag.says}"
    if flag.constant and (flag.says or isinstance(flag.constant, str)):
        return f"The same as --set {flag.path}={flag.constant}: {flag.says}"
    methods = [row.only["method"] for row in described if "method" in row.only]
    owners = f" For {', '.join(methods)}." if methods and len(methods) < len(METHODS) else ""
    repeated = " Repeatable." if repeats(flag) else ""
    named = names_of(described)
    listing = f" One of {', '.join(named)}." if len("|".join(named)) > LINE else ""
    default, text = default_of(described), described[0].sentence
    shown = "" if flag.constant or default in ("null", "", "required") or "(default" in text else (
        f" [default: {default}]")
    return f"{text}{owners}{listing}{repeated}{shown}"


def default_of(described: list[OptionRow]) -> str:
    """An option's default, with the methods that have each where these differ."""
    defaults = unique(row.default.strip("[]") for row in described)
    if len(defaults) == 1:
        return defaults[0]
    return ", ".join(f"{default} ({', '.join(row.only['method'] for row in described if row.default == default)})"
                     for default in defaults)


def metavar(flag: Flag, described: list[OptionRow]) -> str:
    """Return the metavariable of a flag: the choices of any method if they fit on a line, else the option's name."""
    if flag.spells:
        return flag.names[-1].removeprefix("--").upper()
    named = "|".join(names_of(described)) if described[0].type.removeprefix(LIST).startswith("'") else ""
    name = described[0].path.removesuffix(f".{TAG}").rpartition(".")[2].upper()
    return named if named and len(named) <= LINE else name
