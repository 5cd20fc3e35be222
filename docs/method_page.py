"""The page of a method: picture, commands and formulas of methods.yaml, its docstring under headings, its options."""

import inspect
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import TypedDict

import yaml

from mlcli.cli.line.parsing import in_flags
from mlcli.config.describe import OptionRow, listed, merge, rows
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import file_name
from mlcli.methods import METHODS, Method

HERE = Path(__file__).parent
THREE = re.compile(r"(It keeps .+?\.) (It fails .+?\.) (Set .+\.)")  # what each method's second paragraph says
BEGINS = re.compile(r"^(It keeps|It fails|Set)")
HEADING = re.compile(r"([A-Z][a-z]+(?: [a-z]+){0,3}): ")  # how a paragraph begins that has one
HEADINGS = {"Files": "What the files hold"}  # those that are longer on a page than in a docstring
PAGE = re.compile(r"`?docs/([a-z-]+)\.md`?")  # as sentences of docstrings and options name one
WIDE = 88  # characters of a line of a command
OPTIONAL, OFF = "a section or null", "a section of the options below (on) or null (off)"
SCALES = {"roots": "coordinates V √λ", "unit": "coordinates V", "variance": "coordinates √n V"}
CENTERINGS = {"double": "rows and columns centered", "columns": "columns centered"}


class Beginning(TypedDict):
    """What the page of a method begins with."""

    picture: str
    commands: list[str]
    formulas: list[str]
    symbols: str


@cache
def beginnings() -> dict[str, Beginning]:
    """The commands and formulas of every method."""
    found: dict[str, Beginning] = yaml.safe_load((HERE / "methods.yaml").read_text(encoding="utf-8"))
    return found


def method_page(name: str, kind: type[Method]) -> str:
    """A method's page, from its picture to its options."""
    summary, three, *prose = paragraphs(kind)
    begin = beginnings()[name]
    own = [row for row in rows(RunConfig) if row.only.get("method") == name and row.type != "a section"]
    said = THREE.fullmatch(three)
    assert said is not None, f"{name}: its second paragraph lacks what it keeps, when it fails, or what to set first"
    return "\n\n".join([
        f"# {title(kind)}: `{name}`", summary, f"![{title(kind)}](../pictures/methods/{name}.svg)", begin["picture"],
        "\n".join(["```sh", *map(folded, begin["commands"]), "```"]), result_of(begin["commands"][-1]),
        *(f"```math\n{formula}\n```" for formula in begin["formulas"]),
        begin["symbols"],
        "\n".join(BEGINS.sub(r"- **\1**", part) for part in said.groups()),
        f"`mlcli explain {name} DATA` shows [each step](../explain.md) on a dozen rows.",
        *headed([linked(part) for part in prose]), "## Input", *taken(name, kind), *chain_of(name, kind), "## Options",
        table(own),
        f"In a shell: `mlcli methods {name}`."]) + "\n"


def folded(command: str) -> str:
    """A command in lines of a width that is seen whole, each but the first with an option at its begin."""
    lines = [""]
    for part in re.split(r" (?=--)", command):
        if len(lines[-1]) + len(part) < WIDE or not lines[-1]:
            lines[-1] = f"{lines[-1]} {part}".strip()
        else:
            lines.append(part)
    return " \\\n    ".join(lines)


def result_of(command: str) -> str:
    """The sentence on the folder that a command writes, and its main files."""
    _, verb, *words = shlex.split(command)
    assert verb == "embed", command
    data = words[0] if not words[0].startswith("-") else words[words.index("--dissimilarities") + 1]
    folder = f"runs/{file_name(data)}-{words[words.index('--method') + 1]}"
    return (f"The result is in the folder `{folder}`: the coordinates in `embedding.csv`, the picture in "
            "`scatter.svg`, the figures of the fit in `run.json`, and all of it on the page `report.html` ([what each "
            "file holds](../files.md)).")


