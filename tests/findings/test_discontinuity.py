"""Discontinuity: a map that must tear is found out, one that need not is not; files, page and refusals."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.cli.program import run
from mlcli.findings.discontinuity import DiscontinuityFinding
from mlcli.findings.discontinuity.measure import Scores, doubtful_points, is_torn, moves_of, scores_of, size_of
from mlcli.findings.discontinuity.section import listed, shade_of
from mlcli.findings.discontinuity.thresholds import TABLE, Threshold, sentence_on, threshold_of
from mlcli.methods import METHODS
from mlcli.report.figures.scatter import panel_of
from scripts.discontinuity import (
    CALIBRATED,
    FILE,
    LEAST,
    SETTINGS,
    TESTED,
    Setting,
    alarms,
    calibrated,
    source_of_table,
)
from tests.faults.fuzz.directories import SAMPLES
from tests.support import features
from tests.wording import Wording


def scores(name: str, points: Array, **options: object) -> Scores:
    """The scores of a layout of some points."""
    data = features(points)
    method = METHODS[name](**options).resolve(data)
    return scores_of(method.point_losses(method.in_range(data), method.fit(data, Compute()), Compute()))


def test_a_layout_that_keeps_all_distances_moves_points_as_far_as_their_inputs() -> None:
    points = np.random.default_rng(0).standard_normal((60, 2))
    found = scores("smacof", points)
    assert np.allclose(found.perturbation, 1, atol=1e-4) and np.isfinite(found.singularity).all()
    assert not doubtful_points(found, threshold_of("smacof", 0)).any()


def test_a_circle_on_a_line_tears() -> None:
    turns = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    found = scores("smacof", np.column_stack([np.cos(turns), np.sin(turns)]), axes={"components": 1})
    limits = threshold_of("smacof", 0)
    assert np.mean(doubtful_points(found, limits)) > limits.share


def test_inputs_are_moved_along_principal_directions_by_no_more_than_half_their_spread() -> None:
    points = np.random.default_rng(1).standard_normal((500, 4)) * [8, 4, 2, 1]
    moves = moves_of(points, 3.0)
    lengths = np.linalg.norm(moves, axis=1)
    assert lengths[0] == pytest.approx(3.0) and lengths[1:] == pytest.approx(points[:, 1:3].std(axis=0) / 2, rel=0.05)
    directions = moves / lengths[:, None]
    assert np.allclose(directions @ directions.T, np.eye(3), atol=1e-8)
    assert np.abs(np.diag(directions[:, :3])).min() > 0.98


def test_a_point_without_a_minimum_has_an_infinite_singularity_and_one_that_moves_far_is_doubtful() -> None:
    found = Scores(np.array([0.1, 2, np.nan]), np.array([1, 1, np.inf]), np.ones(1))
    assert doubtful_points(found, Threshold(0, perturbation=1.5, share=0.1)).tolist() == [False, True, False]
    both = Threshold(0, perturbation=1.5, singularity=9.0, share=0.1)
    assert doubtful_points(found, both).tolist() == [False, True, True]


def test_thresholds_are_those_of_the_nearest_setting() -> None:
    rows = TABLE["tsne"]
    assert [threshold_of("tsne", row.neighbors) for row in rows] == list(rows)
    assert threshold_of("tsne", 1e6) == rows[-1] and threshold_of("smacof", 0) == TABLE["smacof"][0]
    assert {*TABLE} == {"tsne", "umap", "phate", "smacof", "sammon", "nmds"}


def test_words_say_how_many_points_and_whether_that_is_many() -> None:
    assert sentence_on(212, 10_000, torn=True) == "212 of 10,000 points lie where the map tears."
    assert "no more than" in sentence_on(1, 100, torn=False) and sentence_on(0, 5, torn=False).startswith("None of 5")
    assert listed([1.23456, 2, 3]) == "1.23, 2 and 3" and listed([0.5]) == "0.5"


def test_the_line_of_a_run_goes_on_after_its_name_in_lower_case() -> None:
    fact = {"rows": 30, "doubtful": 0, "torn": False}
    lines = DiscontinuityFinding().lines
    assert lines({"discontinuity": fact}) == ("discontinuity: none of 30 points lies where the map tears",)
    assert lines({"discontinuity": fact | {"doubtful": 9, "torn": True}}) == (
        "discontinuity: 9 of 30 points lie where the map tears",)
    assert lines({}) == ()


def test_the_shade_is_the_mean_move_of_the_points_in_each_cell() -> None:
    places = np.array([[0.0, 0.0], [0.01, 0.0], [10.0, 10.0]])
    (shade,) = shade_of(places, np.array([1.0, 3.0, 4.0]), panel_of(places))
    levels = shade.levels[:, :, 1]  # type: ignore[union-attr]
    assert np.count_nonzero(levels) == 2 and levels.max() == 2 * np.sort(levels.ravel())[-2]
    assert shade_of(places, np.full(3, np.nan), panel_of(places)) == []


def test_the_size_of_a_layout_is_the_root_of_its_mean_variance() -> None:
    points = np.random.default_rng(2).standard_normal((50, 3))
    assert size_of(points) == pytest.approx(np.sqrt(points.var(axis=0).mean()))


@pytest.mark.medium
def test_any_number_of_threads_gives_the_same_files(tmp_path: Path) -> None:
    for threads in ("1", "2"):
        assert run(["embed", str(SAMPLES / "iris.csv"), "-m", "umap", "--set", "method.epochs=30", "--discontinuity",
                    "--threads", threads, "-o", str(tmp_path / threads), "-q"]) == 0
    for name in ("discontinuity.csv", "discontinuity.json", "discontinuity.svg"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@pytest.mark.medium
def test_a_run_says_how_many_points_lie_where_the_map_tears(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["embed", str(SAMPLES / "us_arrests.csv"), "-m", "sammon", "--discontinuity", "-o", str(tmp_path / "r"),
                "--json"]) == 0
    fact = json.loads(capsys.readouterr().out)["discontinuity"]
    figures = json.loads((tmp_path / "r" / "discontinuity.json").read_text())
    assert fact["rows"] == 50 and fact["doubtful"] == figures["doubtful"] and len(figures["moved"]) == 3
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert sentence_on(figures["doubtful"], 50, torn=figures["torn"]) in page
    lines = (tmp_path / "r" / "discontinuity.csv").read_text().splitlines()
    assert lines[0] == "id,perturbation,singularity,doubtful" and len(lines) == 51


@pytest.mark.medium
def test_dissimilarities_have_singularity_alone(tmp_path: Path) -> None:
    points = np.random.default_rng(3).standard_normal((20, 3))
    np.savetxt(tmp_path / "d.csv", np.linalg.norm(points[:, None] - points, axis=2), delimiter=",")
    assert run(["embed", str(tmp_path / "d.csv"), "--dissimilarities", "-m", "smacof", "--discontinuity", "-o",
                str(tmp_path / "r"), "-q"]) == 0
    figures = json.loads((tmp_path / "r" / "discontinuity.json").read_text())
    assert figures["moved"] == [] and figures["perturbation"] is None
    rows = (tmp_path / "r" / "discontinuity.csv").read_text().splitlines()[1:]
    assert all(row.split(",")[1] == "" and float(row.split(",")[2]) > 0 for row in rows)


@pytest.mark.medium
@pytest.mark.parametrize(("method", "points", "why"), [
    ("smacof", np.eye(9, 3), "at least 10 rows, not 9"),
    ("phate", np.random.default_rng(5).random((14, 3)), "at least 15 rows, not 14"),
    ("smacof", np.ones((12, 2)), "all rows are equal"), ("nmds", np.ones((12, 2)), "all rows are equal")])
def test_few_rows_and_equal_ones_have_no_scores(method: str, points: Array, why: str, tmp_path: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    np.savetxt(tmp_path / "data.csv", points, delimiter=",")
    assert run(["embed", str(tmp_path / "data.csv"), "-m", method, "--discontinuity", "-o", str(tmp_path / "r"),
                "--verbose"]) == 0
    assert why in " ".join(capsys.readouterr().err.split())
    assert not list((tmp_path / "r").glob("discontinuity.*")) and (tmp_path / "r" / "report.html").exists()


@pytest.mark.medium
def test_runs_are_collected_with_their_doubtful_points(tmp_path: Path) -> None:
    assert run(["embed", str(SAMPLES / "us_arrests.csv"), "-m", "sammon", "--discontinuity", "-o",
                str(tmp_path / "r"), "-q"]) == 0
    assert run(["collect", str(tmp_path / "r"), "-o", str(tmp_path / "all"), "-q"]) == 0
    (row,) = csv.DictReader((tmp_path / "all" / "runs.csv").read_text(encoding="utf-8").splitlines())
    figures = json.loads((tmp_path / "r" / "discontinuity.json").read_text())
    assert row["error"] == "" and row["doubtful"] == str(figures["doubtful"])


@pytest.mark.parametrize("options", [["-m", "pca"], ["-m", "tsne", "-o", "-"]])
def test_it_is_refused_where_there_is_no_layout_or_no_place_for_its_files(
        options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], wording: Wording) -> None:
    output = [] if "-" in options else ["-o", str(tmp_path / "r")]
    assert run(["embed", str(SAMPLES / "us_arrests.csv"), "--discontinuity", *options, *output]) == 78
    assert wording(capsys.readouterr().err) == ["E-UNUSED"]
    assert not (tmp_path / "r").exists()


LOUD = [setting for setting in SETTINGS if threshold_of(setting.method, setting.neighbors).share is not None]


def test_the_rule_gives_no_thresholds_where_cut_maps_are_not_found() -> None:
    def maps(*shares: float) -> list[Scores]:  # of a hundred points each, with so many that move far
        return [Scores(np.where(np.arange(100) < 100 * share, 50.0, 1.0), np.full(100, 2.0), np.ones(1))
                for share in shares]

    setting, still = SETTINGS[0], maps(*[0.0] * 20)
    assert calibrated(setting, still, maps(*[0.5] * 18, 0.0, 0.0)) == Threshold(
        setting.neighbors, perturbation=1.1, singularity=2.2, share=LEAST)
    assert calibrated(setting, still, maps(*[0.5] * 17, 0.0, 0.0, 0.0)) == Threshold(setting.neighbors)
    some = [*maps(0.01), *maps(0.01), *maps(*[0.0] * 18)]  # of which one may raise the alarm, and the other not
    assert calibrated(setting, some, maps(0.5)).share == 0.015


def test_the_source_of_the_table_is_what_is_shipped() -> None:
    assert FILE.read_text(encoding="utf-8").endswith(source_of_table(TABLE))


def test_without_an_alarm_no_point_is_doubtful_and_the_sentence_says_why() -> None:
    found, limits = Scores(np.array([9.0, 0.1]), np.array([np.inf, 1.0]), np.ones(1)), Threshold(5)
    doubtful = doubtful_points(found, limits)
    assert not doubtful.any() and is_torn(doubtful, limits) is None
    assert "no calibrated alarm" in sentence_on(None, 2, torn=None)


@pytest.mark.medium
def test_a_run_without_an_alarm_has_scores_and_counts_no_points(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(TABLE, "sammon", (Threshold(0),))
    assert run(["embed", str(SAMPLES / "us_arrests.csv"), "-m", "sammon", "--discontinuity", "-o", str(tmp_path / "r"),
                "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["certificate"] == "pass"
    assert summary["discontinuity"] == {"rows": 50, "doubtful": None, "doubtful_share": None, "torn": None}
    figures = json.loads((tmp_path / "r" / "discontinuity.json").read_text())
    assert [figures[name] for name in ("perturbation", "singularity", "share", "doubtful", "torn")] == [None] * 5
    rows = [row.split(",") for row in (tmp_path / "r" / "discontinuity.csv").read_text().splitlines()[1:]]
    assert all(float(row[1]) > 0 and float(row[2]) > 0 and row[3] == "" for row in rows)
    assert run(["report", str(tmp_path / "r"), "-q"]) == 0
    assert sentence_on(None, 50, torn=None) in (tmp_path / "r" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: f"{setting.method}-{setting.neighbors:g}")
def test_the_rule_makes_the_thresholds_again(setting: Setting) -> None:
    assert calibrated(setting, *setting.maps(CALIBRATED)) == threshold_of(setting.method, setting.neighbors)


@pytest.mark.slow
@pytest.mark.parametrize("setting", LOUD, ids=lambda setting: f"{setting.method}-{setting.neighbors:g}")
def test_continuous_maps_raise_no_alarm_and_cut_ones_do(setting: Setting) -> None:
    continuous, cut = setting.maps(TESTED, 10)
    limits = threshold_of(setting.method, setting.neighbors)
    assert np.mean(alarms(continuous, limits)) <= 0.1 and np.mean(alarms(cut, limits)) >= 0.9
