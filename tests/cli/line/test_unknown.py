"""A first word that is no command, and a flag that a command does not have."""

from pathlib import Path

import pytest

from mlcli.cli.group import COMMANDS
from mlcli.cli.line.unknown import as_command
from mlcli.config.other_names import paths_for
from mlcli.methods import ALIASES, METHODS
from tests.journeys.support import Caller


@pytest.mark.parametrize(("words", "meant"), [
    (["data.csv", "-k", "5"], ["embed", "data.csv", "-k", "5"]), (["-"], ["embed", "-"]),
    (["runs/data-pca"], ["embed", "runs/data-pca"]), (["s3://bucket/data"], ["embed", "s3://bucket/data"]),
    (["pca", "data.csv"], ["embed", "-m", "pca", "data.csv"]), (["PCA"], ["embed", "-m", "pca"]),
    (["t_SNE", "a.csv", "-v"], ["embed", "-m", "tsne", "a.csv", "-v"]), (["pcoa", "a"], ["embed", "-m", "mds", "a"]),
    (["report", "run"], ["report", "run"]), (["./report"], ["embed", "./report"]), (["plain"], ["embed", "plain"]),
    (["umap"], ["embed", "-m", "umap"]), (["umap.csv"], ["embed", "umap.csv"])])
def test_a_command_wins_over_a_method_and_a_method_over_data(
        words: list[str], meant: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("report", "umap", "plain"):
        Path(name).touch()
    assert as_command(words, COMMANDS) == meant


def test_no_name_of_a_method_is_taken_for_a_slip_in_a_command() -> None:
    for name in [*METHODS, *ALIASES]:
        assert as_command([name, "data.csv"], COMMANDS) == ["embed", "-m", ALIASES.get(name, name), "data.csv"]


def test_data_and_a_method_are_embedded(mlcli: Caller) -> None:
    Path("data.csv").write_text("a,b,c\n1,2,3\n2,4,1\n5,1,2\n4,4,4\n")
    assert mlcli("data.csv", "-q").code == mlcli("pcoa", "data.csv", "-q").code == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["data-mds", "data-pca"]
    assert "--neighbors" in mlcli("umap", "--help").out


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
