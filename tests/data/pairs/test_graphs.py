"""Graphs are read to the edge from every format, and contradictions in them are refused by the edge."""

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import mmwrite

from mlcli.base.values.inputs import AffinityGraph, LengthGraph, WeightedGraph
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import ConfigError, DataError, MlcliError

TRIANGLE = {(0, 1): 2.5, (1, 2): 0.0, (0, 3): 1e-300}  # four points, one edge of length zero


def whole() -> sparse.coo_array:
    """The triangle of edges and its mirror image."""
    pairs = [(*ends, value) for ends, value in TRIANGLE.items()]
    rows, columns, values = zip(*pairs, *((j, i, value) for i, j, value in pairs), strict=True)
    return sparse.coo_array((values, (rows, columns)), shape=(4, 4))


def graph(path: Path, **options: Any) -> WeightedGraph:
    """The graph in a file."""
    table = read(Input(path=str(path), kind="graph", **options))
    assert table.graph is not None
    assert list(table.ids) == list(table.graph.ids)
    return table.graph


def edges_of(found: WeightedGraph) -> dict[tuple[str, str], float]:
    """Every edge once, by the names of its ends, after a look that both directions are there."""
    rows = np.repeat(np.arange(len(found.values)), np.diff(found.starts)).tolist()
    every = {(found.ids[i], found.ids[j]): value
             for i, j, value in zip(rows, found.indices.tolist(), found.weights.tolist(), strict=True)}
    assert len(every) == len(rows)
    assert every == {(j, i): value for (i, j), value in every.items()}
    return {(i, j): value for (i, j), value in every.items() if i < j}


def refused(path: Path, code: str, *said: str, kind: type[MlcliError] = DataError, **options: Any) -> None:
    with pytest.raises(kind) as caught:
        graph(path, **options)
    assert caught.value.code == code
    assert all(word in str(caught.value) for word in said), str(caught.value)


EXPECTED = {("1", "2"): 2.5, ("2", "3"): 0.0, ("1", "4"): 1e-300}


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("part", ["both", "upper", "lower"])
@pytest.mark.parametrize("compressed", [True, False])
def test_sparse_matrices_of_scipy(tmp_path: Path, form: str, part: str, compressed: bool) -> None:
    both = whole()
    kept = {"both": both.row >= 0, "upper": both.row < both.col, "lower": both.row > both.col}[part]
    matrix = sparse.coo_array((both.data[kept], (both.row[kept], both.col[kept])), shape=(4, 4)).asformat(form)
    sparse.save_npz(tmp_path / "graph.npz", matrix, compressed=compressed)
    assert edges_of(graph(tmp_path / "graph.npz")) == EXPECTED


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("zipped", [False, True])
def test_matrix_market(tmp_path: Path, symmetry: str, zipped: bool) -> None:
    stream = io.BytesIO()
    mmwrite(stream, whole(), comment="two\nlines", symmetry=symmetry, precision=17)
    path = tmp_path / ("graph.mtx.gz" if zipped else "graph.mtx")
    path.write_bytes(gzip.compress(stream.getvalue()) if zipped else stream.getvalue())
    assert edges_of(graph(path)) == EXPECTED


def test_a_pattern_has_edges_of_length_one(tmp_path: Path) -> None:
    (tmp_path / "graph.mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")
    assert edges_of(graph(tmp_path / "graph.mtx")) == {("1", "2"): 1.0, ("2", "3"): 1.0}


LIST = "note,source,length,target\nx,b,2.5,a\ny,a,0,c\nz,1,1e-300,b\nz,b,1e-300,1\n"


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "arrow"])
def test_edge_lists_name_the_points_in_their_order(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"edges.{format}"
    if format == "csv":
        path.write_text(LIST)
    elif format == "tsv":
        path.write_text(LIST.replace(",", "\t"))
    else:
        import pyarrow as pa
        from pyarrow import csv, feather, parquet

        table = csv.read_csv(io.BytesIO(LIST.encode()), convert_options=csv.ConvertOptions(
            column_types={"source": pa.string(), "length": pa.float64()}))
        parquet.write_table(table, path) if format == "parquet" else feather.write_feather(
            table, path, compression="uncompressed")
    found = graph(path)
    assert list(found.ids) == ["b", "a", "c", "1"]
    assert edges_of(found) == {("a", "b"): 2.5, ("a", "c"): 0.0, ("1", "b"): 1e-300}


def test_numbers_of_points_are_names_too(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target,weight\n10,2,1\n2,7,3\n")
    assert list(graph(tmp_path / "edges.csv").ids) == ["10", "2", "7"]


def test_affinities_of_zero_are_no_edges(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target,affinity\na,b,1\nb,c,0\nc,a,2\n")
    found = graph(tmp_path / "edges.csv", edges="affinities")
    assert isinstance(found, AffinityGraph)
    assert edges_of(found) == {("a", "b"): 1.0, ("a", "c"): 2.0}


@pytest.mark.medium
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from([0.0, 0.5, 1.0, 3.25])), min_size=1,
                max_size=30))
