"""Numbers that look like ids, from the command line: what each command says, and how a decision is repeated."""

from pathlib import Path

import numpy as np
import pytest

from tests.cli.support import Caller
from tests.data.test_id_columns import of_name


@pytest.fixture(autouse=True)
def files(mlcli: Caller) -> None:
    """A table with ids under their name, and another view of its rows."""
    Path("data.csv").write_text(of_name("id"), encoding="utf-8")
    Path("other.csv").write_text(of_name("id").replace("a,b", "c,d"), encoding="utf-8")


def test_check_says_the_same_and_a_run_repeats_what_was_decided(mlcli: Caller) -> None:
    first, second = mlcli("check", "data.csv"), mlcli("embed", "data.csv")
    assert first.code == second.code == 65 and first.err.splitlines()[-1] == second.err.splitlines()[-1]
    run = mlcli.finished("embed", "data.csv", "--no-id", "-o", "kept", "-q")
    assert "id_column: none" in run.joinpath("config.yaml").read_text(encoding="utf-8")
    assert mlcli("run", "kept/config.yaml", "-o", "again", "-q").code == 0
    assert Path("again/embedding.csv").read_bytes() == Path("kept/embedding.csv").read_bytes()
    assert mlcli("project", "kept", "data.csv", "-o", "placed.csv").code == 0
    placed, fitted = (np.loadtxt(path, delimiter=",", skiprows=1) for path in ("placed.csv", "kept/embedding.csv"))
    assert np.allclose(placed, fitted, rtol=0, atol=1e-9)


def test_configurations_of_older_runs_are_carried_out_with_a_warning(mlcli: Caller) -> None:
    Path("job.yaml").write_text("input: {path: data.csv, id_column: null}\nmethod: {name: pca}\n", encoding="utf-8")
    called = mlcli("run", "job.yaml", "-o", "run")
    assert called.code == 0 and "W-ID-LIKE" in called.err


def test_second_views_and_new_rows_are_told_with_their_own_options(mlcli: Caller) -> None:
    Path("first.csv").write_text(of_name("id").replace("id,", "z,"), encoding="utf-8")
    called = mlcli("embed", "first.csv", "-m", "cca", "--view", "other.csv")
    assert called.code == 65 and "give --set input.view.id_column=id if" in called.err
    assert "--set input.view.id_column=none" in called.err
    assert mlcli.finished("embed", "data.csv", "--id-column", "id", "-o", "run", "-q")
    called = mlcli("project", "run", "data.csv", "-o", "placed.csv")
    assert called.code == 65 and "give --id-column id if it names the rows" in called.err
    assert mlcli("project", "run", "data.csv", "--id-column", "id", "-o", "placed.csv").code == 0


def test_a_name_with_a_blank_is_quoted_in_whatever_takes_it(mlcli: Caller) -> None:
    Path("data.csv").write_text(of_name("Subject ID"), encoding="utf-8")
    Path("job.yaml").write_text("input: {path: data.csv}\nmethod: {name: pca}\n", encoding="utf-8")
    assert "give --id-column 'Subject ID' if" in mlcli("embed", "data.csv").err
    called = mlcli("run", "job.yaml", "-o", "run")
    assert "give --set input.id_column='Subject ID' if" in called.err and "--set input.id_column=none" in called.err
    assert mlcli("run", "job.yaml", "-o", "run", "--set", "input.id_column=Subject ID").code == 0
