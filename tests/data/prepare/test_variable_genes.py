"""Variable genes: scanpy's statistics and choice, whatever holds the table, and what is refused."""

import csv
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mlcli.base.rows.source import Rows, as_array
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.types import Array
from mlcli.base.values import extras
from mlcli.config.build import build
from mlcli.config.layers import Layer
from mlcli.core.moments_pass import gather
from mlcli.data.options.variable_genes import VariableGenes
from mlcli.data.prepare import variable_genes as module
from mlcli.data.prepare.apply import prepare
from mlcli.data.prepare.prepare import Prepare, Prepared
from mlcli.data.prepare.variable_genes import GeneTable, bin_numbers, local_regression, standardize, variable_genes
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, DependencyMissing, NumericalError
from tests.data.helpers import noted
from tests.data.prepare.test_prepare import table
from tests.laws.agreement.tables import TABLES, read
from tests.wording import Wording

COUNTS = read("scanpy/counts.csv")
NAMES = tuple(f"gene{number}" for number in range(COUNTS.shape[1]))
FLAVORS: dict[str, dict[str, Any]] = {"seurat": {"count": 40}, "cutoffs": {}, "seurat_v3": {"count": 40,
                                                                                            "flavor": "seurat_v3"}}


def named(values: Array) -> Table:
    """A table of cells with the names of the genes."""
    return replace(table(values), columns=NAMES)