def test_any_edges_come_back(tmp_path_factory: pytest.TempPathFactory, found: list[tuple[int, int, float]]) -> None:
    known = {(min(i, j), max(i, j)): value for i, j, value in found if i != j}
    path = tmp_path_factory.mktemp("edges") / "edges.csv"
    path.write_text("source,target,length\n" + "".join(f"p{i},p{j},{known[min(i, j), max(i, j)] if i != j else 0}\n"
                                                       for i, j, _ in found))
    assert edges_of(graph(path)) == {(f"p{i}", f"p{j}"): value for (i, j), value in known.items()}


def test_some_points_are_joined_as_before(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target,length\na,b,1\nb,c,2\nc,d,3\nd,a,4\n")
    table = read(Input(path=str(tmp_path / "edges.csv"), kind="graph")).take([3, 1, 0])
    assert table.graph is not None
    assert isinstance(table.graph, LengthGraph)
    assert list(table.ids) == ["d", "b", "a"]
    assert edges_of(table.graph) == {("a", "b"): 1.0, ("a", "d"): 4.0}


@pytest.mark.parametrize(("rows", "code", "said"), [
    ("a,b,1\nb,c,-2", "E-EDGE", ("'b' to 'c'", "-2", "below zero")),
    ("a,b,1\nb,c,", "E-EDGE", ("'b' to 'c'", "no finite number")),
    ("a,b,1\nb,c,inf", "E-EDGE", ("'b' to 'c'", "no finite number")),
    ("a,b,1\nb,b,2", "E-LOOP", ("'b'", "1 edge")),
    ("a,b,1\nb,a,2", "E-ASYMMETRIC", ("from 'a' to 'b'", "1", "2")),
    ("a,b,1\na,b,2", "E-EDGE-TWICE", ("from 'a' to 'b'", "1", "2")),
    ("a,b,1\n,b,2", "E-MISSING", ("row 2",)),
])
def test_contradictions_are_refused_by_the_edge(tmp_path: Path, rows: str, code: str, said: tuple[str, ...]) -> None:
    (tmp_path / "edges.csv").write_text(f"source,target,length\n{rows}\n")
    refused(tmp_path / "edges.csv", code, *said)


@pytest.mark.parametrize(("how", "expected"), [("mean", 1.5), ("min", 1.0), ("max", 2.0)])
def test_directions_are_made_one_where_that_is_asked(tmp_path: Path, how: str, expected: float) -> None:
    (tmp_path / "edges.csv").write_text("source,target,length\nb,a,1\na,b,2\nb,c,4\n")
    found = edges_of(graph(tmp_path / "edges.csv", symmetrize=how))
    assert found == {("a", "b"): expected, ("b", "c"): 4.0}


def test_a_matrix_with_some_edges_in_one_direction_has_directions(tmp_path: Path) -> None:
    matrix = sparse.csr_array(([1.0, 1.0, 3.0], ([0, 1, 1], [1, 0, 2])), shape=(3, 3))
    sparse.save_npz(tmp_path / "graph.npz", matrix)
    refused(tmp_path / "graph.npz", "E-ASYMMETRIC", "from '2' to '3'", "nothing the other way")
    assert edges_of(graph(tmp_path / "graph.npz", symmetrize="max")) == {("1", "2"): 1.0, ("2", "3"): 3.0}


def test_an_entry_of_a_matrix_stands_once(tmp_path: Path) -> None:
    (tmp_path / "graph.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n1 2 1\n")
    refused(tmp_path / "graph.mtx", "E-EDGE-TWICE", "from '1' to '2'")


@pytest.mark.parametrize(("text", "code"), [
    ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "E-MATRIX-MARKET"),
    ("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 0\n", "E-MATRIX-MARKET"),
    ("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n", "E-MATRIX-MARKET"),
    ("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 1\n", "E-NOT-SQUARE"),
    ("%%MatrixMarket matrix coordinate real general\n2 2 99999999\n1 2 1\n", "E-MATRIX-MARKET"),
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n", "E-CORRUPT"),
    ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n", "E-CORRUPT"),
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1e999\n", "E-EDGE"),
    ("%%MatrixMarket matrix coordinate real general\n0 0 0\n", "E-EMPTY"),
    ("%%MatrixMarket matrix coordinate real general\n-2 2 1\n", "E-MATRIX-MARKET"),
    ("%%MatrixMarket\n", "E-MATRIX-MARKET"), ("", "E-MATRIX-MARKET"),
])
def test_other_matrix_market_files(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "graph.mtx").write_text(text)
    refused(tmp_path / "graph.mtx", code)


