"""Hubness: counts by the definition, and the known growth of skewness with the dimension."""

import json
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.cli.program import run
from mlcli.core.similarities.spaces import EuclideanSpace
from mlcli.findings.hubness.measure import lists, occurrences
from mlcli.findings.hubness.section import histograms


def counted(points: Array, neighbors: int) -> dict[str, object]:
    """The occurrences of some points."""
    rows = np.arange(len(points))
    return occurrences(lists(EuclideanSpace.of(points, rows), rows, neighbors), len(points))


def test_counts_are_those_of_sorted_distances() -> None:
    points = np.random.default_rng(0).standard_normal((40, 3))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(apart, np.inf)
    numbers = np.bincount(np.argsort(apart, axis=1)[:, :5].ravel(), minlength=40)
    deviations = numbers - 5.0
    found = counted(points, 5)
    assert found["counts"] == np.bincount(numbers).tolist() and found["largest"] == numbers.max()
    assert found["antihubs"] == np.mean(numbers == 0)
    assert found["skewness"] == pytest.approx(np.mean(deviations**3) / np.mean(deviations**2) ** 1.5, rel=1e-12)


def test_a_star_has_one_hub_and_a_circle_has_none() -> None:
    star = np.vstack([np.zeros(6), 10 * np.eye(6), -11 * np.eye(6)])
    found = counted(star, 1)
    assert found["largest"] == 12 and found["antihubs"] == 11 / 13
    turns = 2 * np.pi * np.arange(12) / 12
    circle = counted(np.column_stack([np.cos(turns), np.sin(turns)]), 2)
    assert circle["skewness"] is None and circle["antihubs"] == 0 and circle["counts"] == [0, 0, 12]


def test_equal_distances_make_no_hubs() -> None:
    """Of four points, ten times each, the tenth neighbor is any of the others."""
    found = counted(np.repeat(np.eye(4), 10, axis=0), 10)
    assert found["antihubs"] == 0 and int(str(found["largest"])) <= 15


def test_skewness_grows_with_the_dimension() -> None:
    """Radovanović and others, 2010, figure 1: of normal points, in 3, 20 and 100 dimensions."""
    generator = np.random.default_rng(0)
    skewness = [counted(generator.standard_normal((500, columns)), 5)["skewness"] for columns in (3, 20, 100)]
    assert skewness[0] < 0.7 < 1.5 < skewness[1] < skewness[2]  # type: ignore[operator]


def test_bins_hold_all_points() -> None:
    places, lines = histograms([0, 3, 2], [1] * 100)
    assert len(places) <= 40 and sum(lines["data"]) == 5 and sum(lines["embedding"]) == 100


def test_a_run_has_it_where_it_is_chosen(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data, points = tmp_path / "points.csv", np.random.default_rng(1).standard_normal((60, 8))
    np.savetxt(data, points, delimiter=",", header="a,b,c,d,e,f,g,h", comments="")
    assert run(["embed", str(data), "-o", str(tmp_path / "with"), "--set", "report.hubness.neighbors=4"]) == 0
    assert "hubness: skewness" in capfd.readouterr().err
    found = json.loads((tmp_path / "with" / "hubness.json").read_text())
    assert found["neighbors"] == 4 and found["rows"] == 60 and sum(found["data"]["counts"]) == 60
    assert "<h2>Hubness</h2>" in (tmp_path / "with" / "report.html").read_text()
    assert run(["embed", str(data), "-o", str(tmp_path / "without"), "-q"]) == 0
    assert not (tmp_path / "without" / "hubness.json").exists()
    assert "<h2>Hubness</h2>" not in (tmp_path / "without" / "report.html").read_text()
