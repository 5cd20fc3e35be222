"""Damages of run directories that once ended in an internal error are refused by name."""

import json
import shutil
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from tests.faults.fuzz.arrays import of_npz
from tests.faults.fuzz.directories import SAMPLES, damaged, edited, made, new_points
from tests.faults.fuzz.trials import commands, tried

DAMAGES: dict[str, tuple[str, str, Any]] = {  # file, place, what is put there; None: the key is deleted
    "figures that are one number": ("run.json", "fit.uniquenesses", 1e308),
    "a likelihood that is no number": ("run.json", "fit.log_likelihood", "likely"),
    "a kind that is missing": ("model.json", "model.kind", None),
    "a preparation that is missing": ("model.json", "model.preparation", None),
    "reductions that are none": ("model.json", "model.reductions", 3),
    "a kind that is no text": ("model.json", "model.kind", 3),
    "a unit beyond all numbers": ("model.json", "model.projector.fields.exponent_in", 10**30),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of factor analysis of a covariance matrix, which has no projector."""
    return made(tmp_path_factory.mktemp("known"), "fa")


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a layout, whose measures lie beside those of a baseline."""
    return made(tmp_path_factory.mktemp("known"), "nmds")


@pytest.mark.parametrize("name", DAMAGES)
def test_a_known_damage_is_refused(run: Path, tmp_path: Path, name: str) -> None:
    file, place, value = DAMAGES[name]
    copy = edited(run, tmp_path / "damaged", file, place, value)
    trials = [tried(*arguments) for arguments in commands(copy, file)]
    assert [trial.fault for trial in trials if trial.fault] == []
    assert any(trial.code for trial in trials)  # somebody noticed


@pytest.mark.medium
def test_a_number_of_rows_that_is_a_table_is_refused(tmp_path: Path) -> None:
    copy = edited(made(tmp_path, "mds"), tmp_path / "damaged", "quality.json", "rows", {"rows": 3})
    trials = [tried(*arguments) for arguments in commands(copy, "quality.json")]
    assert [trial.fault for trial in trials if trial.fault] == [] and any(trial.code == 83 for trial in trials)


@pytest.mark.medium
@pytest.mark.parametrize("place", ["baseline.stress_1_scaled", "baseline.continuity_se", "label"])
@pytest.mark.parametrize("value", [{"a": {"b": 1}}, [1], True])
def test_a_measure_that_is_no_number_is_refused(layout: Path, tmp_path: Path, place: str, value: Any) -> None:
    copy = edited(layout, tmp_path / "damaged", "quality.json", place, value)
    trials = [tried(*arguments) for arguments in commands(copy, "quality.json")]
    assert [trial.fault for trial in trials if trial.fault] == [] and any(trial.code == 83 for trial in trials)


@pytest.mark.medium
@pytest.mark.parametrize("place", ["fit.stress", "fit.linear_r_squared", "fit.a"])
@pytest.mark.parametrize("value", ["text", [], {}, [[1]]])
def test_a_figure_of_the_fit_that_is_no_number_is_refused(
        layout: Path, tmp_path: Path, place: str, value: Any) -> None:
    copy = edited(layout, tmp_path / "damaged", "run.json", place, value)
    trial = tried("report", str(copy), "-q")
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
@pytest.mark.parametrize(("name", "place"), [
    ("smacof", "kind"), ("sammon", "projector.fields.similarity.fields.points")])
def test_a_model_that_does_not_say_how_new_rows_are_placed_is_refused(tmp_path: Path, name: str, place: str) -> None:
    directory = made(tmp_path, name)
    document = json.loads((directory / "model.json").read_bytes())
    *above, last = place.split(".")
    node = reduce(dict.__getitem__, above, document["model"])
    node[last] = "" if place == "kind" else None
    copy = damaged(directory, tmp_path / "damaged", "model.json", json.dumps(document).encode())
    trial = tried("project", str(copy), str(new_points(name)), "-q")
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
@pytest.mark.parametrize("value", ["", "nan", "inf", "0.5", "2"])
def test_marks_of_constrained_axes_that_are_none_are_refused(tmp_path: Path, value: str) -> None:
    directory = made(tmp_path, "rda")
    head, *rows = (directory / "spectrum.csv").read_text().splitlines()
    place = head.split(",").index("constrained")
    rows[0] = ",".join([value if at == place else cell for at, cell in enumerate(rows[0].split(","))])
    copy = damaged(directory, tmp_path / "damaged", "spectrum.csv", "\n".join([head, *rows, ""]).encode())
    for words in (("report", str(copy), "-q"), ("compare", str(copy), str(copy), "-q")):
        trial = tried(*words)
        assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
@pytest.mark.parametrize("axis", ["3", "1e300", "1.5", "nan", ""])
def test_axes_of_groups_that_are_none_are_refused(tmp_path: Path, axis: str) -> None:
    directory = made(tmp_path, "mfa")
    head, first, *rows = (directory / "groups_axes.csv").read_text().splitlines()
    group, _, rest = first.split(",", 2)
    content = "\n".join([head, f"{group},{axis},{rest}", *rows, ""]).encode()
    trial = tried("report", str(damaged(directory, tmp_path / "damaged", "groups_axes.csv", content)), "-q")
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
@pytest.mark.parametrize(("place", "value"), [
    ("degrees_of_freedom", [[1]]), ("degrees_of_freedom", 3), ("explained_share", "most"), ("pseudo_F", [1]),
    ("p_value", {}), ("permutations", "many")])
def test_figures_of_an_ordination_that_are_none_are_refused(tmp_path: Path, place: str, value: Any) -> None:
    copy = edited(made(tmp_path, "rda"), tmp_path / "damaged", "run.json", f"fit.{place}", value)
    trial = tried("verify", str(copy))
    assert trial.code in (80, 83) and not trial.fault


@pytest.mark.medium
def test_a_model_of_rows_without_a_map_is_refused(tmp_path: Path) -> None:
    directory = made(tmp_path, "mca")
    document = json.loads((directory / "model.json").read_bytes())
    document["model"]["projector"] = None
    copy = damaged(directory, tmp_path / "damaged", "model.json", json.dumps(document).encode())
    trial = tried("verify", str(copy))
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
@pytest.mark.parametrize("column", ["adjusted", "adjusted_share"])
def test_adjusted_inertias_without_their_shares_are_refused(tmp_path: Path, column: str) -> None:
    directory = made(tmp_path, "mca")
    text = (directory / "spectrum.csv").read_bytes()
    copy = damaged(directory, tmp_path / "damaged", "spectrum.csv",
                   text.replace(f",{column}".encode(), b",other", 1))
    trial = tried("report", str(copy), "-q")
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
@pytest.mark.parametrize("told", ["similarity.others.0.places: flat", "similarity.others.0.places: a single number",
                                  "decoder.posterior.covariance.terms.0.lengths: zeros"])
def test_processes_of_views_without_places_or_lengths_are_refused(tmp_path: Path, told: str) -> None:
    directory = made(tmp_path, "mvgplvm")
    content = dict(of_npz((directory / "model.npz").read_bytes()))[f"projector.{told}"]()
    copy = damaged(directory, tmp_path / "damaged", "model.npz", content)
    trial = tried("verify", str(copy), "-q")
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
@pytest.mark.parametrize("told", ["one less", "nothing"])
def test_coordinates_that_are_not_those_of_all_points_are_refused(tmp_path: Path, told: str) -> None:
    """Of a run of dissimilarities, which has no rows to compare them with."""
    directory = made(tmp_path, "smacof")
    content = dict(of_npz((directory / "model.npz").read_bytes()))[f"projector.similarity.coordinates: {told}"]()
    copy = damaged(directory, tmp_path / "damaged", "model.npz", content)
    trial = tried("project", str(copy), str(new_points("smacof")), "-q")
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
@pytest.mark.parametrize("value", [3, "text", [None], [[1]], {"a": {"b": 1}}])
def test_a_curve_of_stresses_that_is_no_list_of_numbers_is_refused(layout: Path, tmp_path: Path, value: Any) -> None:
    copy = edited(layout, tmp_path / "damaged", "dimension.json", "rules.stress.figures.stresses", value)
    trial = tried("report", str(copy), "-q")
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
def test_a_stress_whose_square_is_beyond_all_numbers_is_refused(layout: Path, tmp_path: Path) -> None:
    trial = tried("report", str(edited(layout, tmp_path / "damaged", "run.json", "fit.stress", 1e308)), "-q")
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
def test_a_page_without_the_knee_of_the_entropy_is_drawn(tmp_path: Path) -> None:
    copy = edited(made(tmp_path, "phate"), tmp_path / "damaged", "run.json", "fit.time", None)
    trial = tried("report", str(copy), "-q")
    assert (trial.code, trial.fault) == (0, "")


@pytest.mark.medium
@pytest.mark.parametrize(("place", "value"), [("rows", None), ("anchors", None), ("anchors", 0)])
def test_measures_of_labels_are_not_taken_from_anchors_that_are_none(
        tmp_path: Path, place: str, value: int | None) -> None:
    copy = edited(made(tmp_path, "lda"), tmp_path / "damaged", "quality.json", place, value)
    trial = tried("report", str(copy), "--quality-label", "Species", "-q")
    assert (trial.code, trial.fault) == (83, "")


@pytest.mark.medium
def test_labels_are_measured_beside_a_baseline_that_is_null(tmp_path: Path) -> None:
    directory = made(tmp_path, "lda")
    document = json.loads((directory / "quality.json").read_bytes()) | {"baseline": None}
    copy = damaged(directory, tmp_path / "damaged", "quality.json", json.dumps(document).encode())
    trial = tried("report", str(copy), "--quality-label", "Species", "-q")
    assert (trial.code, trial.fault) == (0, "")


@pytest.mark.parametrize("share", ["9223372036854775808", "1e308", ""])
def test_a_spectrum_whose_shares_do_not_add_up_is_refused(run: Path, tmp_path: Path, share: str) -> None:
    head, first, *others = (run / "spectrum.csv").read_text(encoding="utf-8").splitlines()
    changed = "\n".join([head, ",".join([*first.split(",")[:3], share]), *others, ""])
    trial = tried("report", str(damaged(run, tmp_path / "damaged", "spectrum.csv", changed.encode())), "-q")
    assert trial.code == 83 and "spectrum.csv:2" in trial.err


def test_a_plan_that_does_not_fit_is_no_fault() -> None:
    trial = tried("plan", str(SAMPLES / "us_arrests.csv"), "-m", "vae", "--set", "method.layers=[5]",
                  "--set", "method.learning.batch=2147483648")
    assert (trial.code, trial.err, trial.fault) == (82, "", "")


@pytest.mark.medium
@pytest.mark.parametrize("value", [0.0, -1.0])
@pytest.mark.parametrize("place", ["motion.fields.covariance.fields.terms.items.1.fields.variance",
                                   "motion.fields.covariance.fields.noise"])
def test_a_variance_that_is_none_fails_the_certificate(tmp_path: Path, place: str, value: float) -> None:
    place = f"model.projector.fields.similarity.fields.{place}"
    copy = edited(made(tmp_path, "gpdm"), tmp_path / "damaged", "model.json", place, value)
    trials = [tried(*arguments) for arguments in commands(copy, "model.json")]
    assert [trial.fault for trial in trials if trial.fault] == [] and any(trial.code == 80 for trial in trials)


@pytest.mark.medium
@pytest.mark.parametrize(("name", "told"), [
    ("transformed", "projector.decoder.mean: huge"), ("gpdm", "score.reference.points: huge"),
    ("gpdm", "projector.decoder.posterior.weights: huge"),
    ("gpdm", "projector.decoder.posterior.covariance.terms.0.lengths: tiny"),
    ("lgssm", "projector.similarity.model.innovation: all huge"), ("lle", "projector.similarity.points: all huge")])
def test_numbers_of_a_model_whose_squares_are_beyond_all_numbers_are_no_bug(
        tmp_path: Path, name: str, told: str) -> None:
    directory = made(tmp_path, name)
    content = dict(of_npz((directory / "model.npz").read_bytes()))[told]()
    copy = damaged(directory, tmp_path / "damaged", "model.npz", content)
    shutil.copy(new_points(name), copy / "new.csv")
    trials = [tried(*arguments) for arguments in commands(copy, "model.npz")]
    assert [trial.fault for trial in trials if trial.fault] == []


@pytest.mark.medium
@pytest.mark.parametrize(("name", "place", "value"), [
    ("mvgplvm", "projector.fields.decoder", None), ("gpdm", "projector.fields.decoder", None),
    ("gpdm", "projector.fields.decoder.fields.posterior.fields.covariance.fields.terms.items", []),
    ("gpdm", "projector.fields.decoder.fields.posterior.fields.covariance.fields.noise", 10**30),
    ("tsne", "projector.fields.similarity.fields.perplexities.items", []),
    ("tsne", "projector.fields.similarity.fields.perplexities.items", [-3.0])])
def test_parts_of_a_model_that_are_not_there_are_no_bug(
        tmp_path: Path, name: str, place: str, value: Any) -> None:
    copy = edited(made(tmp_path, name), tmp_path / "damaged", "model.json", f"model.{place}", value)
    shutil.copy(new_points(name), copy / "new.csv")
    trials = [tried(*arguments) for arguments in commands(copy, "model.json")]
    assert [trial.fault for trial in trials if trial.fault] == []
    assert any(trial.code in (80, 83) for trial in trials)


@pytest.mark.medium
def test_scores_beyond_all_numbers_are_not_drawn(tmp_path: Path) -> None:
    directory = made(tmp_path, "stable")
    head, *rows = (directory / "calibration.csv").read_text().splitlines()
    rows[0] = ",".join([*rows[0].split(",")[:-1], "1e999"])
    copy = damaged(directory, tmp_path / "damaged", "calibration.csv", "\n".join([head, *rows, ""]).encode())
    trial = tried("report", str(copy), "-q")
    assert trial.code in (0, 83) and not trial.fault


@pytest.mark.medium
@pytest.mark.parametrize(("file", "column", "renamed", "cell"), [
    ("partial.csv", "sepal.y2", "sepal.y9", None), ("contributions.csv", "contribution_y1", "x", None),
    ("contributions_columns.csv", "cos2_y2", "x", None), ("groups.csv", "square", "square", "-1"),
    ("groups.csv", "columns", "columns", "1e300")])
def test_tables_of_groups_and_contributions_that_are_none_are_refused(
        tmp_path: Path, file: str, column: str, renamed: str, cell: str | None) -> None:
    directory = made(tmp_path, "mfa")
    head, first, *rows = (directory / file).read_text().splitlines()
    place = head.split(",").index(column)
    cells = first.split(",")
    content = "\n".join([head.replace(column, renamed), ",".join(
        [*cells[:place], cells[place] if cell is None else cell, *cells[place + 1:]]), *rows, ""]).encode()
    copy = damaged(directory, tmp_path / "damaged", file, content)
    trials = [tried(*arguments) for arguments in commands(copy, file)]
    assert [trial.fault for trial in trials if trial.fault] == []
    assert any(trial.code in (80, 83) for trial in trials)
