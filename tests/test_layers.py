"""Imports point downward only, and the house keeps its sizes."""

import ast
from pathlib import Path

import pytest

import mlcli

PACKAGE = Path(mlcli.__file__).parent
LAYERS = [{"cli", "__main__"}, {"reuse", "comparing", "verification"},
          {"pipeline", "planning", "checkup", "readback"}, {"certify"}, {"rundir", "report"}, {"config"},
          {"methods", "data"}, {"stages"}, {"engine"}, {"native"}, {"base"}, {"errors"}]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
STRANGERS = [("methods", "data"), ("rundir", "report")]
FILES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else (
            [f"{node.module}.{a.name}" for a in node.names] if isinstance(node, ast.ImportFrom) and node.module else [])
        rooms |= {name.split(".")[1] for name in names if name.startswith("mlcli.")}
    return rooms - {"__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    own = room(path)
    if own == "__init__":
        assert not imported_rooms(path)
        return
    for other in imported_rooms(path) - {own}:
        assert LEVEL[other] >= LEVEL[own], f"{own} imports {other}, which lies above it"
        assert (own, other) not in STRANGERS and (other, own) not in STRANGERS, f"{own} must not know {other}"


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
    for path in (PACKAGE / "methods").glob("*.py"):
        if path.stem not in ("base", "__init__"):
            assert path.read_text().count("\n") <= 80, path.name
