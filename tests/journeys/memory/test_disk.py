"""The disk space that `plan` predicts is no less than what the files of a run take."""

import json
from pathlib import Path

import numpy as np
import pytest

from mlcli.methods import METHODS
from tests.journeys.memory.test_memory import OWN
from tests.journeys.support import Caller

ROWS = 240
OTHERS = "bilinear", "ca", "mca", "gib", "vib", "ib", "nmf"  # of other tables than points
FEW = "pca", "sammon"  # of the others only when there is time


@pytest.fixture
def tables(own_directory: Path) -> None:
    points = np.random.default_rng(0).standard_normal((ROWS, 3))
    lines = [f"{i},{','.join(map(repr, row))},{'ab'[i % 2]}" for i, row in enumerate(points.tolist())]
    Path("points.csv").write_text("\n".join([",x,y,z,group", *lines, ""]))
    Path("view.csv").write_text("\n".join([",u,v", *(f"{i},{row[0] + i % 3},{row[1]}"
                                                       for i, row in enumerate(points.tolist())), ""]))


@pytest.mark.parametrize("method", [pytest.param(name, marks=[pytest.mark.medium] if name in FEW
                                                 else [pytest.mark.slow]) for name in METHODS if name not in OTHERS])
def test_files_take_no_more_disk_than_is_planned(mlcli: Caller, tables: None, method: str) -> None:
    given = ("points.csv", "-m", method, "--label-column", "group", *OWN.get(method, ()))
    planned = json.loads(mlcli("plan", *given, "--json").out)["disk"]
    ended = mlcli("embed", *given, "-o", "run", "-q")
    assert ended.code == 0, ended.err
    assert sum(path.stat().st_size for path in Path("run").rglob("*") if path.is_file()) <= planned
