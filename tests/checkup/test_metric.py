"""Metric conditions, Euclidean or not, corrections: known tables, and broken ones counted without stopping."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.checkup.examine import check
from mlcli.checkup.lines import lines_of
from mlcli.checkup.report import Report
from mlcli.config.build import build
from mlcli.config.layers import Layer
from tests.laws.agreement.tables import TABLES
from tests.wording import Wording

SUMMARY = json.loads((TABLES / "pcoa" / "summary.json").read_text(encoding="utf-8"))
SETS = [path.name for path in sorted((TABLES / "pcoa").iterdir()) if path.is_dir()]


def examined(path: Path | str, kind: str = "dissimilarities", **sections: Any) -> Report:
    values = {"method": {"name": "isomap"}, **sections,
              "input": {"path": str(path), "kind": kind, **sections.get("input", {})}}
    return check(build(Layer(values)))


def written(folder: Path, values: Any) -> Path:
    np.save(folder / "data.npy", np.asarray(values, dtype=float))
    return folder / "data.npy"


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("name", SETS)
def test_known_dissimilarities(name: str) -> None:
    """Triples, violations, smallest eigenvalue and constants as R's ade4, ape and a count in R give them."""
    expected, found = SUMMARY[name], examined(TABLES / "pcoa" / name / "D.csv")
    assert found.metric and found.metric.triangle and found.euclidean and found.corrections
    triangle, scale = found.metric.triangle, expected["lambda_max"]
    assert (triangle.violations, triangle.triples) == (expected["triangle_violations"], expected["triples"])
    assert triangle.largest_excess == pytest.approx(expected["additive_constant_for_triangle"], rel=1e-12)
    assert found.euclidean.is_euclidean == expected["is_euclid_ade4"]
    assert abs(found.euclidean.smallest_eigenvalue - expected["lambda_min"]) < 1e-12 * scale
    assert found.euclidean.negative_eigenvalues == expected["n_negative"]
    assert abs(found.euclidean.negative_share - expected["negative_share_abs"]) < 1e-12
    assert abs(found.corrections.lingoes - expected["lingoes_c1"]) < 1e-12 * scale
    assert found.corrections.cailliez == pytest.approx(expected["cailliez_c2"], rel=1e-12)


def test_eurodist_and_capitales_as_published() -> None:
    found = {name: examined(TABLES / "pcoa" / name / "D.csv").document() for name in ("eurodist", "capitales")}
    assert (found["eurodist"]["metric"]["triangle"]["violations"], found["eurodist"]["metric"]["triangle"]["triples"],
            round(found["eurodist"]["euclidean"]["smallest_eigenvalue"], 2),
            round(found["eurodist"]["corrections"]["cailliez"], 6)) == (161, 1330, -2251844.33, 2132.678495)
    assert (round(found["capitales"]["corrections"]["cailliez"], 5),
            round(found["capitales"]["corrections"]["lingoes"])) == (2429.87867, 2120982)


@pytest.mark.parametrize("power", [-900, -40, 3, 900])
def test_units_only_scale_the_constants(tmp_path: Path, power: int) -> None:
    """By 2**power every count is the same; eigenvalues that leave double precision are not counted on."""
    values = np.loadtxt(TABLES / "pcoa" / "watervoles" / "D.csv", delimiter=",", skiprows=1, usecols=range(1, 15))
    plain, moved = examined(written(tmp_path, values)), examined(written(tmp_path, np.ldexp(values, power)))
    assert plain.metric and moved.metric and plain.metric.triangle and moved.metric.triangle
    assert moved.metric.triangle.violations == plain.metric.triangle.violations
    assert plain.corrections and moved.corrections and plain.corrections.cailliez
    assert moved.corrections.cailliez == np.ldexp(plain.corrections.cailliez, power)


def test_every_fault_is_counted_at_once(tmp_path: Path) -> None:
    values = np.ones((6, 6)) - np.eye(6)
    values[0, 1] = values[1, 0] = -2
    values[2, 2] = 0.5
    values[3, 4] = 1.25
    found = examined(written(tmp_path, values)).metric
    assert found
    assert (found.nonnegative.violations, found.nonnegative.worst[0].points) == (1, ("1", "2"))
    assert (found.identity.violations, found.identity.worst[0].values) == (1, (0.5,))
    assert (found.symmetry.violations, found.symmetry.worst[0].values) == (1, (1.25, 1.0))
    assert found.symmetry.largest_relative_gap == 0.25 / 2
    assert found.triangle
    assert found.triangle.violations == 4  # all with the side below zero
    assert not found.is_metric


