"""New rows are matched to a finished run by name; what is missing or too much is listed."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mlcli.data.options.input import Input
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, MlcliError
from tests.data.helpers import noted, written
from tests.wording import Wording

POINTS = ("p", "q", "r")


def new(folder: Path, content: str | bytes, name: str = "new.csv", columns: tuple[str, ...] = ("a", "b"),
        ids: tuple[str, ...] = POINTS, **options: Any) -> Table:
    return read_new(Input(path=written(folder, content, name), **options), RunInput(columns, ids))


def refused(folder: Path, code: str, *args: Any, **options: Any) -> MlcliError:
    with pytest.raises(MlcliError) as caught:
        new(folder, *args, **options)
    assert caught.value.code == f"E-{code}", repr(caught.value)
    assert type(caught.value) is (ConfigError if caught.value.exit_code == 78 else DataError)
    return caught.value


def npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(values, dtype=float))
    return stream.getvalue()


def test_the_same_columns(tmp_path: Path) -> None:
    with noted() as notes:
        table = new(tmp_path, ",a,b\nx,1,2\ny,3,4\n")
    assert (table.ids, table.columns, table.values.tolist()) == (("x", "y"), ("a", "b"), [[1, 2], [3, 4]])
    assert notes.codes == []


def test_another_order_is_put_right_with_a_note(tmp_path: Path) -> None:
    with noted() as notes:
        table = new(tmp_path, "b,a\n2,1\n4,3\n")
    assert table.values.tolist() == [[1, 2], [3, 4]]
    assert notes.codes == ["N-REORDERED"]


def test_missing_and_extra_columns_are_listed(tmp_path: Path, wording: Wording) -> None:
    error = refused(tmp_path, "COLUMNS-DIFFER", "a,c,d\n1,2,3\n")
    assert "E-COLUMNS-DIFFER" in wording(error)
    assert "E-COLUMNS-DIFFER" in wording(error)
    assert error.exit_code == 65


def test_extra_columns_can_be_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "name,b,c,a,kind\nx,2,9,1,u\n")
    chosen = Input(path=path, id_column="name", label_columns=("kind",), columns=("a", "b"))
    table = read_new(chosen, RunInput(("a", "b")))
    assert (table.values.tolist(), dict(table.labels)) == ([[1, 2]], {"kind": ("u",)})


def test_a_file_without_names_is_taken_by_position(tmp_path: Path) -> None:
    for content, name in (("1,2\n3,4\n", "new.csv"), (npy([[1, 2], [3, 4]]), "new.npy")):
        with noted() as notes:
            assert new(tmp_path, content, name).values.tolist() == [[1, 2], [3, 4]]
        assert notes.codes == ["N-BY-POSITION"]
    refused(tmp_path, "COLUMNS-DIFFER", "1,2,3\n")


def test_a_run_without_names_takes_files_without_names(tmp_path: Path) -> None:
    with noted() as notes:
        new(tmp_path, "1,2\n3,4\n", columns=("x1", "x2"))
    assert notes.codes == []
    refused(tmp_path, "COLUMNS-DIFFER", "a,b\n3,4\n", columns=("x1", "x2"))


def test_names_that_are_numbers_are_known_from_the_run(tmp_path: Path) -> None:
    with noted() as notes:
        found = new(tmp_path, "2020,2019\n1,2\n", columns=("2019", "2020"))
    assert (found.values.tolist(), notes.codes) == ([[2, 1]], ["N-REORDERED"])


def test_one_new_row_is_enough(tmp_path: Path) -> None:
    assert new(tmp_path, "a,b\n1,2\n").ids == ("1",)


def test_missing_values_are_left_to_the_preparation(tmp_path: Path) -> None:
    assert np.isnan(new(tmp_path, "a,b\n1,NA\n").values[0, 1])


def test_the_ids_of_new_rows_are_unique(tmp_path: Path) -> None:
    refused(tmp_path, "DUPLICATE-IDS", ",a,b\nx,1,2\nx,3,4\n")


CROSSED = [  # content, ids, notes
    (",p,q,r\nx,1,2,3\ny,4,5,6\n", ("x", "y"), []),
    ("new,p,q,r\nx,1,2,3\ny,4,5,6\n", ("x", "y"), []),
    ("p,q,r\n1,2,3\n4,5,6\n", ("1", "2"), []),
    ("1,2,3\n4,5,6\n", ("1", "2"), ["N-BY-POSITION"]),
    ("x,1,2,3\ny,4,5,6\n", ("x", "y"), ["N-BY-POSITION"]),
    (",r,p,q\nx,3,1,2\ny,6,4,5\n", ("x", "y"), ["N-REORDERED"]),
    ("# new points\n,p,q,r\nx,1,2,3\ny,4,5,6\n", ("x", "y"), []),
]


@pytest.mark.parametrize(("content", "ids", "codes"), CROSSED)
@pytest.mark.parametrize("kind", ["dissimilarities", "kernel"])
def test_numbers_to_the_points_of_the_run(tmp_path: Path, content: str, ids: tuple[str, ...], codes: list[str],
                                          kind: str) -> None:
    with noted() as notes:
        table = new(tmp_path, content, kind=kind)
    assert (table.values.tolist(), table.ids, table.columns) == ([[1, 2, 3], [4, 5, 6]], ids, POINTS)
    assert (table.kind, notes.codes) == (kind, codes)


def test_points_named_by_numbers(tmp_path: Path) -> None:
    points = ("1", "2", "3")
    for content in (",1,2,3\n7,1,2,3\n8,4,5,6\n", "id,1,2,3\n7,1,2,3\n8,4,5,6\n"):
        table = new(tmp_path, content, ids=points, kind="dissimilarities")
        assert (table.ids, table.values.tolist()) == (("7", "8"), [[1, 2, 3], [4, 5, 6]])


def test_a_single_new_point(tmp_path: Path) -> None:
    for content in (",p,q,r\nx,1,2,3\n", "x,1,2,3\n", "1,2,3\n"):
        assert new(tmp_path, content, kind="dissimilarities").values.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(("name", "content"), [("new.npy", npy([[1, 2, 3], [4, 5, 6]])), ("new.parquet", None)])
def test_other_formats(tmp_path: Path, name: str, content: bytes | None) -> None:
    stream = io.BytesIO()
    pq.write_table(pa.table({"n": ["x", "y"], "q": [2, 5], "p": [1, 4], "r": [3, 6]}), stream)
    table = new(tmp_path, content or stream.getvalue(), name, kind="dissimilarities")
    assert table.values.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(("content", "code"), [
    (",p,q\nx,1,2\n", "COLUMNS-DIFFER"), (",p,q,r,s\nx,1,2,3,4\n", "COLUMNS-DIFFER"), ("1,2\n3,4\n", "COLUMNS-DIFFER"),
    (",p,q,s\nx,1,2,3\n", "COLUMNS-DIFFER"), (",p,q,r\nx,1,2,NA\n", "MISSING"), (",p,q,r\nx,1,2,inf\n", "INFINITE"),
    (",p,q,r\nx,1,2,-3\n", "NEGATIVE"), (",p,q,r\nx,1,2,3\nx,1,2,3\n", "DUPLICATE-IDS"), (",p,q,r\n", "EMPTY")])
def test_broken_numbers_to_points(tmp_path: Path, content: str, code: str) -> None:
    assert refused(tmp_path, code, content, kind="dissimilarities").exit_code == 65


def test_a_kernel_may_be_negative(tmp_path: Path) -> None:
    assert new(tmp_path, ",p,q,r\nx,1,-2,3\n", kind="kernel").values.tolist() == [[1, -2, 3]]


def test_squared_dissimilarities_become_roots(tmp_path: Path) -> None:
    assert new(tmp_path, ",p,q,r\nx,1,4,9\n", kind="dissimilarities", squared=True).values.tolist() == [[1, 2, 3]]


def test_condensed_and_phylip_hold_no_numbers_to_a_run(tmp_path: Path) -> None:
    refused(tmp_path, "ARRAY", npy([1, 2, 3]), "new.npy", kind="dissimilarities")
    refused(tmp_path, "FORMAT", "2\na 0 1\nb 1 0\n", "new.phy", kind="dissimilarities")


@pytest.mark.parametrize(("content", "ids", "labels"), [
    ("name,a,b,t\nx,1,2,u\ny,3,4,u\n", ("x", "y"), {}),
    ("a,name,b,when\n1,x,2,2020-01-01\n3,y,4,2020-01-02\n", ("x", "y"), {}),
    ("a,b\n1,2\n3,4\n", ("1", "2"), {}),
    ("other,a,b\nx,1,2\ny,3,4\n", ("x", "y"), {}),
    ("1,2\n3,4\n", ("1", "2"), {}),
])
def test_ids_and_columns_are_those_of_the_run_where_the_file_has_them(tmp_path: Path, content: str,
                                                                      ids: tuple[str, ...],
                                                                      labels: dict[str, tuple[str, ...]]) -> None:
    asked = Input(path=written(tmp_path, content, "new.csv"))
    table = read_new(asked, RunInput(("a", "b"), options=Input(path="run.csv", id_column="name", columns=("a", "b"))))
    assert (tuple(table.ids), table.labels, table.values.tolist()) == (ids, labels, [[1, 2], [3, 4]])


def test_without_all_columns_of_the_run_the_others_are_named(tmp_path: Path) -> None:
    asked = Input(path=written(tmp_path, "name,a,c\nx,1,2\n", "new.csv"))
    with pytest.raises(DataError) as caught:
        read_new(asked, RunInput(("a", "b"), options=Input(path="run.csv", id_column="name", columns=("a", "b"))))
    assert (caught.value.code, "'b'" in caught.value.what, "'c'" in caught.value.what) == (
        "E-COLUMNS-DIFFER", True, True)


def test_the_id_column_of_the_run_is_no_label(tmp_path: Path) -> None:
    asked = Input(path=written(tmp_path, "name,a,b\nx,1,2\n", "new.csv"), label_columns=("name",))
    with pytest.raises(ConfigError):
        read_new(asked, RunInput(("a", "b"), options=Input(path="run.csv", id_column="name")))
