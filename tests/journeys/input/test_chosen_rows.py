"""Runs of chosen rows: recorded, verified, and made again from their configuration."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Caller


@pytest.mark.medium
def test_a_run_of_chosen_rows_is_made_and_verified_again(mlcli: Caller) -> None:
    generator = np.random.default_rng(0)
    lines = [f"p{row},{row % 2},{','.join(map(str, generator.random(3)))}" for row in range(60)]
    lines[30] = lines[30].rpartition(",")[0] + ","
    Path("x.csv").write_text("\n".join(["id,half,a,b,c", *lines]) + "\n")
    called = mlcli("embed", "x.csv", "--id-column", "id", "--columns", "a:c", "--where", "half == 0", "--rows", "29",
                   "--seed", "3", "--set", "prepare.missing=drop", "-o", "run", "-q")
    assert called.code == 0, called.err
    told = json.loads(Path("run/run.json").read_text())["input"]
    assert (told["rows"], told["chosen_of"]) == (29, 60)
    dropped = Path("run/dropped.csv").read_text().splitlines()[1:]
    assert [line[:7] for line in dropped] in ([], ["p30,31,"])
    called = mlcli("verify", "--full", "run")
    assert called.code == 0 and "run: pass" in called.out
    assert mlcli("run", "run/config.yaml", "-o", "again", "-q").code == 0
    assert Path("again/embedding.csv").read_bytes() == Path("run/embedding.csv").read_bytes()
    called = mlcli("project", "run", "x.csv", "--set", "input.rows=3")
    assert called.code == 78 and "E-INPUT-OPTION" in called.err
