"""A section that is given in part keeps the defaults of the options that hold it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from mlcli.base.values.options import TAG, Options
from mlcli.config.build import write
from mlcli.config.yaml_file import parse
from mlcli.errors import ConfigError
from mlcli.methods import METHODS
from tests.config.support import configured, one
from tests.wording import Wording


class Inner(Options):
    """A section."""

    name: Literal["inner"] = "inner"
    size: int = 1
    count: int = 2


class Other(Options):
    """Another alternative of it."""

    name: Literal["other"] = "other"
    size: int = 3


class Outer(Options):
    """A section with a section, whose default is its own."""

    inner: Annotated[Inner | Other, Field(discriminator=TAG)] = Inner(size=5)
    shift: int = 4


class Holder(Options):
    """Options with a default for a section inside of a section."""

    outer: Outer = Outer(inner=Inner(size=6), shift=7)


def sections_of(options: Options, path: str = "method") -> Iterator[tuple[str, Options]]:
    """Yield the sections inside of options with their paths."""
    for name in type(options).model_fields:
        if isinstance(value := getattr(options, name), Options):
            yield f"{path}.{name}", value
            yield from sections_of(value, f"{path}.{name}")


def options_of(section: Options) -> dict[str, Any]:
    """Return the options of a section that are no sections themselves."""
    return {name: value for name, value in section if not isinstance(value, Options)}


OWN = [(method, path, name) for method, kind in METHODS.items() for path, section in sections_of(kind.model_construct())
       for name in options_of(section) if section != type(section)()]


@pytest.mark.parametrize(("given", "size", "count", "shift"), [
    ({}, 6, 2, 7), ({"outer": {}}, 6, 2, 7), ({"outer": {"shift": 1}}, 6, 2, 1),
    ({"outer": {"inner": {TAG: "inner", "count": 8}}}, 6, 8, 7),
    ({"outer": {"inner": {TAG: "inner", "size": 8}}}, 8, 2, 7),
    ({"outer": {"inner": Inner(count=9)}}, 1, 9, 7)])
def test_defaults_are_those_of_the_outermost_options(given: dict[str, Any], size: int, count: int, shift: int) -> None:
    found = Holder.model_validate(given).outer
    assert isinstance(found.inner, Inner)
    assert (found.inner.size, found.inner.count, found.shift) == (size, count, shift)


def test_a_section_at_the_default_of_its_options_is_unused(wording: Wording) -> None:
    assert Outer().refuse_unused("why", "inner") == Holder().refuse_unused("why", "outer.inner.size", "outer") == {}
    for given in (Holder(outer=Outer()), Holder(outer=Outer(inner=Inner(), shift=7))):
        with wording.raises(ConfigError, "UNUSED"):
            given.refuse_unused("why", "outer.inner.size")
    with wording.raises(ConfigError, "UNUSED"):
        Outer(inner=Inner()).refuse_unused("why", "inner")


def test_another_alternative_has_its_own_defaults() -> None:
    assert Holder.model_validate({"outer": {"inner": {TAG: "other"}}}).outer == Outer(inner=Other(), shift=7)
    assert Outer.model_validate({"inner": {TAG: "other"}}).inner == Other()


@pytest.mark.parametrize(("method", "path", "name"), OWN)
def test_a_section_given_in_part_keeps_the_defaults_of_its_method(method: str, path: str, name: str,
                                                                  tmp_path: Path) -> None:
    usual = dict(sections_of(one(method__name=method).method))[path]
    value = getattr(usual, name) * 2
    option, text = f"{path}.{name}", f"input: {{path: data.csv}}\nmethod:\n  name: {method}\n"
    inside = "".join(f"{'  ' * depth}{key}:\n" for depth, key in enumerate(path.split(".")) if depth)
    lines = f"{text}{inside}{'  ' * len(path.split('.'))}{name}: {value}\n"
    configs = [*configured(tmp_path, lines), *configured(tmp_path, text, sets=[f"{option}={value}"]),
               *configured(tmp_path, text, {f"MLCLI__{option.upper().replace('.', '__')}": str(value)}),
               *configured(tmp_path, text, flags={option: (value, "--flag")}),
               one(method__name=method, **{option: value}),
               one(method__name=method, **{path: {name: value}})]
    for config in configs:
        found = dict(sections_of(config.method))[path]
        assert options_of(found) == {**options_of(usual), name: value}
        assert found.chosen(name)
        written = parse(write(config), str).value
        for key in path.split("."):
            written = written[key]
        assert written == {**options_of(usual), name: value}


def test_methods_with_defaults_of_their_own_in_sections_are_found() -> None:
    assert {"smacof", "sammon", "nmds", "phate"} <= {method for method, _, _ in OWN}


@pytest.mark.parametrize("method", METHODS)
def test_a_default_given_alone_changes_no_option_of_a_method(method: str) -> None:
    usual = one(method__name=method).method
    for path, section in sections_of(usual):
        for name, value in options_of(section).items():
            assert one(**{"method.name": method, f"{path}.{name}": value}).method == usual
