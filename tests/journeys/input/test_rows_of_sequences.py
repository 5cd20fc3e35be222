"""Rows that are chosen for a method of sequences."""

import math
from pathlib import Path

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
