"""The information curve of the bottleneck, and the entropy of a walk: written with their runs, and none with others."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli.program import run
from mlcli.methods.neighbor_embedding.walk import POWERS, knee

VIEW = ("--columns", "Sepal.Length,Sepal.Width", "--label-column", "Species", "--set",
        "input.view.columns=[Petal.Length,Petal.Width]")


@pytest.mark.parametrize("method", ["gib", "vib", "cca"])
def test_the_curve_goes_through_the_point_of_the_coordinates(tmp_path: Path, method: str) -> None:
    iris = str(Path(__file__).parents[2] / "sample_data" / "iris.csv")
    out = tmp_path / "out"
    assert run(["embed", iris, "--view", iris, *VIEW, "-m", method, "-o", str(out), "-q"]) == 0
    assert (out / "information.csv").exists() == (method != "cca")
    if method != "cca":
        curve = np.loadtxt(out / "information.csv", delimiter=",", skiprows=1)
        fit = json.loads((out / "run.json").read_text(encoding="utf-8"))["fit"]
        own = curve[curve[:, 0] == fit["beta"]][0]
        assert own[1:].tolist() == [2.0, fit["kept_information"], fit["relevant_information"]]


@pytest.mark.medium
@pytest.mark.parametrize("curve", [1, 3])
def test_networks_have_a_curve_of_the_betas_at_which_they_were_trained(tmp_path: Path, curve: int) -> None:
    iris, out = str(Path(__file__).parents[2] / "sample_data" / "iris.csv"), tmp_path / "out"
    given = ("method.layers=[3]", "method.learning.epochs=2", f"method.curve={curve}")
    assert run(["embed", iris, "--view", iris, *VIEW, "-m", "vib", "-o", str(out), "-q",
                *(part for option in given for part in ("--set", option))]) == 0
    rows = np.loadtxt(out / "information.csv", delimiter=",", skiprows=1, ndmin=2)
    fit = json.loads((out / "run.json").read_text(encoding="utf-8"))["fit"]
    assert rows[0, [0, 2, 3]].tolist() == [fit["beta"], fit["kept_information"], fit["relevant_information"]]
    assert len(rows) == curve and np.all(np.diff(rows[:, 0]) > 0)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert ("at each of which the networks were trained" in page) == (curve > 1)


def test_the_page_says_that_rows_tell_nothing_of_columns(tmp_path: Path) -> None:
    """All rows have the same shares: the curve has one point, and no figure."""
    table, out = tmp_path / "counts.csv", tmp_path / "out"
    rows = "".join(f"r{row},{row},{2 * row},{3 * row}\n" for row in range(1, 9))
    table.write_text(f"id,a,b,c\n{rows}", encoding="utf-8")
    assert run(["embed", str(table), "-m", "ib", "-o", str(out), "-q"]) == 0
    assert (out / "information.csv").exists()
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Rows tell nothing of columns (information.csv)" in page
    assert "Shares of the columns in the rows of each cluster." in page and "Loadings" not in page


def test_the_page_names_the_rows_of_each_cluster_and_how_sure_that_is(tmp_path: Path) -> None:
    """Two kinds of rows, and one between them; of many the first are named."""
    table, out = tmp_path / "counts.csv", tmp_path / "out"
    kinds = [(6, 4), *[(9, 1)] * 20, *[(1, 9)] * 35]
    table.write_text("id,a,b\n" + "".join(f"r{row},{a},{b}\n" for row, (a, b) in enumerate(kinds)), encoding="utf-8")
    assert run(["embed", str(table), "-m", "ib", "-o", str(out), "-q", "--set", "method.beta=3"]) == 0
    text = (out / "report.html").read_text(encoding="utf-8")
    part = text[text.index("<h2>Clusters</h2>"):text.index("<h2>Information curve</h2>")]
    places = np.loadtxt(out / "embedding.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    cells = dict(re.findall(r'<td>(Cluster .)</td><td class="n">\d+</td><td>(.*?)</td>', part))
    assert places[0].max() < 0.95 < places[1:].max(axis=1).min()
    [between] = [said for said in cells.values() if "r1, " in said]
    assert between.startswith(f"r0 ({places[0].max():.2f}), r1, ") and between.endswith("r20")
    [many] = [said for said in cells.values() if "r21, " in said]
    assert many.endswith("r50, and 5 more")


@pytest.mark.parametrize("time", [None, 7])
def test_the_time_of_a_walk_is_at_the_knee_of_its_entropy(tmp_path: Path, time: int | None) -> None:
    iris, out = str(Path(__file__).parents[2] / "sample_data" / "iris.csv"), tmp_path / "out"
    given = [] if time is None else ["--set", f"method.time={time}"]
    assert run(["embed", iris, "--label-column", "Species", "-m", "phate", "-o", str(out), "-q", *given]) == 0
    fit = json.loads((out / "run.json").read_text(encoding="utf-8"))["fit"]
    assert (out / "entropy.csv").exists() == (time is None)
    if time is None:
        curve = np.loadtxt(out / "entropy.csv", delimiter=",", skiprows=1)
        assert curve[:, 0].tolist() == [*range(1, POWERS + 1)]
        assert fit["time"] == knee(curve[:, 1]) and np.all(np.diff(curve[:, 1]) < 0)
        assert f"t = {fit['time']}" in (out / "report.html").read_text(encoding="utf-8")
    else:
        assert fit["time"] == time
