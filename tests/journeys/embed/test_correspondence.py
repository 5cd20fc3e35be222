"""Counts and answers from the command line: what is written, new rows, and what is refused by name."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from tests.journeys.memory.test_beyond_memory import BLOCKS, embedded, named, numbers, table
from tests.journeys.support import Caller
from tests.wording import Wording

COUNTS = "site,a,b,c\np,3,0,1\nq,1,4,2\nr,0,2,7\ns,5,1,0\n"
ANSWERS = "name,age,tea,score\n" + "".join(
    f"p{row},{('18-25', '26-40', '41+')[row % 3]},{('black', 'green')[row * row % 5 % 2]},{row % 4}\n"
    for row in range(24))


def refused(mlcli: Caller, text: str, *options: str) -> str:
    Path("x.csv").write_text(text)
    called = mlcli.bare("x.csv", *options, "-o", "none")
    assert called.code == 65, called.err
    return called.err


@pytest.mark.medium
def test_counts_that_have_no_profile_are_refused_by_row_and_column(mlcli: Caller, wording: Wording) -> None:
    assert "row 2 ('q'), column 'b'" in refused(mlcli, COUNTS.replace("q,1,4", "q,1,-4"), "-m", "ca")
    assert "row 3 ('r'), a row of zeros" in refused(mlcli, COUNTS.replace("r,0,2,7", "r,0,0,0"), "-m", "ca")
    assert "E-COUNTS" in wording(found := refused(mlcli, COUNTS.replace("q,1,4", "q,1,0").replace("2,7", "0,7").replace(
        "5,1", "5,0"), "-m", "ca")) and "'b'" in found


@pytest.mark.medium
def test_new_counts_are_refused_alike(mlcli: Caller, wording: Wording) -> None:
    Path("counts.csv").write_text(COUNTS)
    assert mlcli.bare("counts.csv", "-m", "ca", "-o", "run").code == 0
    for text, told in (("q,1,-4,2", "row 1 ('q'), column 'b'"), ("q,0,0,0", "row 1 ('q'), ")):
        Path("new.csv").write_text(f"site,a,b,c\n{text}\n")
        called = mlcli("project", "run", "new.csv")
        assert called.code == 65 and told in called.err and "; new.csv; " in called.err and wording(called.err)


def test_answers_in_text_need_no_options(mlcli: Caller) -> None:
    Path("answers.csv").write_text(ANSWERS)
    assert mlcli.bare("answers.csv", "-m", "mca", "-o", "run").code == 0
    levels = [line.partition(",")[0] for line in Path("run/loadings.csv").read_text().splitlines()]
    assert levels == ["column", *(f"score={score}" for score in range(4)), "age=18-25", "age=26-40", "age=41+",
                      "tea=black", "tea=green"]
    head = Path("run/spectrum.csv").read_text().splitlines()[0]
    assert head == "component,eigenvalue,proportion,cumulative,adjusted,adjusted_share"
    assert mlcli("verify", "--full", "run").code == 0
    again = mlcli("project", "run", "answers.csv")
    cut = [line.rsplit(",", 2)[0] for line in again.out.splitlines()]
    assert cut == Path("run/embedding.csv").read_text().splitlines()


@pytest.mark.parametrize(("row", "told"), [
    ("x,18-25,oolong,1", "row 1 ('x'), column 'tea': "), ("x,18-25,black,9", "row 1 ('x'), column 'score': "),
    ("x,,black,1", "row 1 ('x'), column 'age'")])
def test_answers_that_no_row_of_the_fit_has_are_refused(mlcli: Caller, row: str, told: str, wording: Wording) -> None:
    Path("answers.csv").write_text(ANSWERS)
    run = mlcli.finished("embed", "answers.csv", "-m", "mca", "-o", "run")
    Path("new.csv").write_text(f"name,age,tea,score\n{row}\n")
    called = mlcli("project", run, "new.csv", "--id-column", "name")
    assert called.code == 65 and told in called.err and "new.csv" in called.err and wording(called.err)


def test_answers_are_not_scaled_and_need_two_questions(mlcli: Caller) -> None:
    Path("answers.csv").write_text(ANSWERS)
    scaled = mlcli.bare("answers.csv", "-m", "mca", "--scale", "standard", "-o", "none")
    assert scaled.code == 78 and "prepare.scale" in scaled.err
    assert "only one column has several answers" in refused(mlcli, ANSWERS, "-m", "mca", "--columns", "tea")
    assert "1 cell missing" in refused(mlcli, ANSWERS + "new,NA,black,1\n", "-m", "mca")
    measured = "x,y\n" + "".join(f"{row / 7},{row % 2}\n" for row in range(20))
    assert "every row has an answer of its own in column 'x'" in refused(mlcli, measured, "-m", "mca")


@pytest.mark.medium
@pytest.mark.parametrize("size", [1.0, 1e-300, pytest.param(1e300, marks=pytest.mark.slow)])
def test_counts_are_read_in_blocks_as_in_memory(mlcli: Caller, size: float) -> None:
    parquet.write_table(table(np.abs(numbers()) * size), "t.parquet", row_group_size=200)
    for output, stream in (("blocks", BLOCKS), ("whole", ())):
        assert mlcli("embed", "t.parquet", "-m", "ca", "-o", output, "-q", *named("t.parquet"), *stream).code == 0
    (texts, found), (expected_texts, expected) = embedded("blocks"), embedded("whole")
    assert texts == expected_texts and np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
    assert mlcli("verify", "--full", "blocks").code == 0
