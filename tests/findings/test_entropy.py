"""The entropy of the walk: written where the time is chosen by it, and none where it is given."""

import json
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli.program import run
from mlcli.stages.graph.walks.walk import POWERS, knee

IRIS = str(Path(__file__).parents[2] / "sample_data" / "iris.csv")


@pytest.mark.parametrize("time", [None, 7])
def test_the_time_is_at_the_knee_of_the_curve(tmp_path: Path, time: int | None) -> None:
    out = tmp_path / "out"
    given = [] if time is None else ["--set", f"method.time={time}"]
    assert run(["embed", IRIS, "--label-column", "Species", "-m", "phate", "-o", str(out), "-q", *given]) == 0
    fit = json.loads((out / "run.json").read_text(encoding="utf-8"))["fit"]
    assert (out / "entropy.csv").exists() == (time is None)
    if time is None:
        curve = np.loadtxt(out / "entropy.csv", delimiter=",", skiprows=1)
        assert curve[:, 0].tolist() == [*range(1, POWERS + 1)]
        assert fit["time"] == knee(curve[:, 1]) and np.all(np.diff(curve[:, 1]) < 0)
        assert f"t = {fit['time']}" in (out / "report.html").read_text(encoding="utf-8")
    else:
        assert fit["time"] == time
