"""The files of the package, each parsed once for all laws about them."""

import ast
from functools import cache
from pathlib import Path

import mlcli

PACKAGE = Path(mlcli.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All parts of a file, however deep."""
    return tuple(ast.walk(parsed(path)))


def texts(path: Path) -> list[str]:
    """The texts in a file."""
    return [node.value for node in nodes(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
