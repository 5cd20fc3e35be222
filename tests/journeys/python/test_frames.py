"""Arrays that carry names reach a run with them: data frames, Arrow tables, sparse arrays; and calls from threads."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import scipy.sparse

import mlcli
from mlcli.data.read import in_memory
from mlcli.data.read.in_memory import read_frame
from mlcli.errors import ConfigError, DataError
from tests.processes import python
from tests.wording import Wording

VALUES = np.random.default_rng(0).standard_normal((20, 3)) * [3, 2, 1]
KINDS = ["a", "b"] * 10
ROWS = [f"r{row}" for row in range(20)]


def columns() -> dict[str, Any]:
    """Three columns of numbers and one of texts."""
    return {"u": VALUES[:, 0], "kind": KINDS, "v": VALUES[:, 1], "w": VALUES[:, 2]}


def frame_of(library: str) -> Any:
    """A frame of one of the libraries."""
    if library == "arrow":
        return pa.table(columns())
    return pytest.importorskip(library).DataFrame(columns())


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
def test_a_frame_has_the_numbers_of_its_array_and_its_own_names(library: str, wording: Wording) -> None:
    frame, plain = frame_of(library), mlcli.embed(VALUES)
    run = mlcli.embed(frame)
    assert np.array_equal(run.embedding, plain.embedding) and run.labels == {"kind": tuple(KINDS)}
    assert run.ids == plain.ids
    turned = frame.select(["w", "v", "u"]) if hasattr(frame, "select") else frame[["w", "v", "u"]]
    assert np.array_equal(run.project(turned), plain.project(VALUES))  # by name
    with wording.raises(DataError, "COLUMNS-DIFFER"):
        run.project(turned.drop(["u"]) if library == "polars" else turned.drop(columns="u") if library == "pandas"
                    else turned.drop_columns(["u"]))


@dataclass
class Exported:
    """A frame of a library that is known for nothing but Arrow's capsule."""

    table: pa.Table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema


def test_a_frame_needs_arrows_capsule_alone() -> None:
    plain = mlcli.embed(pa.table(columns()))
    run = mlcli.embed(Exported(pa.table(columns())))
    assert np.array_equal(run.embedding, plain.embedding) and run.labels == plain.labels
    assert mlcli.embed(VALUES, labels=Exported(pa.table({"label": KINDS}))).labels == {"label": tuple(KINDS)}


@pytest.mark.parametrize("texts", [pa.string(), pa.large_string(), pa.string_view()])
def test_categories_are_their_texts_in_every_chunk(texts: pa.DataType) -> None:
    chunks = [pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array(names, texts))
              for names in (["a", "b"], ["c", "a"])]
    frame = pa.table({"kind": pa.chunked_array(chunks), "size": pa.array([3, 1, 2, None, 1, 2]).dictionary_encode()})
    found = read_frame(frame)
    assert found.labels == {"kind": ("b", "a", "", "a", "c", "")}
    np.testing.assert_array_equal(found.values, [[3.0], [1], [2], [np.nan], [1], [2]])


def test_columns_without_any_value_are_numbers_only_if_their_type_says_so() -> None:
    found = read_frame(pa.table({"x": pa.array([None, None], pa.float64()), "none": pa.nulls(2)}))
    assert (found.columns, found.labels) == (("x",), {"none": ("", "")}) and np.isnan(found.values).all()
    assert read_frame(pa.table({"x": pa.array([], pa.float64())})).values.shape == (0, 1)


def test_an_index_holds_ids_and_what_is_missing_stays_missing() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns(), index=ROWS)
    assert mlcli.embed(frame).ids == tuple(ROWS) and mlcli.embed(frame, ids=range(20)).ids[1] == "1"
    frame["n"] = pandas.array([None, *range(19)], dtype="Int64")
    with pytest.raises(DataError, match="missing"):
        mlcli.embed(frame)
    assert mlcli.embed(frame, set={"prepare.missing": "drop"}).ids == tuple(ROWS[1:])
    frame["n"] = pandas.to_datetime(["2020-01-01"] * 20)
    with pytest.raises(DataError, match="'n' "):
        mlcli.embed(frame)
    square = pandas.DataFrame(np.abs(VALUES[:, :1] - VALUES[:, 0]), index=ROWS, columns=ROWS)
    assert mlcli.embed(square, "mds", kind="dissimilarities", components=1).ids == tuple(ROWS)


