"""HDF5: AnnData with its names, dense or sparse, former layouts, plain files, and files that lead elsewhere."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy import sparse

from mlcli.cli.line.parsing import in_flags
from mlcli.data.options.input import Input, LabelFile, View
from mlcli.data.read.labels import read_labels
from mlcli.data.read.table import read
from mlcli.errors import ConfigError, DataError, DependencyMissing, MlcliError, UnsafeFile
from tests.data.helpers import noted
from tests.wording import Wording

CELLS = Path(__file__).parents[2] / "tables" / "anndata" / "cells.h5ad.gz"  # as anndata 0.12 writes it
X = np.array([[1, 0, 0, 2], [0, 3, 0, 0], [0, 0, 4.5, 0], [5, 0, 0, 6], [0, 7, 8, 0]])
IDS = ("c1", "c2", "c3", "c4", "c5")
GENES = ("g1", "g2", "g3", "g4")


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    path = tmp_path / "cells.h5ad"
    path.write_bytes(gzip.decompress(CELLS.read_bytes()))
    return path


def written(path: Path, fill: Callable[[Any], object]) -> Path:
    with h5py.File(path, "w") as file:
        fill(file)
    return path


def frame(file: Any, name: str, ids: tuple[str, ...], index: str = "_index") -> Any:
    group = file.create_group(name)
    group.attrs["_index"] = index
    group[index] = ids
    return group


def layout(file: Any, matrix: Any = X) -> Any:
    """AnnData as version 0.7 wrote it."""
    store(file, "X", matrix)
    frame(file, "var", GENES)
    return frame(file, "obs", IDS, "barcode")


def store(file: Any, name: str, matrix: Any) -> None:
    if not sparse.issparse(matrix):
        file[name] = matrix
        return
    group = file.create_group(name)
    group.attrs["encoding-type"], group.attrs["shape"] = f"{matrix.format}_matrix", matrix.shape
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(matrix, part)


def refused(path: Path, error: type[MlcliError], code: str, *said: str, **options: Any) -> None:
    with pytest.raises(error) as caught:
        read(Input(path=str(path), **options))
    assert caught.value.code == f"E-{code}"
    assert all(word in in_flags(f"{caught.value.what}; {caught.value.where}; {caught.value.hint}") for word in said)


def test_a_file_of_anndata_is_a_table_with_its_names_and_labels(cells: Path) -> None:
    labels = ("kind", "batch", "count", "depth")
    table = read(Input(path=str(cells), label_columns=labels))
    np.testing.assert_array_equal(table.values, X)
    assert list(table.ids) == [f"cell{row}" for row in range(1, 6)] and table.columns == GENES
    assert table.labels == {"kind": ("a", "b", "", "a", "b"), "batch": ("x", "y", "x", "y", "z"),
                            "count": ("1", "", "3", "4", "5"), "depth": ("0.5", "1", "1.5", "2", "")}


def test_columns_of_texts_that_describe_the_rows_are_labels(cells: Path, wording: Wording) -> None:
    for options, names in (({}, ("kind", "batch")), ({"label_columns": ("batch",)}, ("batch", "kind")),
                           ({"columns": ("g1",)}, ("kind", "batch"))):
        with noted() as notes:
            table = read(Input.model_validate({"path": str(cells), **options}))
        assert tuple(table.labels) == names and table.labels["kind"] == ("a", "b", "", "a", "b")
        assert wording(notes.message("N-TEXT-COLUMNS")) == []


@pytest.mark.parametrize("key", ["layers/double", "/layers/double"])
def test_layers_have_the_names_of_genes(cells: Path, key: str) -> None:
    table = read(Input(path=str(cells), key=key, columns=("g4", "g1")))
    np.testing.assert_array_equal(table.values, 2 * X[:, [3, 0]])
    assert table.columns == ("g4", "g1")


def test_coordinates_are_named_by_their_matrix(cells: Path) -> None:
    table = read(Input(path=str(cells), key="obsm/X_pca"))
    assert table.columns == ("X_pca1", "X_pca2") and table.ids[0] == "cell1"
    np.testing.assert_array_equal(table.values, np.arange(10.0).reshape(5, 2))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_every_form_of_a_matrix_is_the_same_table(tmp_path: Path, form: Callable[[Any], Any]) -> None:
    path = written(tmp_path / "x.h5ad", lambda file: layout(file, form(X)))
    table = read(Input(path=str(path)))
    np.testing.assert_array_equal(table.values, X)
    assert tuple(table.ids) == IDS and table.columns == GENES and table.id_name == "barcode"
    turned = read(Input(path=str(path), transpose=True))
    np.testing.assert_array_equal(turned.values, X.T)
    assert tuple(turned.ids) == GENES and turned.columns == IDS


def test_categories_of_former_versions(tmp_path: Path) -> None:
    def fill(file: Any) -> None:
        obs = layout(file)
        obs["__categories/kind"] = ["u", "v"]
        obs["kind"] = np.array([0, 1, -1, 1, 0], np.int8)
        obs["kind"].attrs["categories"] = obs["__categories/kind"].ref

    table = read(Input(path=str(written(tmp_path / "x.h5ad", fill)), label_columns=("kind",)))
    assert table.labels == {"kind": ("u", "v", "", "v", "u")}


def test_another_column_may_name_the_rows(cells: Path) -> None:
    refused(cells, DataError, "DUPLICATE-IDS", "'x'", id_column="batch")
    refused(cells, ConfigError, "UNKNOWN-COLUMN", "obs has no column 'kin'", "'kind'", label_columns=("kin",))
    refused(cells, ConfigError, "UNKNOWN-COLUMN", "'g9'", columns=("g9",))


def test_ids_among_the_genes_are_not_said_to_name_the_rows(tmp_path: Path) -> None:
    path = written(tmp_path / "cells.h5ad", layout)
    with h5py.File(path, "a") as file:
        file["var/_index"][0], file["X"][:, 0] = "sample_id", [12, 17, 11, 40, 31]
    refused(path, DataError, "ID-COLUMN", "choose the others by --columns if", "or give --no-id")
    assert read(Input(path=str(path), columns=list(GENES[1:]))).columns == GENES[1:]


def test_a_plain_file_with_one_matrix_needs_no_key(tmp_path: Path) -> None:
    def fill(file: Any) -> None:
        file["deep/down/points"], file["vector"], file["name"] = X, X[0], "text"

    np.testing.assert_array_equal(read(Input(path=str(written(tmp_path / "x.h5", fill)))).values, X)


def test_of_several_matrices_one_must_be_named(tmp_path: Path) -> None:
    def fill(file: Any) -> None:
        file["a/x"], file["b"] = X, 2 * X
        store(file, "c", sparse.csr_array(X))

    path = written(tmp_path / "x.h5", fill)
    refused(path, DataError, "HDF5-KEY", "3 matrices: '/a/x', '/b', '/c'", "--key")
    refused(path, ConfigError, "UNKNOWN-KEY", "'a/y'", "'/a/x'", key="a/y")
    refused(path, DataError, "ARRAY", "it is a group", key="a")
    np.testing.assert_array_equal(read(Input(path=str(path), key="b")).values, 2 * X)
    refused(written(tmp_path / "none.h5", lambda file: file.create_group("a")), DataError, "HDF5-KEY", "0 matrices")


def test_a_sparse_matrix_of_neighbors_is_a_graph(tmp_path: Path) -> None:
    ring = sparse.csr_array(np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0))

    def fill(file: Any) -> None:
        layout(file)
        store(file, "obsp/connectivities", ring)

    path = str(written(tmp_path / "x.h5ad", fill))
    graph = read(Input(path=path, kind="graph", key="obsp/connectivities")).graph
    assert graph is not None and graph.indices.tolist() == ring.indices.tolist() and tuple(graph.ids) == IDS
    refused(Path(path), DataError, "HDF5-KEY", "/obsp/connectivities", kind="graph")
    refused(Path(path), ConfigError, "SPARSE", "--graph", kind="dissimilarities", key="obsp/connectivities")
    refused(Path(path), DataError, "ARRAY", kind="graph", key="X")


def counts(file: Any, names: tuple[str, ...] = GENES) -> None:
    """The layout of Cell Ranger, version 3: genes x cells by columns."""
    matrix = sparse.csc_array(X.T)
    file["matrix/barcodes"], file["matrix/shape"] = [name.encode() for name in IDS], np.array(matrix.shape, np.int32)
    file["matrix/features/id"] = [f"ENSG{place}".encode() for place in range(len(GENES))]
    file["matrix/features/name"] = [name.encode() for name in names]
    for part in ("data", "indices", "indptr"):
        file[f"matrix/{part}"] = getattr(matrix, part)


def test_counts_of_cells_have_a_row_for_each_barcode(tmp_path: Path) -> None:
    table = read(Input(path=str(written(tmp_path / "x.h5", counts))))
    np.testing.assert_array_equal(table.values, X)
    assert tuple(table.ids) == IDS and table.columns == GENES
    again = written(tmp_path / "y.h5", lambda file: counts(file, ("a", "a", "b", "c")))
    assert read(Input(path=str(again), columns=("ENSG1",))).columns == ("ENSG1",)
    refused(again, ConfigError, "FORMAT", "--labels", label_columns=("ENSG1",))
    refused(written(tmp_path / "z.h5", lambda file: counts(file, GENES[:3])), DataError, "H5AD", "3 names")


def biom(file: Any) -> None:
    """The layout of BIOM, version 2.1: the matrix by observations, and again by samples."""
    for side, names, matrix in (("observation", GENES, X.T), ("sample", IDS, X)):
        file[f"{side}/ids"] = [name.encode() for name in names]
        for part in ("data", "indices", "indptr"):
            file[f"{side}/matrix/{part}"] = getattr(sparse.csr_array(matrix), part)


def test_biom_has_a_row_for_each_sample(tmp_path: Path) -> None:
    path = written(tmp_path / "x.biom", biom)
    table = read(Input(path=str(path)))
    assert (table.values.tolist(), table.ids, table.columns) == (X.tolist(), IDS, GENES)
    for options in ({"transpose": True}, {"key": "observation/matrix"}):
        turned = read(Input.model_validate({"path": str(path), **options}))
        assert (turned.values.tolist(), turned.ids) == (X.T.tolist(), GENES)

    def shorter(file: Any) -> None:
        biom(file)
        del file["sample/ids"]
        file["sample/ids"] = [b"c1"]

    refused(written(tmp_path / "y.biom", shorter), DataError, "SPARSE-MATRIX", "sample/matrix")


def test_condensed_and_square_dissimilarities(tmp_path: Path) -> None:
    def fill(file: Any) -> None:
        file["condensed"], file["square"] = np.arange(1.0, 4), np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])

    path = str(written(tmp_path / "x.h5", fill))
    one, other = (read(Input(path=path, kind="dissimilarities", key=key)) for key in ("condensed", "square"))
    np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.parametrize(("part", "values"), [
    ("indices", [0, 3, 1, 2, 0, 3, 1, 4]), ("indices", [0, 3, 1, 2, 0, 3, 1, -1]), ("indptr", [0, 2, 3, 4, 6, 9]),
    ("indptr", [0, 2, 1, 4, 6, 8]), ("indptr", [0, 8]), ("data", [1.0]), ("data", [b"a"] * 8)])
def test_a_sparse_matrix_whose_arrays_contradict_each_other(tmp_path: Path, part: str, values: list[Any]) -> None:
    def fill(file: Any) -> None:
        layout(file, sparse.csr_array(X))
        del file["X"][part]
        file["X"][part] = values

    refused(written(tmp_path / "x.h5ad", fill), DataError, "SPARSE-MATRIX")


def test_names_that_do_not_fit_the_matrix(tmp_path: Path) -> None:
    refused(written(tmp_path / "x.h5ad", lambda file: layout(file, X[:3])), DataError, "H5AD", "3 rows", "5 names")
    refused(written(tmp_path / "y.h5ad", lambda file: layout(file, X[:, :3])), DataError, "H5AD", "3 columns")

    def former(file: Any) -> None:
        file["X"] = X
        file["obs"] = file["var"] = np.zeros(5, [("index", "S3")])

    refused(written(tmp_path / "z.h5ad", former), DataError, "H5AD", "0.7")


def test_numbers_in_other_files_are_not_fetched(tmp_path: Path) -> None:
    """A file from elsewhere would read any other one that the user may read."""
    written(tmp_path / "secret.h5", lambda file: file.__setitem__("x", X))
    (tmp_path / "raw.bin").write_bytes(X.tobytes())

    def link(file: Any) -> None:
        file["x"] = h5py.ExternalLink("secret.h5", "/x")

    def virtual(file: Any) -> None:
        source = h5py.VirtualLayout(X.shape, float)
        source[:] = h5py.VirtualSource("secret.h5", "x", X.shape)
        file.create_virtual_dataset("x", source)

    def external(file: Any) -> None:
        file.create_dataset("x", X.shape, float, external=[("raw.bin", 0, h5py.h5f.UNLIMITED)])

    for place, fill in enumerate((link, virtual, external)):
        refused(written(tmp_path / f"{place}.h5", fill), UnsafeFile, "HDF5-ELSEWHERE", key="x")


def test_what_is_not_there_is_not_allocated(tmp_path: Path) -> None:
    path = written(tmp_path / "x.h5", lambda file: file.create_dataset("x", (10**6, 10**6), float, chunks=(1, 10**4)))
    refused(path, DataError, "DECOMPRESS-RATIO", "'/x'")


@pytest.mark.parametrize("size", [8, 100, 1000, 6000])
def test_a_file_that_is_cut_off(cells: Path, size: int) -> None:
    cells.write_bytes(cells.read_bytes()[:size])
    refused(cells, DataError, "CORRUPT", "HDF5")


def test_without_h5py_the_extra_is_named(cells: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    refused(cells, DependencyMissing, "EXTRA", "h5py", "manifold-cli[h5]")


def test_sparse_tables_say_that_their_zeros_are_held(tmp_path: Path) -> None:
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.coo_array(X))
    path = tmp_path / "x.npz"
    path.write_bytes(stream.getvalue())
    with noted() as notes:
        table = read(Input(path=str(path), columns=("x2", "x4"), label_columns=("x1",)))
    np.testing.assert_array_equal(table.values, X[:, [1, 3]])
    assert table.labels == {"x1": ("1", "0", "0", "5", "0")} and "N-DENSE" in notes.codes


def test_labels_are_a_data_set_with_one_for_each_row(tmp_path: Path) -> None:
    path = written(tmp_path / "l.h5", lambda file: file.update({"x": X, "deep/kind": ["a", "b", "a"], "n": [[1], [2]]}))
    for key, texts in (("deep/kind", ("a", "b", "a")), ("n", ("1", "2"))):
        assert read_labels(LabelFile(path=str(path), key=key)).columns == {"label": texts}
    for key, code, where in ((None, "HDF5-KEY", str(path)), ("x", "ARRAY", str(path)),
                             ("m", "UNKNOWN-KEY", "input.labels.key")):
        with pytest.raises(MlcliError) as caught:
            read_labels(LabelFile(path=str(path), key=key))
        assert (caught.value.code, caught.value.where) == (f"E-{code}", where)
    alone = written(tmp_path / "alone.h5", lambda file: file.update({"x": X, "kind": ["a", "b"]}))
    assert read_labels(LabelFile(path=str(alone))).columns == {"label": ("a", "b")}


def test_hints_name_the_key_of_the_file_that_needs_it(tmp_path: Path) -> None:
    path = str(written(tmp_path / "two.h5", lambda file: file.update({"x": X, "y": X, "v": [1], "w": [2]})))
    np.save(tmp_path / "first.npy", X)
    first = str(tmp_path / "first.npy")
    for options, hint in (({"path": path}, "--key x"),
                          ({"path": first, "view": View(path=path)}, "--set input.view.key=/x"),
                          ({"path": first, "labels": LabelFile(path=path)}, "--set input.labels.key=/v")):
        with pytest.raises(DataError) as caught:
            read(Input(**options))
        assert caught.value.code == "E-HDF5-KEY"
        assert hint.replace("/", "") in in_flags(caught.value.hint).replace("/", "")
