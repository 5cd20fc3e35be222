"""Rows far from all others, columns that hardly vary, labels behind the first axes, points near a boundary."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.checkup.features import components, epsilon_squared, from_center, nearly_constant, outliers_of
from mlcli.checkup.graph import outer_share
from mlcli.checkup.lines import lines_of
from mlcli.checkup.report import Report
from mlcli.data.samples import sample
from tests.checkup.test_metric import codes, examined, written

SHAPES = {"normal": lambda rng: rng.standard_normal((400, 3)), "uniform": lambda rng: rng.random((400, 2)),
          "log-normal": lambda rng: np.exp(rng.standard_normal((400, 3))), "wide": lambda rng: rng.random((400, 300)),
          "two groups": lambda rng: rng.standard_normal((400, 3)) + 50 * (np.arange(400) % 4 == 0)[:, None]}


def far_rows(report: Report) -> tuple[set[str], set[str]]:
    """The rows far from the center, and from the nearest points."""
    assert report.outliers and report.outliers.center and report.outliers.neighbors
    return tuple({row for row, _, _ in far.worst}  # type: ignore[return-value]
                 for far in (report.outliers.center, report.outliers.neighbors))


@pytest.mark.parametrize("shape", SHAPES)
def test_points_of_usual_shapes_have_no_outliers_until_some_are_moved(tmp_path: Path, shape: str) -> None:
    points = SHAPES[shape](np.random.default_rng(3))
    assert far_rows(examined(written(tmp_path, points), "features")) == (set(), set())
    moved = points.copy()
    moved[[7, 200]] += 1000
    report = examined(written(tmp_path, moved), "features")
    hidden = shape == "two groups"  # of which the one is an outlier's way from the center of the other
    assert far_rows(report) == (set() if hidden else {"8", "201"}, {"8", "201"})
    place = "nearest points" if hidden else "center"
    assert codes(report).count("C-OUTLIERS") == 1 and f"2 rows far from the {place}" in " ".join(lines_of(report))


def test_a_wrong_cell_is_found_whatever_the_units_of_the_columns(tmp_path: Path) -> None:
    points = np.random.default_rng(0).standard_normal((300, 4)) * [1e6, 1, 1e-3, 1e-6]
    points[17, 2] = 0.1
    report = examined(written(tmp_path, points), "features")
    assert report.outliers and report.outliers.center
    (row, times, column), = report.outliers.center.worst
    assert (row, column) == ("18", "x3") and 40 < times < 200
    for factor in (1e-300, 1e150):
        again = examined(written(tmp_path, points * factor), "features")
        assert again.outliers and again.outliers.center
        assert [row for row, _, _ in again.outliers.center.worst] == ["18"]


def test_one_far_point_is_found_among_dissimilarities(tmp_path: Path) -> None:
    points = np.random.default_rng(0).random((40, 2))
    points[5] += 30
    report = examined(written(tmp_path, np.linalg.norm(points[:, None] - points[None], axis=2)))
    assert report.outliers and report.outliers.center is None and report.outliers.neighbors
    assert [row for row, _, _ in report.outliers.neighbors.worst] == ["6"]


def test_few_rows_and_equal_rows_have_no_outliers() -> None:
    assert outliers_of(np.eye(5), tuple("abcde"), tuple("12345"), None).center is None
    assert outliers_of(np.ones((20, 2)), ("a", "b"), [str(row) for row in range(20)], None).center.count == 0


def test_distances_from_the_center_are_in_median_deviations() -> None:
    values = np.array([[0.0, 7], [1, 7], [2, 7], [3, 7], [40, 8]])
    lengths, widest = from_center(values)
    assert lengths.tolist() == [2, 1, 0, 1, 38] and widest.tolist() == [0] * 5


def test_columns_that_hardly_vary_are_named() -> None:
    values = np.zeros((300, 5))
    values[:, 0] = np.arange(300)
    values[:3, 1], values[:4, 2], values[0, 3] = 5, 5, np.nan
    found = nearly_constant(values, ("a", "b", "c", "d", "e"), np.array([False] * 4 + [True]))
    assert [(column.column, column.value, column.others) for column in found] == [("b", 0, 3), ("d", 0, 0)]
    assert nearly_constant(values[:15], ("a", "b", "c", "d", "e"), np.zeros(5, dtype=bool)) == []


def test_the_explained_share_is_that_of_a_regression_corrected_for_chance() -> None:
    rng = np.random.default_rng(0)
    codes_, axis = rng.integers(0, 4, 60), rng.standard_normal(60)
    dummies = np.eye(4)[codes_]
    residual = axis - dummies @ np.linalg.lstsq(dummies, axis, rcond=None)[0]
    adjusted = 1 - (residual @ residual / (60 - 4)) / (((axis - axis.mean()) ** 2).sum() / 59)
    assert epsilon_squared(axis, codes_) == pytest.approx(max(0.0, adjusted), abs=1e-12)
    assert epsilon_squared(codes_ * 1e20, codes_) == pytest.approx(1)
    by_chance = [epsilon_squared(rng.standard_normal(200), rng.permutation(np.arange(200) % 20)) for _ in range(200)]
    assert np.mean(by_chance) < 0.03


def test_components_are_those_of_a_singular_value_decomposition() -> None:
    points = np.random.default_rng(0).standard_normal((50, 6)) * [5, 3, 1, 1, 1, 1]
    left = np.linalg.svd(points - points.mean(axis=0))[0].T[:2]
    assert np.abs(np.sum(components(points) * left, axis=1)) == pytest.approx([1, 1])
    assert len(components(np.outer(np.arange(9.0), [1, 2]))) == 1


@pytest.mark.parametrize(("label", "found"), [("batch", True), ("Seq_run", True), ("species", False),
                                              ("runner", False)])
def test_a_label_that_says_how_rows_were_measured_is_a_finding_where_it_shows(tmp_path: Path, label: str,
                                                                             found: bool) -> None:
    rng = np.random.default_rng(0)
    rows = [f"r{row},{'ab'[row % 2]},{value + 9 * (row % 2)},{other}\n"
            for row, (value, other) in enumerate(rng.standard_normal((80, 2)).tolist())]
    (tmp_path / "data.csv").write_text(f"id,{label},x,y\n{''.join(rows)}", encoding="utf-8")
    report = examined(tmp_path / "data.csv", "features")
    assert report.labels and (report.labels[0].label, report.labels[0].values) == (label, 2)
    assert report.labels[0].shares[0] > 0.9 > 0.1 > report.labels[0].shares[1]
    assert ("C-BATCH" in codes(report)) == found


@pytest.mark.medium
@pytest.mark.parametrize(("name", "columns"), [("ball", 2), ("ball", 10), ("cube", 3), ("cube", 20)])
def test_shares_near_the_boundary_of_ball_and_cube(tmp_path: Path, name: str, columns: int) -> None:
    """In a cube the outer tenth by length is the outer 5% at each wall; the box around points is a little smaller."""
    report = examined(written(tmp_path, sample(name, 4000, 0, columns=columns).values), "features")
    assert report.concentration
    measured = (report.concentration.measured.outer_tenth if name == "ball" else report.concentration.box_outer_tenth)
    assert report.concentration.uniform.outer_tenth == outer_share(columns) == pytest.approx(1 - 0.9**columns)
    assert measured == pytest.approx(outer_share(columns), abs=0.05)
