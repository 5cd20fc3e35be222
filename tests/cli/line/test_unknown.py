"""A flag that a command does not have: the error names the option that is set by its path."""

import pytest

from mlcli.config.other_names import paths_for
from tests.journeys.support import Caller


@pytest.mark.parametrize(("flag", "paths"), [
    ("--correction", ("method.correction",)), ("--estimator=minres", ("method.estimator",)),
    ("--missing", ("prepare.missing",)), ("--label-columns", ("input.label_columns",)), ("--nothing", ()),
    ("--output", ()), ("--look", ())])
def test_a_flag_has_the_paths_that_end_in_its_name(flag: str, paths: tuple[str, ...]) -> None:
    assert paths_for(flag) == dict.fromkeys(paths, "VALUE")


def test_a_name_of_other_programs_has_the_path_of_the_option_with_its_formula(mlcli: Caller) -> None:
    assert paths_for("--sigma")["method.kernel.rate"] == "1 / (2 sigma²)"
    called = mlcli("embed", "data.csv", "-m", "kpca", "--sigma", "2")
    assert called.code == 2 and " method.kernel.rate = 1 / (2 sigma²) " in called.err


def test_an_error_says_how_the_option_is_set(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "-m", "pcoa", "--correction", "lingoes")
    assert called.code == 2 and "--correction" in called.err
    assert "; --set method.correction=VALUE " in called.err and "mlcli embed --help" in called.err


@pytest.mark.parametrize("arguments", [("embed", "data.csv", "--nothing"), ("relate", "run", "--correction", "x")])
def test_commands_without_paths_and_unknown_names_have_no_such_hint(mlcli: Caller, arguments: tuple[str, ...]) -> None:
    called = mlcli(*arguments)
    assert called.code == 2 and f" mlcli {arguments[0]} --help" in called.err
    assert "--set" not in called.err
