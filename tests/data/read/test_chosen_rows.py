"""Rows that fulfill conditions, and samples of them, from every kind of file; a condition is checked against a table.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from mlcli.base.rows.source import rows_of
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.values.compute import Compute
from mlcli.data.options.conditions import condition
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError
from tests.data.helpers import feed, noted, refused, written
from tests.wording import Wording

CSV = """name,kind,year,x,y
a,u,1999,0.5,1
b,v,2000,1.5,2
c,u,2001,2.5,
d,,2002,3.5,4
e,two words,2003,4.5,5
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return written(tmp_path, CSV)


def ids(path: str, *where: str, **options: Any) -> str:
    """The ids of the rows that are left, one letter each."""
    return "".join(read(Input(path=path, where=where, **options)).ids)


@pytest.mark.parametrize(("where", "left"), [
    ("year == 2000", "b"), ("year != 2000", "acde"), ("year < 2001", "ab"), ("year <= 2001", "abc"),
    ("year > 2001", "de"), ("year>=2001", "cde"), ("year in [1999, 2003]", "ae"), ("year in 2000,2001", "bc"),
    ("kind == u", "ac"), ("kind != u", "be"), ("kind in (u, 'two words')", "ace"), ('kind == "two words"', "e"),
    ("name in [a, e]", "ae"), ("'name' == a", "a"), ("y > 1", "bde"), ("y != 1", "bde"), ("x == 1.50", "b"),
    ("kind in u", "ac")])
def test_operators(path: str, where: str, left: str) -> None:
    """A cell that is missing fulfills nothing."""
    assert ids(path, where) == left


def test_several_conditions_hold_together_and_columns_stay_what_they_are(path: str) -> None:
    table = read(Input(path=path, where=("year >= 2000", "x < 4")))
    assert tuple(table.ids) == ("b", "c", "d") and table.columns == ("year", "x", "y")
    assert table.labels == {"kind": ("v", "u", "")} and table.chosen_of == 5
    assert table.places is not None and table.places.tolist() == [1, 2, 3]


def test_a_column_that_is_neither_feature_nor_label(path: str) -> None:
    table = read(Input(path=path, id_column="name", columns=("x",), where=("year > 2000", "kind == u")))
    assert tuple(table.ids) == ("c",) and table.columns == ("x",) and not table.labels


def test_text_that_counts_is_compared_as_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "n,x\n9,1\n10,2\n,3\n")
    assert read(Input(path=path, label_columns=("n",), where=("n < 9.5",))).values.tolist() == [[1]]
    comma = written(tmp_path, "n;x\n9,5;1\n10,5;2\n", "comma.csv")
    options = {"label_columns": ("n",), "separator": ";", "decimal": ","}
    assert read(Input(path=comma, where=("n > 9.7",), **options)).values.tolist() == [[2]]


@pytest.mark.parametrize("text", ["year", "year = 2000", "year ~ 3", "== 3", "year ==", "year in", ""])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(ValueError, match=r"condition|value"):
        condition(text)


@pytest.mark.parametrize(("where", "error", "code", "named"), [
    ("yaer > 3", ConfigError, "UNKNOWN-COLUMN", "'year'"), ("year == u", ConfigError, "WHERE", "year"),
    ("kind < v", DataError, "WHERE", "kind"), ("kind > 3", DataError, "WHERE", "'u'"),
    ("year > 3000", DataError, "WHERE", "year")])
def test_conditions_that_cannot_be_met(path: str, where: str, error: type[ConfigError], code: str, named: str,
                                       wording: Wording) -> None:
    caught = refused(path, error, code, where=(where,))
    assert named in str(caught) and wording(caught) == [f"E-{code}"]


@pytest.mark.parametrize("options", [{"kind": "covariance"}, {"kind": "correlation"}])
def test_where_rows_are_not_chosen(path: str, options: dict[str, str]) -> None:
    for choice in ({"rows": 3}, {"where": ("x > 1",)}):
        refused(path, ConfigError, "INPUT-OPTION", **options, **choice)


def test_a_sample_follows_from_the_seed_and_keeps_the_order(tmp_path: Path) -> None:
    path = written(tmp_path, "x\n" + "\n".join(map(str, range(100))) + "\n")

    def sample(seed: int, **options: Any) -> list[float]:
        return read(Input(path=path, **options), Compute(seed=seed)).values[:, 0].tolist()

    one = sample(1, rows=10)
    assert one == sample(1, rows=10) == sorted(one) and len(set(one)) == 10
    assert one != sample(2, rows=10)
    assert all(value >= 90 for value in sample(1, rows=5, where=("x >= 90",)))
    assert sample(1, rows=1000) == list(range(100))