def linked(text: str, up: str = "../") -> str:
    """A sentence with links in place of the names of pages, which lie in the folder `up`."""
    return PAGE.sub(lambda found: f"[{headline(found[1])}]({up}{found[1]}.md)", text)


def headline(page: str) -> str:
    """The first heading of a page in docs/."""
    lines = (HERE / f"{page}.md").read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix("# ") for line in lines if line.startswith("# "))


def paragraphs(kind: type[Method]) -> list[str]:
    """A method's docstring, each paragraph in one line."""
    return [" ".join(part.split()) for part in (kind.__doc__ or "").split("\n\n")]


def headed(prose: list[str]) -> list[str]:
    """Paragraphs, with a heading above those that begin with one."""
    made = []
    for part in prose:
        found = HEADING.match(part)
        if found is not None:
            made.append(f"## {HEADINGS.get(found[1], found[1])}")
            part = part[found.end():]
        made.append(part)
    return made


def title(kind: type[Method]) -> str:
    """What the field calls a method: the first line of its file."""
    return (inspect.getdoc(sys.modules[kind.__module__]) or "").splitlines()[0].rstrip(".")


def taken(name: str, kind: type[Method]) -> list[str]:
    """What a method takes and has, and what else it is called."""
    takes = f"It takes {inputs_of(kind)}. {kind.holds().replace('spectrum.csv', '`spectrum.csv`')}"
    made = kind().makes()
    takes += f" A run may keep {' and '.join(f'`{name}`' for name in made)} (`--keep`)." if made else ""
    called = other_names(METHODS.other_names(name)).strip()
    return [takes, called] if called else [takes]


def inputs_of(kind: type[Method]) -> str:
    """The inputs that a method takes."""
    return " or ".join(dict.fromkeys(in_flags(accepted.description()) for accepted in kind.accepts))


def other_names(names: tuple[str, ...] | list[str]) -> str:
    """What else people may type for one of several kinds, as a sentence."""
    return f" Also called {' or '.join(f'`{name}`' for name in names)}." if names else ""


def chain_of(name: str, kind: type[Method]) -> list[str]:
    """The stages of a method that is a chain, in a line."""
    chain = kind.model_validate({"name": name}).chain()
    if chain is None:
        return []
    graph = ["neighbors", f"graph ({chain.graph.rule})"] if chain.graph is not None else []
    paths = ["shortest paths"] if chain.paths is not None else []
    kernel = chain.kernel
    distances = ["distances"] if (kernel.of_distances or kernel.sized) and chain.graph is None else []
    centering = [] if kernel.centered else [CENTERINGS[chain.centering]]  # those are centered already
    made = f"kernel `{kernel.name}`"
    stages = [*distances, *graph, *paths, *([*centering, made] if chain.centering == "columns" else
                                            [made, *centering])]
    scale = "coordinates λᵗ ψ" if kernel.sized else SCALES[chain.coordinates.scale]
    said = f"Its chain: {' → '.join([*stages, 'eigenvectors', scale])}."
    return [f"{said} `mlcli methods {name} --yaml` writes it out with all options; [Chains](../chains.md) says what "
            "can be exchanged."]


def table(described: list[OptionRow], up: str = "../") -> str:
    """Options as a table, each with the alternatives that have it or the section that must be there for it.

    Pages that sentences name lie in the folder `up`.
    """
    lines = ["| option | values | default | what it is for |", "|---|---|---|---|"]
    absent = [row.path for row in described if row.type == OPTIONAL and row.default == "null"]
    for row, alternatives in merge(described):
        words = OFF if row.type == OPTIONAL else row.words.replace("|", "\\|")
        default = f"`{row.default}`" if row.default else ""
        under = [(path.rpartition(".")[2],) for path in absent if row.path.startswith(f"{path}.")]
        names = listed([" and ".join(f"`{name}`" for name in both) for both in (*under, *alternatives)], "or")
        scope = f"With {names}: " if names else ""
        lines.append(f"| `{row.path}` | {words} | {default} | {scope}{linked(row.sentence, up)} |")
    return "\n".join(lines)
