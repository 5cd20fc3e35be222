"""Stress by point and pairs of a layout: by the definition, and as a run writes them."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.types import Array
from mlcli.cli.program import run
from mlcli.core.layouts.goodness import SHOWN, correlation, metric_goodness, moments, some_pairs
from mlcli.core.layouts.pairs import Pairs
from mlcli.findings.stress import fits, in_corner
from tests import support

RANDOM = np.random.default_rng(4)
POINTS = RANDOM.standard_normal((25, 4))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("power", [0.0, -1.0])
def test_points_of_metric_scaling_share_the_stress(power: float) -> None:
    lengths, layout = cdist(POINTS, POINTS), POINTS[:, :2]
    found = metric_goodness(Pairs.of(lengths, power, [""] * 25), layout)
    distances = cdist(layout, layout)
    weights = np.where(lengths > 0, lengths, 1.0) ** power
    parts = (weights * (lengths - distances) ** 2).sum(axis=1) / np.sum(weights * lengths**2)
    assert np.allclose(found.points**2, parts, rtol=1e-12)
    upper = np.triu_indices(25, 1)
    assert found.linear == pytest.approx(np.corrcoef(lengths[upper], distances[upper])[0, 1] ** 2, rel=1e-12)
    assert len(found.pairs) == 300 and np.all(np.diff(found.pairs[:, 0]) >= 0)


@pytest.mark.parametrize(("method", "power"), [("smacof", 2), ("nmds", 2), ("sammon", 1)])
def test_squares_add_up_to_the_stress_also_of_twins(method: str, power: int) -> None:
    model = support.fit(method, np.vstack([POINTS, POINTS[:4]]), starts=1)
    assert model.goodness is not None
    assert np.sum(model.goodness.points**2) == pytest.approx(model.fit["stress"] ** power, rel=1e-9)
    assert np.allclose(model.goodness.points[:4], model.goodness.points[25:], rtol=1e-12)


def test_pairs_that_are_shown_are_pairs_of_different_points() -> None:
    left, right = some_pairs(3000)
    assert len(left) == SHOWN and np.all(left != right) and len(np.unique(np.append(left, right))) > 2000


def test_constant_numbers_have_no_correlation() -> None:
    numbers: Array = np.arange(4.0)
    assert np.isnan(correlation(moments(np.ones(4), numbers, np.ones(4)))) and np.isnan(correlation(np.zeros(6)))
    assert correlation(moments(numbers, 3 - numbers, np.ones(4))) == 1.0


@pytest.mark.parametrize("axes", [2, 3])
def test_a_figure_says_the_stress_of_the_run(axes: int, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "points.csv", POINTS, delimiter=",")
    made = tmp_path / "run"
    assert run(["embed", str(tmp_path / "points.csv"), "-m", "nmds", "-p", str(axes), "--set", "method.starts=1", "-q",
                "--outputs", "embedding,spectrum,report", "-o", str(made)]) == 0
    stress = json.loads((made / "run.json").read_text())["fit"]["stress"]
    said = f">stress {stress:.3g}{' (3 axes)' if axes == 3 else ''}</text>"
    assert all((made / name).read_text().count(said) == 1 for name in ("scatter.svg", "report.html"))


def test_only_layouts_that_made_a_stress_small_have_it_in_the_corner() -> None:
    assert in_corner({"stress": 0.11831, "starts": 20}, 2) == "stress 0.118"
    assert in_corner({"stress": 0.2}, 2) == in_corner({}, 2) == ""


def test_fits_are_said_as_vegan_says_them() -> None:
    said = fits({"stress": 0.1, "linear_r_squared": 0.9}, ranked=True)
    assert said.startswith("Stress 0.1; non-metric fit R² = 1 - stress² = 0.990; linear fit R² = 0.900")
    assert "1 - stress²" not in fits({"stress": 0.1, "linear_r_squared": None}, ranked=False)


def test_a_run_writes_stress_and_pairs_and_draws_the_line(tmp_path: Path) -> None:
    data = "\n".join(["a,b,c", *(",".join(map(str, row)) for row in POINTS[:, :3] * 1e6)])
    (tmp_path / "data.csv").write_text(data)
    out = tmp_path / "out"
    arguments = ["embed", str(tmp_path / "data.csv"), "-m", "nmds", "--set", "method.starts=1", "-o", str(out), "-q"]
    assert run(arguments) == 0
    points, pairs = rows_of(out / "stress.csv"), rows_of(out / "disparities.csv")
    assert sum(float(row["share"]) for row in points) == pytest.approx(1) and points[0]["id"] == "1"
    lengths, distances, line = ([float(row[name]) for row in pairs]
                                for name in ("dissimilarity", "distance", "disparity"))
    assert lengths[-1] == pytest.approx(cdist(POINTS[:, :3] * 1e6, POINTS[:, :3] * 1e6).max())
    assert np.all(np.diff(line) >= 0) and np.sum(np.square(distances)) == pytest.approx(np.sum(np.square(lengths)))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "non-metric fit R²" in page and "points that fit worst" in page
