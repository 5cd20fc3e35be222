"""Tables of points: repeated rows and columns, constants, scales, missing cells, and what was meant to be a matrix."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.checkup.features import features_of, repeated_pairs
from mlcli.checkup.lines import lines_of
from mlcli.data.options.input import Input
from mlcli.data.read.table import read_unchecked
from tests.checkup.test_metric import codes, examined, written


def test_repeats_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (400, 5)).astype(float)
    values[rng.random(values.shape) < 0.05] = np.nan
    for axis, count in ((1, len(values) - len(np.unique(values, axis=0, equal_nan=False))), (0, 0)):
        if axis == 1:
            seen: dict[tuple[str, ...], int] = {}
            count = sum(1 for i, row in enumerate(values) if seen.setdefault(tuple(map(repr, row.tolist())), i) != i)
        assert len(repeated_pairs(values, axis)) == count
    later, earlier = repeated_pairs(values, 1)[0]
    assert earlier < later
    assert np.array_equal(values[later], values[earlier], equal_nan=True)


def test_minus_zero_repeats_zero_and_columns_repeat() -> None:
    values = np.array([[0.0, 1, 0], [-0.0, 1, 0], [2, 3, 2]])
    assert repeated_pairs(values, 1).tolist() == [[1, 0]]
    assert repeated_pairs(values, 0).tolist() == [[2, 0]]


def test_a_table_with_everything_wrong(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("id,a,b,c,d,e\n" + "".join(f"r{i},{i % 7},5,{1000 * i},{i % 7},{0.001 * i}\n" for i in range(30))
                    + "r30,0,5,0,0,0\nr31,,5,1,1,inf\n", encoding="utf-8")
    report = examined(path, "features", input={"id_column": "id"})
    found = report.features
    assert found
    assert (found.missing.cells, found.missing.infinite, found.missing.rows) == (2, 1, 1)
    assert found.missing.worst == (("a", 1), ("e", 1))
    assert found.constant_column_names == ("b",)
    assert (found.duplicate_columns, found.duplicate_rows, found.duplicate_row_ids) == (0, 1, (("r30", "r0"),))
    assert found.scales
    assert (found.scales.largest_column, found.scales.smallest_column) == ("c", "e")
    assert codes(report)[0] == "C-MISSING"
    assert {"C-CONSTANT-COLUMNS", "C-DUPLICATE-ROWS", "C-SCALES"} <= set(codes(report))
    assert report.rows_compared == 31
    assert report.graph


@pytest.mark.parametrize(("metric", "advice"), [("euclidean", "prepare.scale=standard"),
                                                ("braycurtis", "prepare.transform=sqrt")])
def test_an_abundant_species_is_no_reason_to_scale_counts_and_a_rare_one_none_to_leave_it_out(
        tmp_path: Path, metric: str, advice: str) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("site,a,b,rare\n" + "".join(f"s{i},{1 + 97 * i % 83},{i % 3},{int(i == 7)}\n" for i in range(40)))
    report = examined(path, "features", method={"name": "mds", "metric": {"name": metric}})
    found = {finding.code: finding.advice for finding in report.findings}
    assert advice in found["C-SCALES"] and ("C-NEARLY-CONSTANT" in found) == (metric == "euclidean")


def test_standard_deviations_are_those_of_numpy_in_any_unit(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((50, 4)) * [1, 5, 0.25, 2] + 3
    for power in (0, 600, -900):
        table = read_unchecked(Input(path=str(written(tmp_path, np.ldexp(values, power)))))
        found = features_of(table)
        assert found.scales
        deviations = values.std(axis=0)
        assert found.scale_spread == pytest.approx(deviations[1] / deviations[2], rel=1e-12)
        assert np.ldexp(found.scales.largest, -power) == pytest.approx(deviations[1], rel=1e-12)
        assert found.scales.dominant_share == pytest.approx(deviations[1] ** 2 / (deviations**2).sum(), rel=1e-12)


def test_a_large_mean_makes_no_constant_vary() -> None:
    from mlcli.data.prepare.scales import spreads

    deviations, _, constant = spreads(np.array([[1e9, 1e9], [1e9, 1e9 + 1], [1e9, 1e9]]))
    assert constant.tolist() == [True, False]
    assert deviations[0] == 0


def test_dissimilarities_read_as_features_are_recognized(tmp_path: Path) -> None:
    points = np.random.default_rng(0).standard_normal((12, 2))
    path = written(tmp_path, np.abs(points[:, :1] - points[:, 0]))
    assert "C-DISSIMILARITIES" in codes(examined(path, "features"))
    assert "C-DISSIMILARITIES" not in codes(examined(path))


@pytest.mark.parametrize(("values", "reason"), [
    ([[1.0, 2]], "there is one point"), ([[1.0, 2]] * 5, "all points are equal"),
    ([[np.nan, 2], [1, np.nan], [np.nan, 3]], "no row has")])
def test_what_has_no_geometry_says_so(tmp_path: Path, values: list[list[float]], reason: str) -> None:
    report = examined(written(tmp_path, values), "features")
    assert report.graph is None
    assert {skipped.check for skipped in report.skipped} == {"concentration", "hubness", "intrinsic_dimension", "graph",
                                                         "column_subsets"}
    assert all(skipped.reason.startswith(reason) for skipped in report.skipped)


def test_more_columns_than_are_named_are_counted(tmp_path: Path) -> None:
    values = np.zeros((20, 145))
    values[:, 0] = np.arange(20.0)
    report = examined(written(tmp_path, values), "features")
    assert any("'x6' and 139 more" in line for line in lines_of(report))
    assert any("'x6' and 139 more" in finding.sentence for finding in report.findings)


@pytest.mark.medium
def test_the_intrinsic_dimension_is_that_of_the_distinct_points(tmp_path: Path) -> None:
    points = np.random.default_rng(0).standard_normal((60, 3))
    once, often = (examined(written(tmp_path, values), "features").intrinsic_dimension
                   for values in (points, np.repeat(points, 20, axis=0)))
    assert once == often
    square = cdist(np.repeat(points, 20, axis=0), np.repeat(points, 20, axis=0))
    found = examined(written(tmp_path, square)).intrinsic_dimension
    assert found and once and found.two_nn == pytest.approx(once.two_nn)