def table() -> pa.Table:
    generator = np.random.default_rng(0)
    return pa.table({"id": [f"p{row}" for row in range(900)], "kind": [f"k{row % 3}" for row in range(900)],
                     "year": np.arange(900), **{f"x{j}": generator.standard_normal(900) for j in range(4)}})


def test_of_a_file_beyond_memory_only_the_chosen_rows_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(table(), tmp_path / "x.parquet", row_group_size=200)
    options: dict[str, Any] = {"path": str(tmp_path / "x.parquet"), "id_column": "id", "columns": ("x0:x3",),
                               "rows": 50, "where": ("kind == k1", "year >= 300", "x0 > 0")}
    known = read(Input(**options))
    monkeypatch.setattr("mlcli.data.read.table.reads_blocks", lambda found, *_: found is not None)
    found = read(Input(**options))
    np.testing.assert_array_equal(found.values, known.values)
    assert tuple(found.ids) == tuple(known.ids) and len(found.ids) == 50
    assert found.places is not None and known.places is not None
    np.testing.assert_array_equal(found.places, known.places)


def test_chosen_rows_of_a_directory_of_files(tmp_path: Path) -> None:
    for part in range(3):
        parquet.write_table(table().slice(300 * part, 300), tmp_path / f"part-{part}.parquet")
    found = read(Input(path=str(tmp_path), id_column="id", columns=("x0",), where=("year in [10, 310, 610]",)))
    assert tuple(found.ids) == ("p10", "p310", "p610")


def sparse_table(folder: Path, streams: bool, **options: Any) -> Table:
    matrix = sparse.random_array((200, 30), density=0.2, random_state=np.random.default_rng(1), format="csr")
    sparse.save_npz(folder / "x.npz", matrix)
    found = read(Input(path=str(folder / "x.npz"), **options), streams=streams)
    rows = np.arange(200) if found.places is None else found.places
    np.testing.assert_array_equal(found.values[np.arange(len(rows))], matrix.toarray()[rows])
    return found


@pytest.mark.parametrize("streams", [True, False])
def test_chosen_rows_of_a_sparse_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streams: bool) -> None:
    monkeypatch.setattr("mlcli.data.formats.block_file.SMALL", 1000)
    found = sparse_table(tmp_path, streams, rows=60, where=("x3 > 0.1",))
    rows = rows_of(found.values)
    assert (rows is not None and isinstance(rows.source, SparseRows)) == (streams and len(found.ids) * 240 > 1000)


def test_points_of_a_square_matrix_and_of_a_graph(tmp_path: Path) -> None:
    points = np.random.default_rng(0).random((6, 2))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.save(tmp_path / "d.npy", apart)
    found = read(Input(path=str(tmp_path / "d.npy"), kind="dissimilarities", rows=4))
    assert found.places is not None and found.columns == tuple(found.ids)
    np.testing.assert_array_equal(found.values, apart[np.ix_(found.places, found.places)])
    sparse.save_npz(tmp_path / "g.npz", sparse.csr_array(apart))
    graph = read(Input(path=str(tmp_path / "g.npz"), kind="graph", rows=4)).graph
    assert graph is not None and len(graph.values) == 4 and len(graph.indices) == 12


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, CSV.encode())
    assert ids("-", "kind == u") == "ac"
    feed(monkeypatch, CSV.encode())
    refused("-", ConfigError, "UNKNOWN-COLUMN", columns=("x",), where=("year > 3",))


def test_errors_name_rows_by_their_place_in_the_file(path: str, wording: Wording) -> None:
    with noted() as notes:
        found = read(Input(path=path, where=("year >= 2001",)))
    said = notes.message("N-CHOSEN-ROWS")
    assert found.place(0) == 2 and said.startswith("3 of 5 ") and wording(said) == []


def test_chosen_rows_lie_where_the_table_was_read(path: str) -> None:
    """So that allocators keep nothing beside them."""
    whole, some = (read(Input(path=path, columns=("year", "x"), rows=rows)).source for rows in (None, 3))
    assert whole is not None and some is not None and some.kept == 0 < whole.kept