def test_a_file_that_announces_too_many_points_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{10**14} {10**14} 1\n1 2 1\n")
    refused(path, "E-MEMORY", kind=MlcliError)


def stored(path: Path, **arrays: Any) -> Path:
    """An archive of arrays, those of a good matrix unless they are given."""
    good = {"format": np.array(b"csr"), "shape": np.array([2, 2]), "data": np.ones(2), "indices": np.array([1, 0]),
            "indptr": np.array([0, 1, 2])}
    np.savez(path, **{name: value for name, value in {**good, **arrays}.items() if value is not None})
    return path


@pytest.mark.parametrize("arrays", [
    {"indices": np.array([1, 2])}, {"indices": np.array([1, -1])}, {"indices": np.array([1])},
    {"indices": np.array([1.0, 0.0])}, {"indptr": np.array([0, 2, 1])}, {"indptr": np.array([0, 2])},
    {"indptr": None}, {"format": np.array(b"bsr")}, {"format": np.array(3)}, {"shape": np.array([2])},
    {"shape": np.array([-2, -2])}, {"data": np.ones((2, 1))}, {"data": np.ones(2, dtype=complex)},
])
def test_archives_whose_arrays_are_no_sparse_matrix(tmp_path: Path, arrays: dict[str, Any]) -> None:
    assert edges_of(graph(stored(tmp_path / "good.npz"))) == {("1", "2"): 1.0}
    refused(stored(tmp_path / "bad.npz", **arrays), "E-SPARSE-MATRIX")


@pytest.mark.medium
def test_a_small_file_that_grows_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in {"format": np.array(b"csr"), "shape": np.array([2, 2]), "data": np.zeros(10**7)}.items():
            stream = io.BytesIO()
            np.save(stream, array)
            archive.writestr(f"{name}.npy", stream.getvalue())
    refused(tmp_path / "bomb.npz", "E-DECOMPRESS-RATIO")


@pytest.mark.parametrize(("options", "where"), [
    ({"id_column": "a"}, "input.id_column"), ({"columns": ("a",)}, "input.columns"), ({"key": "a"}, "input.key"),
    ({"label_columns": ("a",)}, "input.label_columns"), ({"header": False}, "input.header"),
    ({"transpose": True}, "input.transpose"),
    ({"view": {"path": "b.csv"}}, "input.view.path"), ({"format": "npy"}, "input.format")])
def test_options_without_a_use_are_refused(tmp_path: Path, options: dict[str, Any], where: str) -> None:
    (tmp_path / "edges.csv").write_text("source,target,length\na,b,1\n")
    with pytest.raises(ConfigError) as caught:
        graph(tmp_path / "edges.csv", **options)
    assert caught.value.where == where


def test_what_is_no_graph_has_no_edges(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read(Input(edges="affinities", path=str(tmp_path / "a.csv")))


def test_a_matrix_that_nobody_called_a_graph_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 4\n2 3 5\n2 3 1\n")
    np.testing.assert_array_equal(read(Input(path=str(tmp_path / "a.mtx"))).values, [[4, 0, 0], [0, 0, 6]])
