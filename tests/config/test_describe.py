"""Every option is described in plain words."""

import pytest

from mlcli.config.describe import OptionRow, differences, listed, merge, rows, show
from mlcli.config.run_config import RunConfig
from mlcli.methods import METHODS

ROWS = list(rows(RunConfig))


def row(path: str, method: str = "") -> OptionRow:
    return next(row for row in ROWS if row.path == path and row.only.get("method", method) == method)


@pytest.mark.parametrize("found", ROWS, ids=lambda found: f"{found.path}-{'-'.join(found.only.values())}")
def test_every_option_has_a_sentence_and_a_type(found: OptionRow) -> None:
    assert found.sentence.endswith(".")
    assert found.type and "typing" not in found.words and "<" not in found.words
    assert found.default or found.type.startswith("a section")


def test_types_ranges_and_defaults() -> None:
    assert row("method.neighbors.count", "isomap").words == "a whole number of at least 1"
    assert row("method.eigensolve.components", "pca").words == (
        "a whole number (at least 1), a number (over 0 and at most 1), 'all' or 'auto'")
    assert row("input.header").words == "'auto', true or false"
    assert row("input.columns").words == "a list of items, each a text"
    assert row("report.formats").default == "[csv]"
    assert row("input.path").default == "required"
    assert row("method.ridge", "lle").default == "0.001"


def test_a_section_with_alternatives_lists_their_names() -> None:
    assert row("method.name").type == " or ".join(", ".join(map(repr, METHODS)).rsplit(", ", 1))
    assert row("method.kernel.name", "kpca").default == "gaussian"
    assert [found.only for found in ROWS if found.path == "method.kernel.degree"] == [
        {"method": "kpca", "method.kernel": "polynomial"}, {"method": "chain", "method.kernel": "polynomial"}]


def test_an_option_of_several_alternatives_is_one_where_it_is_the_same() -> None:
    found = merge(row for row in ROWS if row.only.get("method") == "gplvm" and row.path.startswith("method.inference."))
    assert [(row.path.rpartition(".")[2], row.default, names) for row, names in found] == [
        ("name", "map", []), ("prior", "gaussian", [("map",), ("sparse",)]), ("inducing", "100", [("sparse",)]),
        ("inducing", "30", [("bayesian",)])]
    [(_, names)] = merge(row for row in ROWS if row.path == "method.kernel.weights.rate")
    assert names == [("graph_laplacian", "heat")]


def test_every_method_appears() -> None:
    assert {found.only["method"] for found in ROWS if "method" in found.only} == set(METHODS)


@pytest.mark.parametrize(("value", "text"), [
    (None, "null"), (True, "true"), (0.5, "0.5"), ("a", "'a'"), ("x" * 99, "'" + "x" * 39 + "..."), ({}, "a section"),
    ([1, "a"], "[1, 'a']"), ((), "[]"), (list(range(9)), "[0, 1, 2, 3, 4, ...]")])
def test_values_are_shown_as_yaml_writes_them(value: object, text: str) -> None:
    assert show(value) == text


def test_lists_in_words() -> None:
    assert [listed(list(names), "or") for names in ("", "a", "ab", "abc")] == ["", "a", "a or b", "a, b or c"]


def test_sections_in_a_list_are_described_by_their_options() -> None:
    tables = [{"name": "sepal", "columns": ["a:b"]}, {"name": "petal", "columns": ["c"], "kernel": {
        "name": "polynomial", "degree": 2}}]
    items = [{"columns": ["a", "b"], "answers": ["no", "yes"]}]
    config = RunConfig.model_validate({
        "input": {"path": "x.csv", "items": items}, "output": "x",
        "method": {"name": "chain", "kernel": {"name": "sum", "tables": tables}}})
    found = {item.path: item.value for item in differences(config)}
    assert found == {
        "input.items.1.columns": "['a', 'b']", "input.items.1.answers": "['no', 'yes']", "method.name": "chain",
        "method.kernel.name": "sum", "method.kernel.tables.sepal.columns": "['a:b']",
        "method.kernel.tables.petal.columns": "['c']", "method.kernel.tables.petal.kernel.name": "polynomial",
        "method.kernel.tables.petal.kernel.degree": "2"}
