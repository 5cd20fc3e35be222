"""The pages of reference: all commands with their options, and the public functions of Python."""

import inspect
import re
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

from manual import KEPT, paragraphs

import mlcli
from mlcli import api
from mlcli.cli.group import COMMANDS, SETTINGS, command
from mlcli.methods import METHODS
from mlcli.sklearn import NO_ESTIMATOR
from mlcli.sklearn.estimator import Estimator

CODE = re.compile(r"(`[^`]*`)")
SHOWN = ("fit", "fit_transform", "transform", "inverse_transform", "from_run", "embedding_")  # of an estimator
DOCUMENTED = (api.Run, api.Spectrum, api.Loadings)  # what the functions return


def commands_page() -> str:
    """Every command: what it does, examples, and its options by their headings."""
    intro = ("What `mlcli COMMAND --help` prints, of all commands. Options that a flag sets have a path too, under "
             "which [Configuration](config.md) lists them: `--set PATH=VALUE` sets any of them.")
    return "\n\n".join(["# Commands", intro, *(line for name in COMMANDS for line in about(name))]) + "\n"


def about(name: str) -> list[str]:
    """A command with its examples and a table of its options under each heading."""
    known = command(name)
    known.describe()
    context = known.context_class(known, info_name=name, **SETTINGS)
    said = ["\n".join(["```sh", part.lstrip(f"{KEPT}\n"), "```"]) if part.startswith(KEPT)
            else escaped(" ".join(part.split())) for part in paragraphs(known.help)]
    tables = [line for heading, rows in known.parts(context) for line in (f"**{heading}**", "\n".join([
        "| option | what it is for |", "|---|---|", *(option(*row) for row in rows)]))]
    return [f"## mlcli {name}", *said, *tables]


def option(names: str, text: str) -> str:
    """An option as a row of a table; the words that it takes, if they are few, stand before what it is for."""
    flag, _, words = names.rpartition(" ")
    if "|" in words:
        names, text = flag, f"{', '.join(words.strip('[]{}').split('|'))}. {text}"
    return f"| <code>{coded(names)}</code> | {escaped(' '.join(text.split()))} |"


def api_page() -> str:
    """The public functions, what they return, and the estimators."""
    intro = ("What `help(mlcli.embed)` shows: the functions that the package makes public, and what they return. "
             "[From Python](python.md) has examples.")
    functions = [line for name in mlcli.__all__ for line in (
        f"## mlcli.{name}", signature(f"mlcli.{name}", getattr(mlcli, name)), prose(getattr(mlcli, name)))]
    classes = [line for kind in DOCUMENTED for line in (f"## {kind.__name__}", prose(kind), *members(kind))]
    rows = ["| class | method |", "|---|---|", *(f"| `mlcli.sklearn.{kind.__name__}` | [{name}](methods/{name}.md) |"
                                                 for name, kind in METHODS.items() if name not in NO_ESTIMATOR)]
    estimators = ["## Estimators of scikit-learn", prose(Estimator), *members(Estimator), "\n".join(rows)]
    return "\n\n".join(["# Python functions", intro, *functions, *classes, *estimators]) + "\n"


def members(kind: type) -> list[str]:
    """The fields, properties and methods of a class, a line each."""
    shown = SHOWN if kind is Estimator else [name for name in vars(kind) if not name.startswith("_")]
    noted = dict(re.findall(r"^    (\w+): .*?  # (.+)$", inspect.getsource(kind), re.MULTILINE))
    lines = [f"- `{field.name}`{f': {noted[field.name]}' if field.name in noted else ''}" for field in fields(kind)
             if not field.kw_only] if is_dataclass(kind) else []
    lines += [f"- `{name}`: {' '.join(prose(vars(kind)[name]).split())}" for name in shown
              if inspect.getdoc(vars(kind)[name]) and name not in kind.__annotations__]
    return ["\n".join(lines)] if lines else []


def signature(name: str, function: Any) -> str:
    """A function with its parameters, one a line."""
    found = inspect.signature(function)
    parts = []
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "    *," not in parts:
            parts.append("    *,")
        parts.append(f"    {parameter},")
    return written("\n".join(["```python", f"{name}(", *parts, f") -> {found.return_annotation.__name__}", "```"]))


def written(kind: Any) -> str:
    """A type without the places where its parts are defined."""
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return re.sub(r"(?:[a-z_]+\.)+(?=[A-Za-z])", "", text) if "```" not in text else "\n".join(
        line if line.startswith(("```", "mlcli.")) else written(line) for line in text.splitlines())


def prose(subject: Any) -> str:
    """A docstring, each paragraph in one line."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(subject) or "").split("\n\n"))


def coded(text: str) -> str:
    """A text as HTML that a table of Markdown keeps as it is: in backticks a stroke would end its cell."""
    return escape(text, quote=False).replace("|", "&#124;").replace("_", "&#95;")


def escaped(text: str) -> str:
    """A text without what a table of Markdown would read as its own, but for code in backticks."""
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;").replace("|", "\\|").replace("*", "\\*")
                   for part in CODE.split(text))
