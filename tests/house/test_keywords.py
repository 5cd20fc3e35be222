"""More than three values of one type are passed by keyword: no call gives them by their places."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from tests.package import FILES, parsed

MOST = 3


def fields_of(kind: ast.ClassDef) -> list[str]:
    """The types of the values that a frozen class takes by place."""
    return [ast.unparse(part.annotation) for part in kind.body
            if isinstance(part, ast.AnnAssign) and "ClassVar" not in ast.unparse(part.annotation)]


def parameters_of(function: ast.FunctionDef, bound: bool) -> list[str]:
    """The types of the values that a function takes by place; a method's first is not given."""
    places = [*function.args.posonlyargs, *function.args.args][bound:]
    return [ast.unparse(place.annotation) if place.annotation else "" for place in places]


def declared(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """What can be called in a file, by name, with the types that it takes by place."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, parameters_of(node, False)
        if isinstance(node, ast.ClassDef):
            if any("frozen" in ast.unparse(decorator) for decorator in node.decorator_list):
                yield node.name, fields_of(node)
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    static = any("static" in ast.unparse(decorator) for decorator in part.decorator_list)
                    yield node.name if part.name == "__init__" else part.name, parameters_of(part, not static)


@cache
def callables() -> dict[str, list[list[str]]]:
    """All that can be called in the package; several may have one name."""
    found: dict[str, list[list[str]]] = {}
    for path in FILES:
        for name, types in declared(parsed(path)):
            found.setdefault(name, []).append(types)
    return found


def crowded(tree: ast.Module) -> Iterator[str]:
    """Calls that give more than a few values of one type by place: of the callee in the file, or of any by its name."""
    here = {name: [types] for name, types in declared(tree)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(isinstance(value, ast.Starred) for value in node.args):
            continue
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
        for types in here.get(name) or callables().get(name, []):
            counts = Counter(kind.partition(" |")[0] for kind in types[: len(node.args)] if kind)
            if len(types) >= len(node.args) and counts and max(counts.values()) > MOST:
                yield f"line {node.lineno}: {name}"


@pytest.mark.medium
def test_many_values_of_one_type_are_passed_by_keyword() -> None:
    assert not [f"{path}, {call}" for path in FILES for call in crowded(parsed(path))]


@pytest.mark.medium
def test_a_call_by_places_is_found() -> None:
    assert list(crowded(ast.parse("Bar('frame', 1.0, 2.0, 3.0, 4.0)"))) == ["line 1: Bar"]
    assert not list(crowded(ast.parse("Bar(kind='frame', x=1.0, y=2.0, width=3.0, height=4.0)")))
