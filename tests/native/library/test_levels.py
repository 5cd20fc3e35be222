"""A level that the processor has and the build lacks is named: by `doctor`, by errors, by the tests of kernels."""

from types import SimpleNamespace

import pytest

from mlcli import native
from mlcli.cli.commands.doctor import facts, lines
from mlcli.errors import ConfigError
from mlcli.native import library
from tests.native.support import at_level
from tests.wording import Wording


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build without v3, on a processor that has it."""
    monkeypatch.delenv("MLCLI_SIMD", raising=False)
    monkeypatch.setattr(library, "_library", SimpleNamespace(
        level=lambda: "base", processor_level=lambda: "v3", choose_level=lambda name: name == "base"))


@pytest.mark.usefixtures("lacking")
def test_doctor_names_the_level_that_the_build_lacks() -> None:
    assert native.lower_level().startswith("base, though this processor runs v3: the build lacks it; ")
    assert f"native kernels: {native.lower_level()}" in lines(facts())
    assert "MLCLI_LEVELS=all" in native.lower_level()


@pytest.mark.usefixtures("lacking")
def test_a_law_fails_at_a_level_that_the_build_lacks() -> None:
    assert native.machine_levels() == ("base", "v3")
    with pytest.raises(AssertionError, match="the build lacks v3"):
        next(at_level(SimpleNamespace(param="v3")))  # type: ignore[arg-type]


def test_doctor_names_the_variable_that_lowers_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_library", SimpleNamespace(level=lambda: "v3", processor_level=lambda: "v4"))
    monkeypatch.setenv("MLCLI_SIMD", "v3")
    assert native.lower_level() == "v3, though this processor runs v4: MLCLI_SIMD=v3; unset it to have v4"
    monkeypatch.setattr(library, "_library", SimpleNamespace(level=lambda: "v4", processor_level=lambda: "v4"))
    assert not native.lower_level()


def test_an_error_says_whether_the_build_or_the_machine_lacks_a_level(wording: Wording) -> None:
    for machine, build in ((("base", "v3"), True), (("base",), False)):
        with wording.raises(ConfigError, "SIMD") as caught:
            library._require("v3", lambda name: name == "base", machine)
        assert ("MLCLI_LEVELS=all" in str(caught.value.hint)) == build
        assert "base, none" in str(caught.value.hint)
