"""How data are read is decided by what was read: no error of our own is caught for it, and no code is compared."""

import ast
from collections.abc import Iterator

import pytest

from mlcli import errors
from tests.package import FILES, PACKAGE, parsed

OWN = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.MlcliError)}
DATA = [path for path in FILES if path.is_relative_to(PACKAGE / "data")]


def catches(tree: ast.AST) -> Iterator[str]:
    """Handlers of own errors that may go on, suppressed ones, and comparisons of their codes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            if names_in(node.type) & OWN and not isinstance(node.body[-1], ast.Raise):
                yield f"line {node.lineno}: except {ast.unparse(node.type)} goes on"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            if names_in(node) & OWN:
                yield f"line {node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("error.code"):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("source", [
    "try:\n    read()\nexcept DataError:\n    pass", "try:\n    read()\nexcept (OSError, MlcliError) as e:\n    x = 1",
    "with suppress(DataError):\n    read()", "if error.code == 'E-EMPTY':\n    pass",
    "if error.code in ('E-EMPTY',):\n    pass"])
def test_errors_that_decide_are_found(source: str) -> None:
    assert len([*catches(ast.parse(source))]) == 1


def test_no_error_of_our_own_decides_how_data_are_read() -> None:
    assert len(DATA) > 50
    assert [f"{path.name}, {found}" for path in DATA for found in catches(parsed(path))] == []