def scanpys(name: str) -> dict[str, Array]:
    """The columns of scanpy's table, NaN for empty cells."""
    with (TABLES / f"scanpy/{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([float(row[key] or "nan") for row in rows]) for key in rows[0] if key}


def found_by(name: str, *, blocks: bool) -> GeneTable:
    counts = name == "seurat_v3"
    values = COUNTS if counts else np.log1p(COUNTS)
    given = Rows(SparseRows(sparse.csr_array(values))) if blocks else values
    return variable_genes(VariableGenes(**FLAVORS[name]), given, NAMES)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("name", FLAVORS)
def test_statistics_and_choice_are_those_of_scanpy(name: str, blocks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.base.rows.sparse.BLOCK", 7 * COUNTS.shape[1])
    monkeypatch.setattr("mlcli.base.rows.sparse.PART", COUNTS.shape[1])
    monkeypatch.setattr("mlcli.data.prepare.variable_genes.BLOCK", 7 * COUNTS.shape[1])
    expected, found = scanpys(name), found_by(name, blocks=blocks)
    assert np.array_equal(found.chosen, expected.pop("highly_variable") == 1)
    assert found.columns.keys() == expected.keys()
    for column, values in expected.items():
        np.testing.assert_allclose(found.columns[column], values, rtol=1e-10, atol=1e-12, err_msg=column)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize(("flavor", "values"), [("seurat", np.log1p(COUNTS)), ("seurat_v3", COUNTS)])
def test_a_run_keeps_these_genes_in_their_order(flavor: str, values: Array, blocks: bool) -> None:
    options = Prepare(transform=("log1p",), variable_genes=VariableGenes(count=40, flavor=flavor))  # type: ignore[arg-type]
    result = prepared(options, blocks=blocks)
    places = np.flatnonzero(scanpys(flavor)["highly_variable"])
    assert result.genes is not None and np.array_equal(result.genes.places, places)
    assert result.table.columns == tuple(NAMES[place] for place in places)
    again = result.preparation.apply(named(COUNTS[:5]))
    np.testing.assert_allclose(again.values, np.log1p(COUNTS)[:5, places], atol=1e-15)


def prepared(options: Prepare, *, blocks: bool) -> Prepared:
    given = named(COUNTS)
    if blocks:
        rows = Rows(SparseRows(sparse.csr_array(COUNTS)))
        given = replace(given, values=as_array(Rows(rows.source, moments=gather(rows).moments)))
    return prepare(options, given)


def test_a_layer_decides_and_the_table_is_embedded(wording: Wording) -> None:
    options = Prepare(variable_genes=VariableGenes(count=40, flavor="seurat_v3", layer="counts"))
    result = prepare(options, named(np.log1p(COUNTS)), named(COUNTS))
    chosen = scanpys("seurat_v3")["highly_variable"] == 1
    assert result.table.values.tobytes() == np.ascontiguousarray(np.log1p(COUNTS)[:, chosen]).tobytes()
    with wording.raises(ConfigError, "LAYER"):
        prepare(options, named(np.log1p(COUNTS)))


def test_equal_variances_go_to_the_first_gene() -> None:
    twice = np.hstack([COUNTS, COUNTS])
    first = variable_genes(VariableGenes(count=1, flavor="seurat_v3"), twice, (*NAMES, *(f"{name}b" for name in NAMES)))
    assert first.places[0] < len(NAMES)


def test_a_bin_of_one_gene_has_the_standard_dispersion_one() -> None:
    values = np.array([3.0, 1.0, 2.0, np.nan])
    assert standardize(values, np.array([0, 1, 1, 1]), 2)[:3] == pytest.approx([1, -np.sqrt(0.5), np.sqrt(0.5)])
    assert bin_numbers(np.array([0.0, 1.0, 2.0, 3.0]), 3).tolist() == [0, 0, 1, 2]  # bins hold their upper edge
    assert bin_numbers(np.array([2.0, 2.0]), 4).tolist() == [1, 1]


def test_a_local_regression_reproduces_a_parabola() -> None:
    x = np.linspace(-1, 2, 50)
    assert local_regression(x, 3 - x + 2 * x**2, 0.3) == pytest.approx(3 - x + 2 * x**2, abs=1e-9)


@pytest.mark.parametrize(("options", "values"), [
    ({"count": 3}, COUNTS - 1), ({"count": 3}, COUNTS * 1000), ({"count": 3, "flavor": "seurat_v3"}, COUNTS - 1),
    ({"count": 3, "flavor": "seurat_v3"}, np.ones((4, 5))), ({"min_disp": 1e6}, np.log1p(COUNTS)),
    ({"count": 3}, COUNTS[:1])], ids=["negative", "large", "negative counts", "constant", "cutoffs", "one cell"])
def test_other_numbers_are_refused(options: Any, values: Array, wording: Wording) -> None:
    with wording.raises(DataError, "GENES"):
        variable_genes(VariableGenes(**options), values, NAMES[: values.shape[1]])


@pytest.mark.parametrize("count", [2, 8, 12])
def test_a_regression_of_few_genes_is_refused(count: int, wording: Wording) -> None:
    with wording.raises(NumericalError, "LOESS"):
        variable_genes(VariableGenes(count=1, flavor="seurat_v3"), COUNTS[:, -count:], NAMES[-count:])


@pytest.mark.parametrize(("flavor", "values", "code"), [("seurat", COUNTS[:, 20:80], "W-LOGARITHMS"),
                                                       ("seurat_v3", COUNTS + 0.5, "W-COUNTS")])
def test_numbers_that_look_like_the_other_kind_are_told_of(flavor: Any, values: Array, code: str) -> None:
    with noted() as notes:
        variable_genes(VariableGenes(count=9, flavor=flavor), np.minimum(values, 300), NAMES[: values.shape[1]])
    assert notes.codes == [code, "N-VARIABLE-GENES"]


@pytest.mark.parametrize(("prepare", "input", "named"), [
    ({"variable_genes": {"flavor": "seurat_v3"}}, {}, "seurat_v3"),
    ({"variable_genes": {"count": 9, "span": 0.5}}, {}, "span"),
    ({"variable_genes": {"count": 9, "flavor": "seurat_v3", "bins": 9}}, {}, "bins"),
    ({"variable_genes": {"count": 9, "min_mean": 1.0}}, {}, "min_mean"),
    ({"variable_genes": {"count": 9}, "top_variance": 3}, {}, "prepare.top_variance"),
    ({"variable_genes": {"count": 9}, "missing": "model"}, {}, "missing: model"),
    ({"variable_genes": {"count": 9}}, {"kind": "dissimilarities"}, "input.kind: dissimilarities"),
    ({"variable_genes": {"count": 9}}, {"view": {"path": "other.csv"}}, "view")])
def test_options_without_effect_are_refused(prepare: Any, input: Any, named: str, wording: Wording) -> None:
    config = build(Layer({"input": {"path": "cells.csv", **input}, "prepare": prepare}))
    with pytest.raises(ConfigError, match=named) as caught:
        config.prepare.require_input(config.input)
    assert wording(caught.value) == [caught.value.code]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, wording: Wording) -> None:
    monkeypatch.setitem(extras.EXTRAS, "genes", ("not_there",))  # type: ignore[index]
    with wording.raises(DependencyMissing, "EXTRA"):
        module.local_regression(COUNTS[0], COUNTS[1], 0.3)


def test_all_genes_with_a_dispersion_are_kept_where_they_are_fewer() -> None:
    found = variable_genes(VariableGenes(count=1000), np.log1p(COUNTS), NAMES)
    assert np.array_equal(found.chosen, COUNTS.any(axis=0))
