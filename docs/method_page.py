"""The page of a method: picture, commands and formulas of methods.yaml, its docstring under headings, its options."""

import inspect
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import TypedDict

import yaml

from mlcli.base.values.options import TAG
from mlcli.cli.line.parsing import in_flags
from mlcli.config.describe import LIST, OptionRow, listed, quoted, rows
from mlcli.config.flags import FLAGS
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import file_name
from mlcli.methods import METHODS, Method

HERE = Path(__file__).parent
THREE = re.compile(r"(It keeps .+?\.) (It fails .+?\.) (Set .+\.)")  # what each method's second paragraph says
BEGINS = re.compile(r"^(It keeps|It fails|Set)")
HEADING = re.compile(r"([A-Z][a-z]+(?: [a-z]+){0,3}): ")  # how a paragraph begins that has one
HEADINGS = {"Files": "What the files hold"}  # those that are longer on a page than in a docstring
PAGE = re.compile(r"`?docs/((?:methods/)?[a-z-]+)\.md`?")  # as sentences of docstrings and options name one
WIDE = 88  # characters of a line of a command
OPTIONAL, OFF = "a section or null", "a section of the options below (on) or null (off)"
SCALES = {"roots": "coordinates V √λ", "unit": "coordinates V", "variance": "coordinates √n V"}
NOTED = {"gower": " (minus half the squared distances; not the metric of that name)"}  # kernels
INPUTS = {  # what a method takes, by the name of its class in mlcli/base/values/inputs.py
    "Features": "a table of features",
    "Covariance": "a covariance matrix (`--kind covariance`)",
    "Dissimilarities": "a matrix of dissimilarities (`--dissimilarities`)",
    "Similarities": "a kernel matrix (`--kind kernel`)",
    "LengthGraph": "a graph whose edges have lengths (`--graph --set input.edges=lengths`)",
    "AffinityGraph": "a graph whose edges have affinities (`--graph --set input.edges=affinities`)",
    "Labeled": "a table of features with a label column (`--label-column`)",
    "CrossLabeled": "a table of features with two label columns, of styles and of contents (`--label-column` twice)",
    "TwoViews": "a table of features with a second view, another table of the same rows (`--view`)",
    "ViewedDissimilarities": "a matrix of dissimilarities (`--dissimilarities`) with a table of the same rows "
                             "(`--view`)"}
SEVERAL = {  # of methods that take each table, or matrix, as one of several
    "Features": "one or several tables of features of the same rows (`--view`)",
    "ViewedDissimilarities": "several matrices of dissimilarities of the same points (`--dissimilarities`, `--view`)"}
PLACED = "`mlcli project` places new rows in a finished run"
WITHOUT = {"graph": "a graph", "covariance": "a covariance matrix"}  # kinds of input whose runs place no new rows
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
        "\n".join(["```sh", *map(folded, begin["commands"]), "```"]), result_of(begin["commands"], kind),
        *(f"```math\n{formula}\n```" for formula in begin["formulas"]),
        begin["symbols"],
        "\n".join(BEGINS.sub(r"- **\1**", part) for part in said.groups()),
        f"`mlcli explain {name} DATA` shows [each step](../explain.md) on a dozen rows.",
        *headed([linked(part) for part in prose], placed(kind)), "## Input", *taken(name, kind), *chain_of(name, kind),
        "## Options",
        f"Set an option with `--set`, such as `--set {example(own)}`; in the text the prefix `method.` is left out. "
        "A flag that sets an option, too, stands behind its name.", table(own),
        f"`mlcli methods {name}` prints this text and these options in the terminal."]) + "\n"


def folded(command: str) -> str:
    """A command in lines of a width that is seen whole, each but the first with an option at its begin."""
    lines = [""]
    for part in re.split(r" (?=--)", command):
        if len(lines[-1]) + len(part) < WIDE or not lines[-1]:
            lines[-1] = f"{lines[-1]} {part}".strip()
        else:
            lines.append(part)
    return " \\\n    ".join(lines)


def result_of(commands: list[str], kind: type[Method]) -> str:
    """The sentence on the folder that the last fit among commands writes, and its main files."""
    *_, words = [words for _, verb, *words in map(shlex.split, commands) if verb == "embed"]
    data = words[0] if not words[0].startswith("-") else words[words.index("--dissimilarities") + 1]
    folder = f"runs/{file_name(data)}-{words[words.index('--method') + 1]}"
    loaded = "`loadings.csv` holds" in " ".join(paragraphs(kind))
    made = " what the axes are made of in `loadings.csv`," if loaded else ""
    return (f"The result is in the folder `{folder}`: the coordinates in `embedding.csv`,{made} the picture in "
            "`scatter.svg`, the numbers of the fit in `run.json`, and all of it on the page `report.html` ([what each "
            "file holds](../files.md)).")


def linked(text: str, up: str = "../") -> str:
    """A sentence with links in place of the names of pages, which lie in the folder `up`."""
    def link(found: re.Match[str]) -> str:
        method = found[1].removeprefix("methods/")
        return f"[{headline(found[1]) if method == found[1] else f'`{method}`'}]({up}{found[1]}.md)"

    return PAGE.sub(link, text)


def headline(page: str) -> str:
    """The first heading of a page in docs/."""
    lines = (HERE / f"{page}.md").read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix("# ") for line in lines if line.startswith("# "))


def paragraphs(kind: type[Method]) -> list[str]:
    """A method's docstring, each paragraph in one line."""
    return [" ".join(part.split()) for part in (kind.__doc__ or "").split("\n\n")]


