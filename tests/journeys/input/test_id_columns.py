"""Numbers that look like ids, from the command line: what each command says, and how a decision is repeated."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.data.read.blocks import SAMPLED
from tests.data.read.test_id_columns import of_name
from tests.journeys.support import Caller


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
    placed, fitted = (np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2))
                      for path in ("placed.csv", "kept/embedding.csv"))
    assert np.allclose(placed, fitted, rtol=0, atol=1e-9)


def test_configurations_of_older_runs_are_carried_out_with_a_warning(mlcli: Caller) -> None:
    Path("job.yaml").write_text("input: {path: data.csv, id_column: null}\nmethod: {name: pca}\n", encoding="utf-8")
    called = mlcli("run", "job.yaml", "-o", "run")
    assert called.code == 0 and "W-ID-LIKE" in called.err


def test_second_views_and_new_rows_are_told_with_their_own_options(mlcli: Caller) -> None:
    Path("first.csv").write_text(of_name("id").replace("id,", "z,"), encoding="utf-8")
    called = mlcli("embed", "first.csv", "-m", "cca", "--view", "other.csv")
    assert called.code == 65 and " --set input.view.id_column=id " in called.err
    assert "--set input.view.id_column=none" in called.err
    assert mlcli.finished("embed", "data.csv", "--id-column", "id", "-o", "run", "-q")
    Path("new.csv").write_text(of_name("subject"), encoding="utf-8")
    called = mlcli("project", "run", "new.csv", "-o", "placed.csv")
    assert called.code == 0 and " --id-column subject " in called.err
    assert mlcli("project", "run", "new.csv", "--id-column", "subject", "-o", "placed.csv", "--force").code == 0


def test_new_rows_are_read_as_those_of_the_run_unless_told_otherwise(mlcli: Caller) -> None:
    """Their id column, where they have it, and their markers of missing cells."""
    options = ("--id-column", "id", "--missing-markers=-999", "--set", "prepare.missing=mean")
    assert mlcli.finished("embed", "data.csv", *options, "-o", "run", "-q")
    Path("new.csv").write_text("id,a,b\n7,1.5,-999\n9,2,3\n", encoding="utf-8")
    assert mlcli("project", "run", "new.csv", "-o", "placed.csv").code == 0
    placed = Path("placed.csv").read_text(encoding="utf-8").splitlines()
    assert placed[0].startswith("id,") and [row.split(",")[0] for row in placed[1:]] == ["7", "9"]
    Path("gap.csv").write_text("id,a,b\n7,1.5,\n9,2,3\n", encoding="utf-8")
    assert mlcli("project", "run", "gap.csv", "-o", "gap-placed.csv").code == 0
    assert Path("gap-placed.csv").read_text(encoding="utf-8").splitlines() == placed
    Path("bare.csv").write_text("a,b\n1.5,2\n", encoding="utf-8")
    assert mlcli("project", "run", "bare.csv", "-o", "bare-placed.csv").code == 0


def test_parts_with_names_of_rows_that_come_again_are_read_without_ids(mlcli: Caller) -> None:
    Path("parts").mkdir()
    for name in ("1.csv", "2.csv"):
        Path("parts", name).write_text(",a,b\n0,1.5,2\n1,2,7\n2,3,1\n", encoding="utf-8")
    assert "E-DUPLICATE-IDS" in mlcli("embed", "parts", "-o", "run", "-q").err
    for stream in ("never", "always"):
        called = mlcli("embed", "parts", "--no-id", "-o", stream, "-q", "--set", f"input.stream={stream}")
        assert called.code == 0, called.err
        rows = Path(stream, "embedding.csv").read_text(encoding="utf-8").splitlines()[1:]
        assert [row.split(",")[0] for row in rows] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.medium
def test_a_number_that_comes_again_far_below_makes_no_id_in_blocks_either(mlcli: Caller) -> None:
    """Only a sample of the rows is held, and none of its numbers need occur twice."""
    numbers = np.arange(3 * SAMPLED // 2)
    numbers[[7, 9]] = 11
    np.savetxt("large.csv", np.column_stack([numbers, numbers % 13, numbers % 7]), fmt="%d", delimiter=",",
               header="subject,a,b", comments="")
    for stream in ("never", "always"):
        called = mlcli("check", "large.csv", "--set", f"input.stream={stream}")
        assert "ID-COLUMN" not in called.err, called.err


def test_a_name_with_a_blank_is_quoted_in_whatever_takes_it(mlcli: Caller) -> None:
    Path("data.csv").write_text(of_name("Subject ID"), encoding="utf-8")
    Path("job.yaml").write_text("input: {path: data.csv}\nmethod: {name: pca}\n", encoding="utf-8")
    assert " --id-column 'Subject ID' " in mlcli("embed", "data.csv").err
    called = mlcli("run", "job.yaml", "-o", "run")
    assert " --set input.id_column='Subject ID' " in called.err and "--set input.id_column=none" in called.err
    assert mlcli("run", "job.yaml", "-o", "run", "--set", "input.id_column=Subject ID").code == 0
