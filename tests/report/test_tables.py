"""Tables of a finished run: what stands in them, and that their forms hold any text."""

import csv
import io

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.config.run_config import RunConfig
from mlcli.errors import ConfigError
from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
from mlcli.findings.loadings.tables import correlations_table, loadings_of, loadings_table
from mlcli.methods import METHODS
from mlcli.report.page.page import page
from mlcli.report.page.tables import TABLES, tables_of
from mlcli.report.tables.table import ReportTable, as_csv, as_latex, as_markdown
from tests.laws.agreement.columns.test_psych import of_matrix
from tests.laws.agreement.tables import facts
from tests.report.support import finished_run

HARMAN = facts("psych/summary.json")["Harman74"]


def of_factors(rotation: str) -> FinishedRun:
    """The report of factors of Harman's tests."""
    model = of_matrix("Harman74", 145, rotation={"name": rotation})
    values = model.loadings.values
    columns = {"column": list(model.loadings.columns),
               **{f"y{i + 1}": [repr(value) for value in values[:, i].tolist()] for i in range(4)}}
    plain = model.in_units(METHODS["fa"].accepts[1](np.eye(24), model.loadings.columns), METHODS["fa"].powers)
    config = RunConfig.model_validate({"input": {"path": "h.csv"}, "method": {"name": "fa"}})
    run = finished_run(loadings=CsvColumns(columns), manifest={"fit": dict(plain.fit), "spectrum": {"trace": 24.0}})
    return FinishedRun(**{**vars(run), "config": config})


def of_pca(**options: object) -> FinishedRun:
    """The report of made-up loadings of PCA."""
    config = RunConfig.model_validate({"input": {"path": "x.csv"}, "prepare": {"scale": "standard"},
                                       "method": {"name": "pca", **options}})
    rows = CsvColumns({"column": ["a", "b", "c"], "y1": ["0.1", "-0.9", "0.8"], "y2": ["0.95", "0.2", "0"]})
    run = finished_run(loadings=rows, manifest={"spectrum": {"computed": 3, "trace": 3.0}})
    return FinishedRun(**{**vars(run), "config": config})


def test_communalities_and_complexity_are_those_of_psych() -> None:
    found = loadings_of(of_factors("varimax"))
    assert found is not None and found.shares is not None and found.standardized and not found.oblique
    assert found.shares.communalities == pytest.approx(list(HARMAN["communalities"].values()), abs=2e-5)
    assert found.complexity == pytest.approx(list(HARMAN["complexity"].values()), abs=5e-4)  # psych prints one decimal
    assert correlations_table(of_factors("varimax")) is None


@pytest.mark.parametrize("rotation", ["none", "varimax", "promax", "oblimin"])
def test_shares_do_not_depend_on_the_rotation(rotation: str) -> None:
    """Communalities, uniquenesses and the whole share of the variance belong to the space of the factors."""
    table, plain = (loadings_table(of_factors(name)) for name in (rotation, "none"))
    assert table is not None and plain is not None
    shares = [{row[0]: row[5:7] for row in one.rows} for one in (table, plain)]
    for name, (communality, uniqueness) in shares[0].items():
        assert communality == pytest.approx(shares[1][name][0], abs=1e-7)
        assert communality + uniqueness == pytest.approx(1, abs=1e-7)
    assert table.footers[-1][4] == pytest.approx(plain.footers[-1][4], abs=1e-9)
    assert (correlations_table(of_factors(rotation)) is None) == (rotation in ("none", "varimax"))


def test_variables_stand_with_their_factor_largest_first() -> None:
    table = loadings_table(of_pca())
    assert table is not None and [row[0] for row in table.rows] == ["b", "c", "a"]
    assert table.rows[0][3:5] == pytest.approx((0.85, 0.15))  # communality, and the rest of a variance of one
    assert {row[0]: row[1:3] for row in table.footers}["cumulative"] == pytest.approx(
        (1.46 / 3, (1.46 + 0.9425) / 3))


def test_loadings_of_length_one_have_no_communalities() -> None:
    table = loadings_table(of_pca(loadings="unit"))
    assert table is not None and list(table.head) == ["column", "PC 1", "PC 2"] and not table.footers
    assert as_csv(table).startswith("column,y1,y2\n")  # as loadings.csv has them
    assert METHODS["pca"](loadings="unit").loadings == "unit"


def test_a_cutoff_leaves_small_loadings_out_for_people_only() -> None:
    run = of_pca()
    table = tables_of(run, "loadings", "markdown", 0.3)[0]
    assert "| b | -0.900 |  | 0.850 |" in as_markdown(table)
    kept = list(csv.DictReader(io.StringIO(as_csv(tables_of(run, "loadings", "csv", None)[0]))))
    assert [float(row["y2"]) for row in kept] == [0.2, 0.0, 0.95]
    assert ">0.200<" in page(run) and ">0.200<" not in page(run, cutoff=0.3)


@pytest.mark.parametrize("name", ["a|b", "50%_of & more", "x\\y{z}^~#$", "<b>`*[", "a\nb", "a\u202eb"])
def test_any_name_is_one_cell_of_every_form(name: str) -> None:
    table = ReportTable(name, ("column", name), [(name, 1.0)], footers=[("sum", 1.0)])
    latex, markdown = as_latex(table), as_markdown(table).splitlines()
    body = latex[latex.index(r"\toprule"):latex.index(r"\bottomrule")].splitlines()
    for line in body:
        assert line.endswith(r"rule") or (line.replace(r"\&", "").count("&") == 1 and line.endswith(r"\\"))
        assert "%" not in line.replace(r"\%", "") and "_" not in line.replace(r"\_", "")
    assert len(markdown) == 6 and all(line.replace(r"\|", "").count("|") == 3 for line in markdown[2:])
    assert next(csv.reader(io.StringIO(as_csv(table)))) == ["column", name]


def test_a_table_that_the_run_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(ConfigError) as caught:
        tables_of(finished_run(), "loadings", "markdown", None)
    assert caught.value.code == "E-NO-TABLE" and "spectrum" in caught.value.hint
    assert set(TABLES) >= {"loadings", "spectrum", "quality", "fit", "dimension"}


def test_loadings_of_length_one_are_the_rotation_to_coordinates() -> None:
    from tests.support import fit

    points = np.random.default_rng(3).standard_normal((40, 5)) * np.arange(1, 6)
    model = fit("pca", points, loadings="unit")
    assert np.allclose((points - points.mean(axis=0)) @ model.loadings.values, model.embedding, rtol=0, atol=1e-12)
    scaled = fit("pca", points).loadings.values
    assert np.allclose(model.loadings.values * np.sqrt(model.spectrum.eigenvalues[:2]), scaled, rtol=0, atol=1e-12)
    covariance = METHODS["pca"](loadings="unit")
    data = METHODS["fa"].accepts[1](np.cov(points.T, bias=True), model.loadings.columns)
    found = covariance.resolve(data).fit(data, Compute()).loadings.values
    assert np.allclose(np.abs(found), np.abs(model.loadings.values), rtol=0, atol=1e-12)


def test_infinite_numbers_are_shown_and_undefined_ones_left_out() -> None:
    table = ReportTable("Every two groups.", ("first", "t"),
                        [("a", float("inf")), ("b", float("-inf")), ("c", float("nan"))])
    assert as_csv(table) == "first,t\na,inf\nb,-inf\nc,\n"
    assert [row[1] for row in table.lines] == ["∞", "-∞", ""]
    assert r"$\infty$" in as_latex(table) and "-∞" in as_markdown(table)