def placed(kind: type[Method]) -> str:
    """The sentence on the command that places new rows, and the runs that have no place for them."""
    none = [said for name, said in WITHOUT.items() if any(accepted.kind == name for accepted in kind.accepts)]
    return f"{PLACED}{', unless it was made from ' if none else ''}{listed(none, 'or')}."


def headed(prose: list[str], first: str) -> list[str]:
    """Paragraphs, with a heading above those that begin with one, and a first sentence on new points."""
    made = []
    for part in prose:
        found = HEADING.match(part)
        if found is not None:
            made.append(f"## {HEADINGS.get(found[1], found[1])}")
            part = part[found.end():]
            if found[1] == "New points" and not part.startswith("`mlcli project`"):
                part = f"{first} {part}"
        made.append(part)
    return made


def title(kind: type[Method]) -> str:
    """What the field calls a method: the first line of its file."""
    return (inspect.getdoc(sys.modules[kind.__module__]) or "").splitlines()[0].rstrip(".")


def taken(name: str, kind: type[Method]) -> list[str]:
    """What a method takes and has, and what else it is called."""
    known = INPUTS | (SEVERAL if kind.joins_views else {})
    inputs = listed([known[accepted.__name__] for accepted in kind.accepts], "or")
    takes = f"The input is {inputs}. {kind.holds().replace('spectrum.csv', '`spectrum.csv`')}"
    made = [f"`{part}`" for part in kind().makes()]
    takes += f" With `--keep`, a run also keeps {listed(made, 'or')}." if made else ""
    called = [f"`{other}`" for other in METHODS.other_names(name)]
    names = f"`--method` also accepts the name{'s' * (len(called) > 1)} {listed(called, 'and')}."
    return [takes, names] if called else [takes]


def inputs_of(kind: type[Method]) -> str:
    """The inputs that a method takes."""
    return " or ".join(map(in_flags, kind.inputs()))


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
    made = f"kernel `{kernel.name}`{NOTED.get(kernel.name, '')}"
    stages = [*distances, *graph, *paths, *([*centering, made] if chain.centering == "columns" else
                                            [made, *centering])]
    scale = "coordinates λᵗ ψ" if kernel.sized else SCALES[chain.coordinates.scale]
    said = f"Its chain: {' → '.join([*stages, 'eigenvectors', scale])}."
    return [f"{said} `mlcli methods {name} --yaml` writes it out with all options; [Chains](../chains.md) says what "
            "can be exchanged."]


def example(own: list[OptionRow]) -> str:
    """An option of a method with a value: another choice than the default, or a default that is a number."""
    plain = [row for row in own if [*row.only] == ["method"] and row.path not in flags() and row.default != "null"]
    choices = [f"{row.path}={name}" for row in plain if not row.type.startswith(LIST) for name in quoted(row.type)
               if name not in (row.default, "auto")]
    numbers = [f"{row.path}={row.default}" for row in plain if row.default[:1].isdigit()]
    return [*choices, *numbers, *(f"{row.path}=3" for row in own)][0]


@cache
def flags() -> dict[str, str]:
    """The shortest flag of each option that has one."""
    return {path: flag.names[0] for flag in reversed(FLAGS.values()) if not flag.constant and not flag.says
            for path in (flag.path, flag.also) if path}


def table(described: list[OptionRow], up: str = "../") -> str:
    """Options as a table, each with the alternatives that have it or the section that must be there for it.

    An option of several alternatives is one row, also where its defaults differ. Pages that sentences name lie in the
    folder `up`.
    """
    lines = ["| option | values | default | what it is for |", "|---|---|---|---|"]
    absent = [row.path for row in described if row.type == OPTIONAL and row.default == "null"]
    alike: dict[tuple[str, ...], list[OptionRow]] = {}
    for row in described:
        alike.setdefault((row.path, row.words, row.sentence), []).append(row)
    for rows_of_one in alike.values():
        row = rows_of_one[0]
        flag = f" (`{flags()[row.path]}`)" if row.path in flags() else ""
        words = OFF if row.type == OPTIONAL else row.words.replace("|", "\\|")
        under = [f"`{path.rpartition('.')[2]}`" for path in absent if row.path.startswith(f"{path}.")]
        names = listed([*under, *scopes(rows_of_one)], "or")
        scope = f"With {names}: " if names else ""
        lines.append(f"| `{row.path}`{flag} | {words} | {defaults(rows_of_one)} | {scope}{linked(row.sentence, up)} |")
    return "\n".join(lines)


def scopes(alike: list[OptionRow]) -> list[str]:
    """The alternatives that have an option, each as the options that choose it; one of the same section is its name."""
    found, last = [], ""
    for row in alike:
        chosen = [(section.removeprefix("method."), name) for section, name in row.only.items() if section != "method"]
        if chosen:
            *outer, (section, name) = chosen
            before = " and ".join(f"`{part}.{TAG}: {choice}`" for part, choice in (*outer, (section, "")))
            said = " and ".join(f"`{part}.{TAG}: {choice}`" for part, choice in chosen)
            found.append(f"`{name}`" if before == last else said)
            last = before
    return list(dict.fromkeys(found))


def defaults(alike: list[OptionRow]) -> str:
    """The default of an option, or that of each alternative."""
    if len({row.default for row in alike}) == 1:
        return f"`{alike[0].default}`" if alike[0].default else ""
    return ", ".join(f"`{row.default}` for `{[*row.only.values()][-1]}`" for row in alike)