def test_missing_pairs_leave_the_other_triples(tmp_path: Path) -> None:
    values = np.ones((8, 8)) - np.eye(8)
    values[0, 1] = values[1, 0] = np.nan
    values[2, 3] = values[3, 2] = 5
    found = examined(written(tmp_path, values))
    assert found.metric
    assert (found.metric.missing.cells, found.metric.missing.worst) == (2, (("1", 1), ("2", 1)))
    assert found.metric.triangle
    assert (found.metric.triangle.triples, found.metric.triangle.violations) == (56 - 6, 6)
    assert found.euclidean is None
    assert {skipped.check for skipped in found.skipped} >= {"euclidean", "graph"}
    assert codes(found) == ["C-MISSING", "C-TRIANGLE"]


def test_similarities_and_squares_give_themselves_away(tmp_path: Path) -> None:
    points = np.random.default_rng(0).standard_normal((30, 2))
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    assert codes(examined(written(tmp_path, np.exp(-squares)))) == ["C-SIMILARITIES"]
    assert "C-SQUARED" in codes(examined(written(tmp_path, squares)))
    honest = examined(written(tmp_path, squares), input={"squared": True})
    assert honest.metric
    assert honest.metric.is_metric
    assert honest.euclidean
    assert honest.euclidean.is_euclidean
    assert "C-SQUARED" not in codes(honest)


def test_points_that_coincide_are_no_metric(tmp_path: Path) -> None:
    points = np.array([0.0, 1, 1, 3])
    found = examined(written(tmp_path, np.abs(points[:, None] - points)))
    assert found.metric
    assert (found.metric.identity.coincident_pairs, found.metric.is_metric) == (1, False)
    assert found.metric.identity.coincident[0].points == ("2", "3")
    assert found.euclidean
    assert found.euclidean.is_euclidean


def test_a_condensed_vector_and_a_square_say_the_same(tmp_path: Path) -> None:
    from scipy.spatial.distance import pdist, squareform

    condensed = pdist(np.random.default_rng(1).standard_normal((14, 3)), "cityblock")
    one, two = examined(written(tmp_path, condensed)), examined(written(tmp_path, squareform(condensed)))
    assert one.document() == two.document()


def test_kernels(tmp_path: Path) -> None:
    factor = np.random.default_rng(0).standard_normal((8, 3))
    good = examined(written(tmp_path, factor @ factor.T), kind="kernel")
    assert good.kernel
    assert good.kernel.is_positive_semidefinite
    assert good.findings == ()
    bad = examined(written(tmp_path, np.diag([1.0, 2, -0.5])), kind="kernel")
    assert bad.kernel
    assert (bad.kernel.smallest_eigenvalue, codes(bad)) == (-0.5, ["C-INDEFINITE"])
    assert codes(examined(written(tmp_path, 1 - np.eye(4)), kind="kernel")) == ["C-DISSIMILARITIES"]


def test_no_constant_is_promised_where_sides_are_below_zero(tmp_path: Path) -> None:
    values = np.ones((6, 6)) - np.eye(6)
    values[0, 1] = values[1, 0] = -1.0
    said = "\n".join(lines_of(examined(written(tmp_path, values))))
    assert "each has a side below zero" in said and "would correct this" not in said


def test_cailliez_is_said_to_be_left_out_and_where_to_find_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                              wording: Wording) -> None:
    monkeypatch.setattr("mlcli.checkup.metric.CAILLIEZ", 20)
    report = examined(TABLES / "pcoa" / "eurodist" / "D.csv")
    said = "\n".join(lines_of(report))
    assert report.document()["corrections"]["cailliez"] is None
    assert wording(said, "C-NOT-EUCLIDEAN") == ["C-NOT-EUCLIDEAN"]
    assert "not computed: there are too many points" in said and "method.correction=cailliez" in said


def test_a_condensed_row_or_column_of_text_is_a_matrix(tmp_path: Path) -> None:
    points = np.random.default_rng(0).standard_normal((9, 2))
    gaps = [float(np.linalg.norm(points[i] - points[j])) for i in range(9) for j in range(i + 1, 9)]
    for name, separator in (("row", ","), ("column", "\n")):
        path = tmp_path / f"{name}.csv"
        path.write_text(separator.join(map(repr, gaps)) + "\n", encoding="utf-8")
        found = examined(path)
        assert (found.rows, found.metric and found.metric.is_metric) == (9, True)
