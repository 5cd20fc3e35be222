"""`mlcli methods`: what methods there are, and the options of each."""

import importlib
import inspect
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from mlcli.base.context import context
from mlcli.cli.line.behavior import Json
from mlcli.cli.line.completion import completer_of
from mlcli.cli.screen.output import print_json
from mlcli.cli.screen.progress import warn
from mlcli.cli.screen.terminal import GAP, wrapped
from mlcli.config.build import chain_document
from mlcli.config.describe import OptionRow, listed, merge
from mlcli.config.flags import FLAGS
from mlcli.config.run_config import option_rows, unusable_plugins
from mlcli.errors import UsageError, spell
from mlcli.methods import METHODS, NAMES, remedy_for

Name = Annotated[str | None, typer.Argument(metavar="NAME", show_default=False, autocompletion=completer_of(
    lambda: METHODS), help="A method, to see its options.")]


Yaml = Annotated[bool, typer.Option("--yaml", help="Print the method as a chain of stages, for `mlcli run`.")]


def methods(name: Name = None, json: Json = False, yaml: Yaml = False) -> None:
    """List the methods, or show one with its options.

    \b
    mlcli methods
    mlcli methods isomap
    mlcli methods isomap --yaml > chain.yaml
    mlcli run chain.yaml --set input.path=data.csv -o runs/chain
    """
    if name and (kind := METHODS.named(name)) is not None:
        name = str(kind.model_fields["name"].default)
    if name is not None and name not in METHODS:
        raise UsageError("METHOD", f"no method is called {name[:80]!r}", where="NAME",
                         hint=remedy_for(name) or f"there are {', '.join(METHODS)}")
    if yaml and name is None:
        raise UsageError("METHOD", "--yaml needs the name of a method", where="--yaml",
                         hint="mlcli methods isomap --yaml")
    if yaml and name:
        typer.echo(chain_document(METHODS[name].model_validate({"name": name})), nl=False)
    elif json:
        print_json(facts(name) if name else {"methods": [facts(method) for method in METHODS]})
    else:
        typer.echo(page(name) if name else listing())
    if name is None:
        warn(unusable_plugins())


START = {  # the methods to begin with, each for a question
    "pca": "Along which directions do the columns vary most?",
    "fa": "Which few hidden causes explain the correlations of the columns?",
    "nmds": "Which two axes show the order of dissimilarities best?",
    "isomap": "Do the rows lie on a curved surface? Its coordinates.",
    "umap": "Which rows are near each other, in one picture?"}


def listing() -> str:
    """All methods by family, one line each, below those to start with."""
    width = max(map(len, METHODS)) + 2 * GAP

    def part(title: str, lines: Mapping[str, str]) -> str:
        return "\n".join([title, *(wrapped(said, f"{' ' * GAP}{name}".ljust(width), " " * width)
                                   for name, said in lines.items())])

    return "\n\n".join([part("Five to start with:", START), *(
        part(f"{title}:", {name: paragraphs(name)[0] for name in names}) for title, names in families().items())])


def families() -> dict[str, list[str]]:
    """Return the names of all methods by the title of their family."""
    found: dict[str, list[str]] = {}
    for name in METHODS:
        found.setdefault(family(name), []).append(name)
    return found


def family(name: str) -> str:
    """Return the title of a method's family: how the docstring of its room begins."""
    if name not in NAMES:
        return "Of installed packages"
    room = importlib.import_module(f"mlcli.methods.{NAMES[name][0].partition('.')[0]}")
    return (room.__doc__ or "").partition("\n")[0].partition(":")[0].rstrip(".")


def page(name: str) -> str:
    """A method's page: what it is, what it takes, its options."""
    accepts = spell(", ".join(METHODS[name].inputs()), context().spelling)
    takes = f"Takes {accepts}. {METHODS[name].holds()}"
    names = METHODS.other_names(name)
    other = [f"Also called {' or '.join(names)}."] if names else []
    parts = [f"{name}: {paragraphs(name)[0]}", *paragraphs(name)[1:], takes, *other, "Options:"]
    return "\n\n".join([*map(wrapped, parts), *(option(row, tags) for row, tags in merge(options_of(name)))])


def option(row: OptionRow, alternatives: list[tuple[str, ...]]) -> str:
    """An option in words, with the alternatives that have it, and what it is for."""
    flags = [flag.names[0] for flag in FLAGS.values() if row.path in (flag.path, flag.also) and not flag.constant]
    short = f" ({flags[0]})" if flags else ""
    scope = f" [{listed([', '.join(names) for names in alternatives], 'or')}]" if alternatives else ""
    said = wrapped(f"{row.path}{short}{scope}: {row.words}; default {row.default}", "  ", "    ")
    return f"{said}\n{wrapped(row.sentence, '      ')}"


def options_of(name: str) -> list[OptionRow]:
    """The options that one method has."""
    return [row for row in option_rows() if row.only.get("method") == name and row.type != "a section"]


def paragraphs(name: str) -> list[str]:
    """A method's docstring, paragraph by paragraph."""
    return inspect.cleandoc(METHODS[name].__doc__ or "").split("\n\n")


def facts(name: str) -> dict[str, Any]:
    """A method as plain values."""
    options = [{"path": row.path, "type": row.type, "range": row.range, "default": row.default,
                "sentence": row.sentence, "only": row.only} for row in options_of(name)]
    accepts = list(dict.fromkeys(kind.kind for kind in METHODS[name].accepts))
    return {"name": name, "sentence": paragraphs(name)[0], "accepts": accepts,
            "aliases": METHODS.other_names(name), "ranked_by": METHODS[name].ranked_by, "options": options}
