"""Imports point downward only, and the house keeps its sizes."""

import ast
import graphlib
from pathlib import Path

import pytest

import mlcli
from mlcli.methods import METHODS

PACKAGE = Path(mlcli.__file__).parent
LAYERS = [{"door"}, {"cli", "__main__"}, {"routing", "collecting", "exploring"},
          {"reuse", "comparing", "redrawing", "verification", "exporting"},
          {"pipeline", "assessed", "begun", "result", "planning", "calibration", "checkup", "readback"}, {"certify"},
          {"ahead"}, {"once"}, {"rundir", "report"}, {"config"}, {"methods", "data"}, {"stages"}, {"engine"},
          {"native"}, {"storage"}, {"base"}, {"errors"}]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ROOMS = [{"chain"}, {"similarities"}, {"unfolding", "latent", "neural", "gaussian"}, {"paths", "linear"}, {"kernels"},
         {"eigen", "graph"}, {"algebra"}]
ROOM_LEVEL = {name: level for level, names in enumerate(ROOMS) for name in names}
LONGER = {"autoencoder": 150, "gpdm": 150, "gplvm": 150, "vae": 150}  # lines of methods with parts of several kinds
STRANGERS = [("methods", "data"), ("rundir", "report")]
FILES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """Dotted names that a file imports from the package, for types only or inside of functions as well."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else (
            [f"{node.module}.{a.name}" for a in node.names] if isinstance(node, ast.ImportFrom) and node.module else [])
        found |= {name for name in names if name.startswith("mlcli.")}
    return found


def imported_rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported(path)} - {"__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    own = room(path)
    if own == "__init__":
        assert not imported_rooms(path)
        return
    for other in imported_rooms(path) - {own}:
        assert LEVEL[other] >= LEVEL[own], f"{own} imports {other}, which lies above it"
        assert (own, other) not in STRANGERS and (other, own) not in STRANGERS, f"{own} must not know {other}"


@pytest.mark.parametrize("path", [path for path in FILES if room(path) == "stages"],
                         ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_of_stages_import_downward(path: Path) -> None:
    own = path.relative_to(PACKAGE / "stages").with_suffix("").parts[0]
    for name in imported(path):
        parts = name.split(".")
        if own != "__init__" and parts[1] == "stages" and parts[2] != own:
            assert ROOM_LEVEL[parts[2]] > ROOM_LEVEL[own], f"{own} imports {parts[2]}, which does not lie below it"


def test_no_file_imports_itself_in_the_end() -> None:
    def dotted(path: Path) -> str:
        return ".".join(("mlcli", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")

    modules = {dotted(path): path for path in FILES}
    compiled = "mlcli.native._kernels"
    edges = {name: {other if other in modules else other.rpartition(".")[0] for other in imported(path) - {compiled}}
             for name, path in modules.items()}
    try:
        tuple(graphlib.TopologicalSorter(edges).static_order())
    except graphlib.CycleError as error:
        pytest.fail(f"a cycle of imports: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_and_functions_keep_their_sizes(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 300
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "every file says what it is for"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 60, node.name


def test_methods_stay_short_enough_to_read_as_formulas() -> None:
    """What a method says of itself stands in its docstring, which is not counted."""
    for name in METHODS:
        text = (PACKAGE / "methods" / f"{name}.py").read_text()
        words = METHODS[name].__doc__ or ""
        assert text.count("\n") - words.count("\n") <= LONGER.get(name, 87), name


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_theorem(name: str) -> None:
    """An identity with another method, an invariant, or a case with a known answer."""
    theorems = [path.read_text() for path in (Path(__file__).parent / "theorems").glob("test_*.py")]
    assert any(f'"{name}"' in text for text in theorems), f"tests/theorems states nothing of {name}"
