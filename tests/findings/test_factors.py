"""Vectors of styles and contents: with the loadings they make the means of every pair."""

import csv
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli.program import run

LABELS = ("--label-column", "person", "--label-column", "posture")


@pytest.mark.medium
def test_vectors_and_loadings_make_what_the_page_says_of_the_means(tmp_path: Path) -> None:
    postures, out = Path(__file__).parents[2] / "sample_data" / "postures.csv", tmp_path / "out"
    assert run(["embed", str(postures), *LABELS, "-m", "bilinear", "-p", "3", "--set", "method.style_axes=2", "-o",
                str(out), "-q"]) == 0
    rows, given = (list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
                   for path in (out / "factors.csv", postures))
    means = {}
    for style in (row for row in rows if row["factor"] == "style"):
        assert style["v3"] == "" and style["v2"] != ""
        for content in (row for row in rows if row["factor"] == "content"):
            pair = [[float(row[name]) for name in list(row)[2:]] for row in given
                    if (row["person"], row["posture"]) == (style["name"], content["name"])]
            means[style["name"], content["name"]] = np.mean(pair, axis=0)
    lines = [line.split(",") for line in (out / "loadings.csv").read_text(encoding="utf-8").splitlines()]
    loadings = {line[0]: np.array(line[1:], dtype=float) for line in lines[1:]}
    left = {pair: mean - np.array([loadings[f"{column}@{pair[0]}"] for column in list(given[0])[2:]]) @ [
        float(row[name]) for row in rows if row["name"] == pair[1] for name in ("v1", "v2", "v3")]
            for pair, mean in means.items()}
    share = 1 - sum(float(rest @ rest) for rest in left.values()) / sum(float(mean @ mean) for mean in means.values())
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Styles and contents" in page and f"explains {share:.1%} of the sum of squares" in page
    assert {row["name"]: int(row["rows"]) for row in rows} == {
        row["name"]: sum(row["name"] in (each["person"], each["posture"]) for each in given) for row in rows}


@pytest.mark.medium
def test_the_asymmetric_model_has_no_such_file(tmp_path: Path) -> None:
    postures, out = Path(__file__).parents[2] / "sample_data" / "postures.csv", tmp_path / "out"
    assert run(["embed", str(postures), *LABELS, "-m", "bilinear", "-o", str(out), "-q"]) == 0
    assert not (out / "factors.csv").exists() and "Styles and contents" not in (out / "report.html").read_text()
