"""The information curve: written with a run of the bottleneck, and none with others."""

import json
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli.program import run

VIEW = ("--columns", "Sepal.Length,Sepal.Width", "--label-column", "Species", "--set",
        "input.view.columns=[Petal.Length,Petal.Width]")


@pytest.mark.parametrize("method", ["gib", "cca"])
def test_the_curve_goes_through_the_point_of_the_coordinates(tmp_path: Path, method: str) -> None:
    iris = str(Path(__file__).parents[2] / "sample_data" / "iris.csv")
    out = tmp_path / "out"
    assert run(["embed", iris, "--view", iris, *VIEW, "-m", method, "-o", str(out), "-q"]) == 0
    assert (out / "information.csv").exists() == (method == "gib")
    if method == "gib":
        curve = np.loadtxt(out / "information.csv", delimiter=",", skiprows=1)
        fit = json.loads((out / "run.json").read_text(encoding="utf-8"))["fit"]
        own = curve[curve[:, 0] == fit["beta"]][0]
        assert own[1:].tolist() == [2.0, fit["kept_information"], fit["relevant_information"]]
