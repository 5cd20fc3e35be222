"""Rows that are chosen for a method of sequences."""

import math
from pathlib import Path

import pytest

from tests.journeys.support import Caller
from tests.wording import Wording


def test_random_rows_of_a_sequence_are_a_warning_and_consecutive_ones_none(mlcli: Caller, wording: Wording) -> None:
    lines = [f"{i},{math.sin(i / 3):.4f},{math.cos(i / 5):.4f},{(i * 7) % 11}" for i in range(60)]
    Path("data.csv").write_text("\n".join(["minute,a,b,c", *lines, ""]), encoding="utf-8")
    options = ("--columns", "a:c", "-o", "run", "--force")
    called = mlcli.bare("data.csv", *options, "-m", "sfa", "--rows", "40")
    assert called.code == 0 and wording(called.err, "W-GAPS") == ["W-GAPS"]
    for chosen in (("-m", "sfa", "--where", "minute <= 40"), ("-m", "sfa", "--rows", "60"),
                   ("-m", "pca", "--rows", "40")):
        called = mlcli.bare("data.csv", *options, *chosen)
        assert called.code == 0 and "W-GAPS" not in called.err, called.err


def sequence(path: str, *gaps: int) -> None:
    """Write a sequence of 30 rows, some of them with a missing cell."""
    lines = [f"t{i},{'' if i in gaps else f'{math.sin(i / 3):.4f}'},{math.cos(i / 5):.4f},{(i * 7) % 11}"
             for i in range(30)]
    Path(path).write_text("\n".join(["time,a,b,c", *lines, ""]), encoding="utf-8")


DROP = ("--set", "prepare.missing=drop")
QUICK = {"lgssm": ("--set", "method.iterate.limit=2"), "sfa": ()}


@pytest.mark.parametrize(("method", "remedy"), [("lgssm", "prepare.missing=model"), ("sfa", "prepare.missing=mean")])
def test_rows_that_are_dropped_from_within_a_sequence_are_a_warning(mlcli: Caller, method: str, remedy: str,
                                                                    wording: Wording) -> None:
    sequence("data.csv", 4, 5, 20)
    run = ("-m", method, *QUICK[method], "-o", "run", "--force")
    called = mlcli.bare("data.csv", *run)
    assert called.code == 65 and wording(called.err) == ["E-MISSING"] and "drop" not in called.err
    called = mlcli.bare("data.csv", *run, *DROP)
    assert called.code == 0 and wording(called.err, "W-GAPS") == ["W-GAPS"]
    assert "'t3', 't19'" in called.err and remedy in called.err
    sequence("data.csv", 0, 1, 29)  # the ends
    called = mlcli.bare("data.csv", *run, *DROP)
    assert called.code == 0 and "W-DROPPED" in called.err and "W-GAPS" not in called.err


@pytest.mark.parametrize(("method", "codes"), [("lgssm", ["W-GAPS"]), ("sfa", [])])
def test_so_are_new_rows_where_their_order_counts(mlcli: Caller, method: str, codes: list[str],
                                                  wording: Wording) -> None:
    sequence("data.csv")
    sequence("new.csv", 7)
    run = mlcli.finished("embed", "data.csv", "-m", method, *QUICK[method], *DROP, "-o", "run", "-q")
    called = mlcli("project", run, "new.csv")
    assert called.code == 0 and len(called.out.splitlines()) == 30 and wording(called.err, "W-GAPS") == codes
