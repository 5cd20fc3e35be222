"""Names that installed packages add to tables of choices."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from mlcli.base.values import plugins
from mlcli.base.values.choices import Choices
from mlcli.base.values.options import Options
from mlcli.errors import ConfigError, DependencyMissing
from tests.plugins import describe
from tests.wording import Wording

GROUP = "mlcli.methods"
HEAD = "from typing import Literal\nfrom tests.base.values.test_plugins import Shape\n"


class Shape(Options):
    """The base."""


class Circle(Shape):
    """One of the program's own."""

    name: Literal["circle"] = "circle"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on Python's path for packages that are forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    caches = (plugins.installed, plugins.packages)
    for cached in caches:
        cached.cache_clear()
    yield tmp_path
    for cached in caches:
        cached.cache_clear()
    for name in [name for name in sys.modules if name.startswith("added_")]:
        del sys.modules[name]


def package(site: Path, name: str, code: str, entries: dict[str, str]) -> None:
    """A package of one module with entries by name."""
    (site / f"{name}.py").write_text(HEAD + code, encoding="utf-8")
    describe(site, name, "1.0", {GROUP: {key: f"{name}:{place}" for key, place in entries.items()}})


def square(name: str = "square") -> str:
    return f"class Square(Shape):\n    name: Literal['{name}'] = '{name}'\n    side: int = 1\n"


def shapes() -> Choices:
    """A table that is open, as it is after a start."""
    return Choices(Shape, {"circle": "tests.base.values.test_plugins:Circle"}, {"disk": "circle"}, "methods")


def test_a_name_of_an_installed_package_is_found_listed_and_validated(site: Path) -> None:
    package(site, "added_square", square(), {"square": "Square"})
    table = shapes()
    assert "square" in table and table["square"].__name__ == "Square" and [*table] == ["circle", "square"]
    assert table.named("SQUARE") is table["square"] and table.validate({"name": "square", "side": 2}).side == 2
    assert table.plugin("square").facts() == {  # type: ignore[union-attr]
        "table": "methods", "name": "square", "package": "added_square", "version": "1.0"}
    assert table.plugin("circle") is None and len(table) == 2 and not table.unusable


def test_a_name_of_the_program_is_found_without_a_look_at_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "installed", None)
    table = shapes()
    assert table["circle"] is Circle and table.named("Disk") is Circle and "circle" in table
    assert table.validate({"name": "circle"}) == Circle()


def test_a_table_that_is_not_open_has_no_names_of_packages(site: Path) -> None:
    package(site, "added_square", square(), {"square": "Square"})
    assert [*Choices(Shape, {"circle": "tests.base.values.test_plugins:Circle"})] == ["circle"]


def test_two_packages_of_one_name_are_refused_by_name(site: Path) -> None:
    for name in ("added_one", "added_two"):
        package(site, name, square(), {"square": "Square"})
    with pytest.raises(ConfigError) as raised:
        shapes()["square"]
    assert raised.value.code == "E-PLUGIN-TWICE" and "pip uninstall added_" in raised.value.hint
    assert all(part in raised.value.what for part in ("'square'", "added_one 1.0", "added_two 1.0"))
    assert [*shapes()] == ["circle"] and [error.code for error in shapes().unusable] == ["E-PLUGIN-TWICE"]


@pytest.mark.parametrize(("code", "entries", "said"), [
    ("import not_there", {"square": "Square"}, "ModuleNotFoundError: No module named 'not_there'"),
    ("raise SystemExit(3)", {"square": "Square"}, "SystemExit: 3"),
    ("", {"square": "Square"}, "AttributeError: module 'added_square' has no attribute 'Square'"),
    ("Square = 1", {"square": "Square"}, "tests.base.values.test_plugins.Shape"),
    (square("cube"), {"square": "Square"}, "`name`"),
    (square() + "    corner: 'Unknown' = 1\n", {"square": "Square"}, "PydanticUndefinedAnnotation"),  # and more lines
    (square("A b"), {"A b": "Square"}, "'A b'")],
    ids=["import", "exit", "no such object", "no class", "another name", "unknown type", "no name"])
def test_a_package_that_cannot_be_used_is_named(site: Path, code: str, entries: dict[str, str], said: str,
                                                wording: Wording) -> None:
    package(site, "added_square", code, entries)
    (name,), table = entries, shapes()
    with pytest.raises(DependencyMissing) as raised:
        table[name]
    assert wording(str(raised.value).partition("\n")[0]) == [] and raised.value.code == "E-PLUGIN"
    assert f"'{name}' of package added_square 1.0 " in raised.value.what and said in raised.value.what
    assert [*table] == ["circle"] and [error.what for error in table.unusable] == [raised.value.what]


@pytest.mark.parametrize("taken", ["circle", "disk"])
def test_a_name_that_the_program_has_stays_the_programs(site: Path, taken: str, wording: Wording) -> None:
    package(site, "added_square", square(taken), {taken: "Square"})
    assert shapes().named(taken) is Circle and [*shapes()] == ["circle"]
    assert [*map(wording, shapes().unusable)] == [["E-PLUGIN"]]


def test_an_unknown_name_is_an_error_of_the_options(site: Path) -> None:
    package(site, "added_square", square(), {"square": "Square"})
    with pytest.raises(ValidationError, match="'circle', 'square'"):
        TypeAdapter(dict[str, shapes_type()]).validate_python({"a": {"name": "cube"}})  # type: ignore[misc]


def shapes_type() -> object:
    """The type of a section that the table chooses."""
    from typing import Annotated

    return Annotated[Shape, shapes()]


def test_an_error_from_the_code_of_a_package_names_it(site: Path) -> None:
    package(site, "added_square", f"{square()}def area():\n    return 1 / 0\n", {"square": "Square"})
    area = plugins.object_at("added_square:area")
    with pytest.raises(ZeroDivisionError) as raised:
        area()
    assert plugins.culprit(raised.value).package == "added_square"  # type: ignore[union-attr]
    with pytest.raises(ZeroDivisionError) as raised:
        1 / 0  # noqa: B018
    assert plugins.culprit(raised.value) is None


@pytest.mark.parametrize(("package", "named"), [("mlcli-shapes", True), ("x'; rm -rf ~", False)])
def test_a_package_that_a_run_needs_is_named_unless_no_package_has_such_a_name(site: Path, package: str,
                                                                               named: bool, wording: Wording) -> None:
    kept = {"table": "methods", "name": "square", "package": package, "version": "1.0"}
    with wording.raises(DependencyMissing, "PLUGIN-MISSING") as raised:
        plugins.require_installed([kept], "runs/x")
    error = raised.value
    assert error.where == "runs/x" and "'square'" in error.what and (f"{package} 1.0" in error.what) == named
    assert ("pip install 'mlcli-shapes==1.0'" in error.hint) == named and ("rm -rf" not in str(error))
    plugins.require_installed([{**kept, "table": "unknown"}], "runs/x")
