"""Columns of text as categories of gower: read, compared, stored and met again."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.checkup import examine
from mlcli.config.run_config import RunConfig
from mlcli.data.options.input import Input
from mlcli.data.prepare.categories import recode, require_known
from mlcli.data.read.table import read
from mlcli.data.table.sheet import Sheet
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError
from mlcli.pipeline import run as pipeline
from mlcli.planning import plan
from mlcli.runs import project
from mlcli.runs.verify import verify
from tests.laws.agreement.tables import TABLES
from tests.laws.agreement.tables import read as table_of
from tests.support import dissimilarities, fit

SITE = TABLES / "metrics" / "site.csv"
COLUMNS = ["A1", "Moisture", "Management", "Use"]


def run_of(folder: Path, path: Path = SITE, columns: list[str] = COLUMNS, **sections: Any) -> dict[str, Any]:
    """A run of MDS under gower, and what it says."""
    config = RunConfig.model_validate({
        **sections, "input": {"path": str(path), "columns": columns}, "output": str(folder / "out"),
        "method": {"name": "mds", "metric": "gower"}, "report": {"certify": "full"}})
    return pipeline.run(config)


def embedding(folder: Path) -> Any:
    """Coordinates that a run wrote."""
    return np.loadtxt(folder / "out" / "embedding.csv", delimiter=",", skiprows=1, usecols=(1, 2))


@pytest.mark.parametrize("columns", [COLUMNS, ["Use", "A1", "Management", "Moisture"], ["A1:Use"]])
@pytest.mark.filterwarnings("ignore")
def test_principal_coordinates_of_mixed_columns_are_those_of_daisy(tmp_path: Path, columns: list[str]) -> None:
    run_of(tmp_path, columns=columns)
    apart = np.zeros((20, 20))
    apart[np.triu_indices(20, 1)] = table_of("metrics/site_pairs.csv")[:, 0]
    model = fit("mds", dissimilarities(apart + apart.T))
    np.testing.assert_allclose(embedding(tmp_path), model.embedding, atol=1e-12)
    assert verify(tmp_path / "out", full=True).certificate.verdict == "pass"


@pytest.mark.filterwarnings("ignore")
def test_new_rows_are_met_by_their_texts(tmp_path: Path) -> None:
    run_of(tmp_path)
    lines = SITE.read_text().splitlines()
    new = tmp_path / "new.csv"
    new.write_text("\n".join([lines[0], *lines[:0:-1], lines[1].replace("1,", "99,", 1).replace("SF", "XX"),
                              lines[1].replace("1,", "98,", 1).replace("SF", "YY")]) + "\n")
    projected = project.project(tmp_path / "out", Input(path=str(new)), Compute()).values[:, :2]  # beside are scores
    np.testing.assert_allclose(projected[:20][::-1], embedding(tmp_path), atol=1e-12)
    assert np.array_equal(projected[20], projected[21])  # texts that no training row has differ from all
    assert np.abs(projected[20] - projected[19]).max() > 0.01


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.filterwarnings("ignore")
def test_columnar_files_hold_categories_as_well(tmp_path: Path, format: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import csv, feather, parquet

    table = csv.read_csv(SITE).rename_columns(["id", *COLUMNS])
    table = table.set_column(4, "Use", table["Use"].dictionary_encode())
    path = tmp_path / f"site.{format}"
    assert arrow.types.is_dictionary(table["Use"].type)
    parquet.write_table(table, path) if format == "parquet" else feather.write_feather(
        table, path, compression="uncompressed")
    run_of(tmp_path, path)
    first = embedding(tmp_path)
    (tmp_path / "csv").mkdir()
    run_of(tmp_path / "csv")
    assert np.array_equal(first, embedding(tmp_path / "csv"))


def test_texts_have_numbers_in_their_order_and_missing_ones_have_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,kind\n1,b\n2,\n3,a\n4,b\n")
    table = read(Input(path=str(path), columns=("x", "kind")), Compute(), categories="named")
    assert table.columns == ("x", "kind") and dict(table.categories) == {"kind": ("a", "b")}
    assert np.array_equal(table.values, [[1, 1], [2, np.nan], [3, 0], [4, 1]], equal_nan=True)
    assert not table.labels
    assert table.data().categories == {1: ("a", "b")}


@pytest.mark.parametrize("prepare", [{"transform": ["log1p"]}, {"scale": "standard"}, {"top_variance": 2},
                                     {"missing": "mean"}])
def test_no_arithmetic_is_done_with_categories(tmp_path: Path, prepare: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        run_of(tmp_path, prepare=prepare)
    assert caught.value.code == "E-CATEGORIES" and caught.value.where == f"prepare.{next(iter(prepare))}"


def test_text_is_refused_where_it_is_not_named_or_the_metric_reads_none(tmp_path: Path) -> None:
    for columns, metric in (([], "gower"), (COLUMNS, "cityblock")):
        config = RunConfig.model_validate({
            "input": {"path": str(SITE), "columns": columns}, "output": str(tmp_path / "out"),
            "method": {"name": "mds", "metric": metric}})
        with pytest.raises(DataError) as caught:
            pipeline.run(config)
        assert caught.value.code == "E-TEXT-COLUMN"


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("columns", [["shape", "color", "size"], ["color:size"]])
def test_texts_alone_are_as_far_apart_as_they_differ(tmp_path: Path, format: str, columns: list[str]) -> None:
    rows = np.array([["red", "round", "L"], ["red", "square", "S"], ["blue", "round", "S"], ["blue", "square", "L"],
                     ["green", "oval", "L"], ["green", "square", "M"]])
    path = tmp_path / f"texts.{format}"
    if format == "csv":
        path.write_text("\n".join(["color,shape,size,weight", *(",".join([*row, "7"]) for row in rows), ""]))
    else:
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import feather, parquet

        table = arrow.table({"color": rows[:, 0], "shape": rows[:, 1], "size": rows[:, 2], "weight": [7.0] * len(rows)})
        parquet.write_table(table, path) if format == "parquet" else feather.write_feather(
            table, path, compression="uncompressed")
    run_of(tmp_path, path, columns)
    model = fit("mds", dissimilarities((rows[:, None] != rows).mean(axis=2)))
    np.testing.assert_allclose(embedding(tmp_path), model.embedding, atol=1e-12)
    assert verify(tmp_path / "out", full=True).certificate.verdict == "pass"
    new = Input(path=str(path), columns=tuple(columns))
    np.testing.assert_allclose(project.project(tmp_path / "out", new, Compute()).values[:, :2], model.embedding,
                               atol=1e-12)
    config = RunConfig.model_validate({"input": {"path": str(path), "columns": columns},
                                       "method": {"name": "mds", "metric": "gower"}})
    assert plan.plan(config, None)["fits"]
    checked = examine.check(config)
    assert checked.features is not None and checked.features.scales is None
    assert checked.graph is not None and checked.graph.connecting_radius == pytest.approx(2 / 3)


def test_a_category_cannot_be_a_label_as_well(tmp_path: Path) -> None:
    run_of(tmp_path)
    with pytest.raises(ConfigError) as caught:
        project.project(tmp_path / "out", Input(path=str(SITE), label_columns=("Use",)), Compute())
    assert caught.value.where == "input.label_columns"


def test_a_text_that_no_row_of_the_fit_has_is_refused_in_the_same_words_as_a_text_and_as_a_number() -> None:
    known = {"kind": ("a", "b")}
    table = Table(np.array([[0.0], [1.0]]), ("kind",), ("p", "q"), "id", categories={"kind": ("a", "d")})
    sheet = Sheet(np.zeros((2, 0)), (), True, ("p", "q"), "id", {"kind": ("a", "d")})
    said = []
    for refuse in (lambda: recode(table, known), lambda: require_known(sheet, known, "new.csv")):
        with pytest.raises(DataError) as caught:
            refuse()
        said.append((caught.value.found, caught.value.hint, caught.value.row))
    assert said[0] == said[1]
