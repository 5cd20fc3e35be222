"""The extras: the modules that the code knows are those that the distribution's requirements bring."""

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from mlcli.base.values.extras import EXTRAS, load_extra, missing_module, require
from mlcli.errors import DependencyMissing
from tests.wording import Wording

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIRED = PROJECT["optional-dependencies"]
DECLARED = {name: {re.match(r"[\w.-]+", text)[0].lower() for text in texts}  # type: ignore[index]
            for name, texts in REQUIRED.items() if name not in ("all", "test")}


@pytest.mark.medium
def test_the_modules_of_every_extra_come_from_what_it_requires() -> None:
    assert EXTRAS.keys() == DECLARED.keys()
    known = packages_distributions()
    for extra, modules in EXTRAS.items():
        assert len(modules) == len(DECLARED[extra]), extra
        for module in modules:
            assert module not in known or {name.lower() for name in known[module]} & DECLARED[extra], module


def test_the_extra_of_all_is_every_other_but_jax() -> None:
    [text] = REQUIRED["all"]
    assert text == f"manifold-cli[{','.join(sorted(EXTRAS.keys() - {'neural'}))}]"


def test_what_is_missing_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch,
                                                                    wording: Wording) -> None:
    monkeypatch.setitem(EXTRAS, "plot", ("json", "not_there"))  # type: ignore[index]
    assert missing_module("plot") == "not_there"
    for ask in (lambda: require("plot", "a biplot", "--arrows"), lambda: load_extra("plot", "a biplot", "not_there")):
        with wording.raises(DependencyMissing, "EXTRA") as caught:
            ask()
        assert (caught.value.code, caught.value.hint) == ("E-EXTRA", "pip install 'manifold-cli[plot]'")


def test_what_is_there_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "plot", ("json",))  # type: ignore[index]
    require("plot", "a biplot")
    assert load_extra("plot", "a biplot").loads("[1]") == [1]
    assert load_extra("plot", "a biplot", "json.decoder").__name__ == "json.decoder"
