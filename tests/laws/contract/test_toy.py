"""A method that is not spectral and has a decoder of its own passes through every command."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from tests.laws.contract import toy
from tests.processes import python

PLACES = np.linspace(-2, 2, 60)
POINTS = np.column_stack([PLACES, PLACES**2 - PLACES, 0.3 * np.sin(7 * PLACES)]) + [5.0, 0.0, -1.0]
FAR = -300  # as a power of two, the size of the other data
COMMANDS = [
    *(["embed", f"{name}.csv", "-m", "toy", "-q", "-o", name] for name in ("near", "far")),
    ["project", "near", "near.csv", "-q", "-o", "places.csv"],
    *(["reconstruct", name, f"{name}/embedding.csv", "-q", "-o", f"{name}_back.csv"] for name in ("near", "far")),
    ["report", "near"], ["verify", "near"], ["verify", "near", "--full"], ["verify", "far"],
    ["compare", "near", "far", "-q"], ["plan", "near.csv", "-m", "toy"], ["run", "near/config.yaml", "--force", "-q"],
    ["embed", "near.csv", "-m", "toy", "-o", "told"], ["methods", "toy"],
    ["embed", "near.csv", "-m", "fixed", "-q", "-o", "fixed"], ["verify", "fixed"], ["verify", "fixed", "--full"],
    ["report", "fixed", "-q"], ["compare", "near", "fixed", "-q"], ["plan", "near.csv", "-m", "fixed"],
    ["run", "fixed/config.yaml", "--force", "-q"], ["export", "fixed", "-o", "fixed.h5ad", "-q"],
    ["explain", "toy", "near.csv", "-q"], ["explain", "fixed", "near.csv", "-q"],
    ["embed", "near.csv", "-m", "fixed", "--set", "report.stability={resamples: 5}", "-q", "-o", "unstable"],
    ["embed", "fixed", "-m", "pca", "-q", "-o", "second"], ["collect", "near", "fixed", "-o", "both", "-q"],
    ["project", "fixed", "near.csv", "-q", "-o", "refused.csv"], ["project", "second", "near.csv", "-o", "refused.csv"],
    ["reconstruct", "fixed", "fixed/embedding.csv", "-o", "refused.csv"],
    ["embed", "near.csv", "-m", "toy", "--set", "method.minimize.limit=2", "--strict", "-q", "-o", "stopped"]]


def rows(path: Path) -> Array:
    with path.open(encoding="utf-8", newline="") as file:
        _, *columns = zip(*csv.reader(file), strict=True)  # ids come first; new rows have scores as well
        return np.array([column[1:] for column in columns if not column[0].startswith("off_manifold")], dtype=float).T


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all commands ran, with their exit codes in `codes.json`."""
    folder = tmp_path_factory.mktemp("toy")
    for name, power in (("near", 0), ("far", FAR)):
        lines = [",".join(f"{value!r}" for value in row) for row in np.ldexp(POINTS, power).tolist()]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c", *lines]) + "\n", encoding="utf-8")
    start = f"import os; os.chdir({str(folder)!r})\n"
    code = Path(toy.__file__).read_text(encoding="utf-8")
    (folder / "codes.json").write_text(python(start + code, json.dumps(COMMANDS)), encoding="utf-8")
    return folder


def document(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.medium
def test_every_command_ends_well(folder: Path) -> None:
    codes = json.loads((folder / "codes.json").read_text(encoding="utf-8"))
    assert dict(zip(map(" ".join, COMMANDS), codes, strict=True)) == {
        " ".join(command): 80 if command[-1] == "stopped" else 78 if command[-1] in ("refused.csv", "unstable") else 0
        for command in COMMANDS}


def test_a_run_that_cannot_place_points_has_all_but_that(folder: Path) -> None:
    written = {path.name for path in (folder / "fixed").iterdir()}
    assert {"quality.json", "scatter.svg", "report.html", "model.json", "dimension.json"} < written
    quality, run = document(folder / "fixed" / "quality.json"), document(folder / "fixed" / "run.json")
    assert quality["measures"]["trustworthiness"]["value"] > 0.9 if "measures" in quality else quality
    assert run["certificate"] == "unchecked" and "N-UNCHECKED" in {note["code"] for note in run["notes"]}
    assert "no number checked" in (folder / "fixed" / "report.html").read_text(encoding="utf-8")
    assert not (folder / "refused.csv").exists()


def test_a_run_without_a_spectrum_says_nothing_of_one(folder: Path) -> None:
    written = {path.name for path in (folder / "near").iterdir()}
    assert {"trace.csv", "model.npz", "scatter.svg", "report.html"} < written
    assert not {"spectrum.csv", "scree.svg"} & written
    run, dimension = document(folder / "near" / "run.json"), document(folder / "near" / "dimension.json")
    assert "spectrum" not in run and run["certificate"] == "pass" and run["fit"]["converged"]
    assert {reason for rule, reason in dimension["left_out"].items() if rule in ("elbow", "kaiser")} == {
        "toy has no spectrum"}
    page = (folder / "near" / "report.html").read_text(encoding="utf-8")
    assert "<h2>Embedding</h2>" in page and "<h2>Spectrum</h2>" not in page
    assert "<h2>Reconstructions</h2>" in page and "<h2>Latent-space grid, decoded</h2>" in page


def test_methods_of_others_are_explained(folder: Path) -> None:
    """Without a word in the table of steps: their rows, iteration and coordinates."""
    toy, fixed = [(folder / f"explain-{name}.html").read_text(encoding="utf-8") for name in ("toy", "fixed")]
    assert all(f"<h2>{name}</h2>" in toy for name in ("Rows", "Iteration", "Map", "Coordinates"))
    assert "<h2>Rows</h2>" in fixed and "<h2>Coordinates</h2>" in fixed


def test_the_parabola_is_that_of_least_squares(folder: Path) -> None:
    places = POINTS[:, 0] - POINTS[:, 0].mean()
    basis, centered = np.column_stack([places, places**2]), POINTS - POINTS.mean(axis=0)
    best = basis @ np.linalg.lstsq(basis, centered, rcond=None)[0]
    assert np.allclose(rows(folder / "near_back.csv"), best + POINTS.mean(axis=0), rtol=0, atol=1e-6)
    left = document(folder / "near" / "run.json")["fit"]["left"]
    assert left == pytest.approx(float(np.sum((best - centered) ** 2)), rel=1e-7)
    assert np.array_equal(rows(folder / "places.csv"), rows(folder / "near" / "embedding.csv"))


def test_all_that_carries_a_unit_follows_the_data(folder: Path) -> None:
    near, far = folder / "near", folder / "far"
    drawn, large = np.load(near / "decoded.npz"), np.load(far / "decoded.npz")
    assert all(np.array_equal(np.ldexp(drawn[name], FAR * (name != "rows")), large[name]) for name in drawn)
    assert np.array_equal(np.ldexp(rows(near / "embedding.csv"), FAR), rows(far / "embedding.csv"))
    assert np.array_equal(np.ldexp(rows(folder / "near_back.csv"), FAR), rows(folder / "far_back.csv"))
    assert np.array_equal(np.ldexp(rows(near / "trace.csv"), 2 * FAR), rows(far / "trace.csv"))
    left = [document(run / "run.json")["fit"]["left"] for run in (near, far)]
    assert left[1] == np.ldexp(left[0], 2 * FAR)
