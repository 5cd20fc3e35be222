"""The files of the package, each parsed once for all laws about them."""

import ast
import gc
from functools import cache
from pathlib import Path

import mlcli

PACKAGE = Path(mlcli.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


def differing(tree: Path, installed: Path) -> list[str]:
    """The Python files of a source tree and of an installed copy that only one of them has, or that differ."""
    if tree.resolve() == installed.resolve():
        return []
    names = {path.relative_to(root) for root in (tree, installed) for path in root.rglob("*.py")}
    return sorted(str(name) for name in names if not (tree / name).is_file() or not (installed / name).is_file()
                  or (tree / name).read_bytes() != (installed / name).read_bytes())


def parsed(path: Path) -> ast.Module:
    return _trees()[path]


@cache
def _trees() -> dict[Path, ast.Module]:
    """The module of each file: a million nodes that stay, so that no collection of garbage looks through them."""
    gc.collect()
    gc.disable()
    try:
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
    finally:
        gc.freeze()
        gc.enable()


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All parts of a file, however deep."""
    return tuple(ast.walk(parsed(path)))


def texts(path: Path) -> list[str]:
    """The texts in a file."""
    return [node.value for node in nodes(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