def test_ids_among_the_columns_are_refused_in_words_of_python(wording: Wording) -> None:
    table = pa.table({"id": np.arange(20) * 7, **columns()})
    with wording.raises(DataError, "ID-COLUMN") as caught:
        mlcli.embed(table)
    assert "--" not in caught.value.hint and "set={'input.id_column': 'none'}" in caught.value.hint
    assert mlcli.embed(table, set={"input.id_column": "none"}).embedding.shape == (20, 2)


@pytest.mark.parametrize("labels", [np.array(KINDS), KINDS, tuple(KINDS), {"label": KINDS}, pa.table({"label": KINDS})])
def test_labels_are_a_column_or_several_by_their_names(labels: Any) -> None:
    assert mlcli.embed(VALUES, labels=labels).labels == {"label": tuple(KINDS)}


@pytest.mark.parametrize("labels", ["ab", np.array([KINDS]), 7])
def test_other_labels_are_refused(labels: Any, wording: Wording) -> None:
    with wording.raises(DataError, "NAMES"):
        mlcli.embed(VALUES, labels=labels)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_matrix])
@pytest.mark.parametrize("small", [1 << 27, 0])
def test_sparse_arrays_have_the_numbers_of_the_dense_ones(
        kind: Any, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held with their zeros where they are small, by their entries where they are large."""
    monkeypatch.setattr(in_memory, "SMALL", small)
    dense = np.where(VALUES > 0, VALUES, 0)
    run, plain = mlcli.embed(kind(dense), labels=KINDS, ids=ROWS), mlcli.embed(dense)
    assert np.allclose(np.abs(run.embedding), np.abs(plain.embedding), atol=1e-10) and run.ids == tuple(ROWS)
    assert np.allclose(run.project(kind(dense)), run.embedding, atol=1e-10)
    assert mlcli.embed(kind(dense), "mds", metric="cityblock").embedding.shape == (20, 2)


@pytest.mark.medium
def test_calls_from_several_threads_give_the_bits_of_one() -> None:
    points = np.random.default_rng(1).standard_normal((700, 80))
    alone = mlcli.embed(points, "isomap").embedding
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: mlcli.embed(points, "isomap").embedding, range(8)))
    assert all(np.array_equal(one, alone) for one in found)


@pytest.mark.medium
def test_a_run_leaves_the_environment_as_it_was() -> None:
    said = python("import os; before = dict(os.environ); import mlcli; mlcli.embed([[1.0, 2], [2, 1], [4, 4]]); "
                  "print(dict(os.environ) == before)")
    assert said == "True\n"


@pytest.mark.medium
def test_types_reach_those_who_check_theirs(tmp_path: Path) -> None:
    """A wrong call is found by mypy, and a right one is not."""
    if find_spec("mypy") is None:
        pytest.skip("needs mypy")
    assert Path(mlcli.__file__).with_name("py.typed").exists()
    script = tmp_path / "script.py"
    script.write_text("import mlcli\nrun = mlcli.embed([[1.0, 2.0]], components=1)\nshape: int = run.embedding.ndim\n"
                      "wrong: str = run.ids\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-incremental", "--follow-imports=silent", str(script)],
                          cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert "script.py:4: error" in done.stdout and "Found 1 error" in done.stdout, done.stdout + done.stderr


@dataclass
class Described:
    """The parts of AnnData that are read: a matrix with a table of texts for its rows."""

    X: Any
    obs: Any
    var_names: Sequence[str]
    layers: Mapping[str, Any] = field(default_factory=dict)
    obsm: Mapping[str, Any] = field(default_factory=dict)
    raw: Any = None

    @property
    def obs_names(self) -> list[str]:
        """The names of the rows."""
        return ROWS


class Column:
    """A column of a table."""

    def __init__(self, cells: Sequence[Any]) -> None:
        self.cells = cells

    def to_numpy(self) -> np.ndarray:
        """The cells."""
        return np.array(self.cells, dtype=object)


class Texts(dict[str, Column]):
    """A table of columns by name."""

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self)


def cells(matrix: Any) -> Described:
    """Twenty cells of two types, with three genes."""
    return Described(matrix, Texts(kind=Column(KINDS), depth=Column(list(range(20)))), ["u", "v", "w"],
                     layers={"counts": np.abs(VALUES)}, obsm={"X_pca": VALUES[:, :2]})


@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_annotated_data_has_the_numbers_of_its_matrix_and_its_own_names(make: Any) -> None:
    run = mlcli.embed(cells(make(VALUES)))
    assert run.ids == tuple(ROWS) and run.labels == {"kind": tuple(KINDS)}
    assert run.embedding == pytest.approx(mlcli.embed(VALUES).embedding)
    by_name = pa.table({"w": VALUES[:, 2], "v": VALUES[:, 1], "u": VALUES[:, 0]})
    assert run.project(by_name) == pytest.approx(run.embedding)


def test_options_choose_from_annotated_data_as_from_a_file(wording: Wording) -> None:
    given = cells(VALUES)
    counts = mlcli.embed(given, set={"input.key": "layers/counts", "input.columns": ["w", "u"]})
    assert np.array_equal(counts.embedding, mlcli.embed(np.abs(VALUES)[:, [2, 0]]).embedding)
    assert mlcli.embed(given, set={"input.key": "obsm/X_pca"}).embedding.shape == (20, 2)
    labels = mlcli.embed(given, set={"input.label_columns": ["depth"]}).labels
    assert labels == {"depth": tuple(map(str, range(20))), "kind": tuple(KINDS)}
    with wording.raises(ConfigError, "UNKNOWN-KEY") as caught:
        mlcli.embed(given, set={"input.key": "layers/count"})
    assert caught.value.where == "input.key" and "'layers/counts'" in caught.value.hint
    with wording.raises(ConfigError, "UNKNOWN-COLUMN"):
        mlcli.embed(given, set={"input.label_columns": ["kinds"]})


@pytest.mark.medium
def test_anndata_itself_has_the_numbers_of_its_file(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    given = anndata.AnnData(scipy.sparse.csr_matrix(VALUES), obs=pandas.DataFrame({"kind": pandas.Categorical(KINDS)},
                                                                                  index=ROWS))
    given.write_h5ad(tmp_path / "cells.h5ad")
    run, read = mlcli.embed(given), mlcli.embed(tmp_path / "cells.h5ad")
    assert np.array_equal(run.embedding, read.embedding) and (run.ids, run.labels) == (read.ids, read.labels)


@pytest.mark.parametrize("method", ["famd", "mca"])
def test_texts_are_categories_where_a_method_takes_them(method: str, own_directory: Path) -> None:
    generator = np.random.default_rng(0)
    texts = {"id": [f"p{row}" for row in range(40)], "color": [*"rgbr" * 10], "size": [*"sml" * 13, "s"]}
    numbers = {"u": generator.random(40), "v": generator.random(40)} if method == "famd" else {}
    table = pa.table({**texts, **numbers})
    pa.csv.write_csv(table, "table.csv")
    run, file = mlcli.embed(table, method), mlcli.embed("table.csv", method)
    assert np.allclose(run.embedding, file.embedding, atol=1e-12) and run.ids == file.ids
    assert np.allclose(run.project(table.slice(0, 5)), run.embedding[:5], atol=1e-10)
    with pytest.raises(DataError):
        run.project(pa.table({**numbers, "color": ["purple"] * 40, "size": texts["size"]}))
    if method == "famd":
        told = mlcli.embed(table, method, labels={"color": texts["color"]})
        assert told.labels["color"] == (*texts["color"],) and not np.allclose(told.embedding, run.embedding)
