"""Imports point downward only, without a circle, and every file and method says what it is."""

import ast
import graphlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from mlcli.findings import NAMES
from mlcli.methods import FAMILIES, METHODS
from tests.package import FILES, PACKAGE, nodes, parsed

# The rooms from the top to the bottom: each may use those below it, and of its own line itself alone.
ROOMS = """
sklearn
api, __main__
cli/commands
cli/batch
cli
cli/screen, explore
cli/line
explain
planning, runs, checkup
pipeline
report/interactive, report/comparison, report/relation
report/page
report/paper
findings/*
rundir, report/figures
report/tables
report/drawing
config
findings
data/write
data/read
data/pairs
data/formats, data/prepare
data/text, data/samples
data/table
data/files
data/options
methods/*
methods
certify
core/check
core/latent, core/layouts
core/chain
core/model
core/similarities
core/paths
core/kernels
core/eigen, core/graph, core/relation
core/metrics
core
engine/cluster
engine
native
storage
base/values
publication
process
base/rows
base/machine, base/stages
base
errors
"""
LEVEL = {name: level for level, line in enumerate(ROOMS.strip().splitlines()) for room in line.split(",")
         for name in ([f"methods/{family}" for family in FAMILIES] if room == "methods/*" else [room.strip()])}
HOUSES = {room.split("/")[0] for room in LEVEL if "/" in room}  # packages that consist of rooms
STRANGERS = [{"methods", "data"}, {"rundir", "report"}]
CONTEXT = PACKAGE / "base/context.py"  # names the types of all that surrounds a stage, and loads none of them
DECLARATIONS = [*(PACKAGE / "findings").glob("*.py"),
                *(PACKAGE / "findings" / name / "__init__.py" for name in NAMES
                  if (PACKAGE / "findings" / name).is_dir())]


def room(parts: Sequence[str]) -> str:
    """The room of a module, of its names below the package: `data/read`, `pipeline`, or `cli` for a file in it."""
    if parts[0] == "findings":  # what stands beside its packages are declarations
        return "findings/*" if (PACKAGE / "/".join(parts[:2])).is_dir() and len(parts) > 1 else "findings"
    inner = "/".join(parts[:2])
    return inner if parts[0] in HOUSES and inner in LEVEL else parts[0]


@cache
def imported(path: Path, *, at_once: bool = False) -> set[str]:
    """Dotted names that a file imports from the package, for types only or inside of functions as well.

    With `at_once`, those alone that are imported with the file.
    """
    names: set[str] = set()
    types = {inner for node in nodes(path) if path == CONTEXT and isinstance(node, ast.If)
             and ast.unparse(node.test) == "TYPE_CHECKING" for inner in ast.walk(node)}
    for node in parsed(path).body if at_once else nodes(path):
        if node in types:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.startswith("mlcli.") and name != "mlcli.__version__"}


def neighbors(path: Path, *, at_once: bool = False) -> set[str]:
    """The rooms that a file imports from."""
    return {room(name.split(".")[1:]) for name in imported(path, at_once=at_once)} - {"findings"}


@pytest.mark.medium
def test_imports_point_down() -> None:
    wrong = []
    for path in FILES:
        name = path.relative_to(PACKAGE).with_suffix("")
        if name == Path("__init__"):
            assert not imported(path)
            continue
        own = room(name.parts)
        if own == "findings":  # computing, reading and drawing are imported inside of functions
            own = "findings/*"
        wrong += [f"{name} imports {other}" for other in neighbors(path) - {own} if LEVEL[other] <= LEVEL[own]
                  or {own.split("/")[0], other.split("/")[0]} in STRANGERS]
    assert wrong == []


def test_declarations_of_findings_import_what_lies_below_the_options() -> None:
    assert [f"{path} imports {other}" for path in DECLARATIONS for other in neighbors(path, at_once=True)
            if LEVEL[other] <= LEVEL["findings"]] == []


def test_the_picture_in_contributing_has_these_rooms() -> None:
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = text.partition("## The house")[2].split("```", 2)[1]
    picture = [line.split("  ")[0].strip() for line in drawn.splitlines() if line.strip()]
    assert picture == [", ".join(part.strip() for part in line.split(",")) for line in ROOMS.strip().splitlines()]


@pytest.mark.medium
def test_no_file_imports_itself_in_the_end() -> None:
    def dotted(path: Path) -> str:
        return ".".join(("mlcli", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")

    modules = {dotted(path): path for path in FILES}
    compiled = "mlcli.native._kernels"
    edges = {name: {other if other in modules else other.rpartition(".")[0]
                    for other in imported(path, at_once=path in DECLARATIONS) - {compiled}}
             for name, path in modules.items()}
    try:
        tuple(graphlib.TopologicalSorter(edges).static_order())
    except graphlib.CycleError as error:
        pytest.fail(f"a cycle of imports: {' <- '.join(error.args[1])}")


def test_every_file_says_what_it_is_for() -> None:
    assert [path for path in FILES if not ast.get_docstring(parsed(path))] == []


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_theorem(name: str) -> None:
    """An identity with another method, an invariant, or a case with a known answer."""
    theorems = [path.read_text() for path in (Path(__file__).parents[1] / "laws/theorems").rglob("test_*.py")]
    assert any(f'"{name}"' in text for text in theorems), f"tests/laws/theorems states nothing of {name}"
