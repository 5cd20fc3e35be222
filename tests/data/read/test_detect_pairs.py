"""A matrix of pairs is not read as a table of points unless that is said."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.cli.line.parsing import in_flags
from mlcli.data.options.input import Input
from mlcli.data.read.detect_pairs import resemblance
from mlcli.data.read.table import read_unchecked
from mlcli.errors import DataError, option
from tests.data.helpers import refused, table_of, written
from tests.wording import Wording

POINTS = np.random.default_rng(0).normal(size=(12, 5))
APART = np.sqrt(((POINTS[:, None] - POINTS) ** 2).sum(axis=2))


def content(values: Array, *, ids: bool = True, names: bool = True) -> str:
    """A square matrix as text, with or without names on either side."""
    labels = [f"p{place}" for place in range(len(values))]
    rows = [",".join([label] * ids + [f"{value:.17g}" for value in row])
            for label, row in zip(labels, values, strict=True)]
    return "\n".join([",".join([""] * ids + labels)] * names + rows) + "\n"


@pytest.mark.parametrize(("ids", "names"), [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize(("values", "kind"), [
    (np.corrcoef(POINTS.T), "correlation"), (APART, "dissimilarities"), (np.exp(-APART**2), "correlation"),
    (1 + 3 * (1 - np.eye(4)), "kernel")])
def test_a_matrix_is_recognized_by_its_diagonal(tmp_path: Path, values: Array, kind: str, ids: bool,
                                                names: bool) -> None:
    error = refused(written(tmp_path, content(values, ids=ids, names=names)), DataError, "LOOKS-LIKE-MATRIX")
    assert error.hint.startswith(in_flags("give " + option("input.kind", kind)))
    said = table_of(tmp_path, content(values, ids=ids, names=names), kind="features")
    assert np.array_equal(said.values, values)


def test_variances_count_where_both_sides_have_the_same_names(tmp_path: Path, wording: Wording) -> None:
    spread = np.cov(POINTS.T)
    error = refused(written(tmp_path, content(spread)), DataError, "LOOKS-LIKE-MATRIX")
    assert "--kind covariance" in error.hint and wording(error) == [error.code]
    assert table_of(tmp_path, content(spread, ids=False)).kind == "features"


@pytest.mark.parametrize("values", [
    np.eye(5), np.zeros((4, 4)), np.array([[0.0, 1], [1, 0]]), POINTS[:5], np.triu(APART), APART * np.nan,
    np.where(np.eye(5) > 0, 0, -1.0)])
def test_points_are_not_taken_for_a_matrix(tmp_path: Path, values: Array) -> None:
    assert resemblance(read_unchecked(Input(path=written(tmp_path, content(values))))) is None


def test_a_correlation_has_ones_and_nothing_beyond(tmp_path: Path) -> None:
    table = table_of(tmp_path, content(np.corrcoef(POINTS.T)), kind="correlation")
    assert (table.kind, table.rows) == ("covariance", 0)
    beyond = np.array([[1, 1.5], [1.5, 1]])
    for values, part in ((np.cov(POINTS.T), "a diagonal entry"), (beyond, "between 'p0' and 'p1'")):
        error = refused(written(tmp_path, content(values)), DataError, "NOT-CORRELATION", kind="correlation")
        assert part in error.what


@pytest.mark.parametrize(("head", "rows", "said"), [
    ("source,target,weight", "a,b,1\na,c,2\n", "give --graph,"),
    ("length,target,source", "1,2,3\n2,3,1\n", "give --graph,"),
    ("source,target,affinity", "a,b,1\nc,d,2\n", "give --graph --set input.edges=affinities,")])
def test_a_list_of_edges_is_recognized_by_its_columns(tmp_path: Path, head: str, rows: str, said: str) -> None:
    error = refused(written(tmp_path, f"{head}\n{rows}"), DataError, "LOOKS-LIKE-MATRIX")
    assert error.hint.startswith(said) and error.kind == "graph"


@pytest.mark.parametrize("head", ["source,target,weight,age", "source,weight,age", "source,target,age"])
def test_other_tables_with_such_columns_are_points(tmp_path: Path, head: str) -> None:
    columns = len(head.split(","))
    rows = "".join(",".join(str(row + place) for place in range(columns)) + "\n" for row in range(4))
    assert table_of(tmp_path, f"{head}\n{rows}").values.shape == (4, columns)


@pytest.mark.parametrize(("count", "code"), [(780, "LOOKS-LIKE-MATRIX"), (781, "ARRAY"), (1, "ARRAY")])
def test_one_number_for_every_two_points_is_recognized(tmp_path: Path, count: int, code: str) -> None:
    path = tmp_path / "data.npy"
    np.save(path, np.arange(1.0, count + 1))
    assert ("--dissimilarities" in refused(str(path), DataError, code).hint) == (count == 780)


def test_labels_of_other_rows_do_not_hide_what_a_table_is(tmp_path: Path, wording: Wording) -> None:
    labels = written(tmp_path, "group\n" + "a\n" * 12, "labels.csv")
    path = written(tmp_path, content(np.corrcoef(POINTS.T)))
    error = refused(path, DataError, "LOOKS-LIKE-MATRIX", labels={"path": labels})
    assert "--kind correlation " in error.hint and wording(error) == [error.code]
