"""Labels of a second file reach the rows that they belong to, in any order of rows and any format."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, MlcliError
from tests.data.formats.test_columns import FORMS, name, stored
from tests.data.helpers import noted, written
from tests.wording import Wording

NAMED, PLAIN = "site,a,b\nu,1,2\nv,3,4\nw,5,7\n", "a,b\n1,2\n3,4\n5,7\n"
META = "kind,place\nmoor,w\nmill,u\nmoor,v\n"


def joined(folder: Path, table: str, labels: str | bytes, name: str = "labels.csv", **options: Any) -> Table:
    """A table with the labels of a second file."""
    path = written(folder, labels, name)
    return read(Input(path=written(folder, table), labels={"path": path, **options}))  # type: ignore[arg-type]


def test_rows_are_joined_by_id_in_any_order(tmp_path: Path) -> None:
    assert dict(joined(tmp_path, NAMED, META).labels) == {"kind": ("mill", "moor", "moor")}


@pytest.mark.parametrize("form", FORMS)
def test_columnar_files_of_labels(tmp_path: Path, form: str) -> None:
    table = pa.table({"site": ["w", "u", "v"], "count": [3, 1, 2]})
    assert dict(joined(tmp_path, NAMED, stored(table, form), name(form)).labels) == {"count": ("1", "2", "3")}


@pytest.mark.parametrize("values", [np.array([2, 0, 1]), np.array(["2", "0", "1"]), np.array([[2.0], [0], [1]])])
def test_arrays_have_one_label_for_each_row(tmp_path: Path, values: Any) -> None:
    stream = io.BytesIO()
    np.save(stream, values)
    with noted() as notes:
        table = joined(tmp_path, PLAIN, stream.getvalue(), "y.npy")
    assert dict(table.labels) == {"label": ("2", "0", "1")}
    assert "N-LABELS-IN-ORDER" in notes.codes


@pytest.mark.parametrize(("values", "classes"), [
    ([[0, 0, 1], [1, 0, 0], [0, 0, 1]], ("3", "1", "3")), ([[0.0, 1], [1, 0], [0, 1]], ("2", "1", "2")),
    ([[0, 1], [1, 1], [1, 0]], None), ([[0, 1], [0, 0], [1, 0]], None), ([[0, 2], [1, 0], [1, 0]], None)])
def test_indicators_of_classes_are_one_label(tmp_path: Path, values: Any, classes: tuple[str, ...] | None) -> None:
    """A single 1 in each row, as neural networks are trained with; else each column is a label."""
    stream = io.BytesIO()
    np.save(stream, np.array(values))
    with noted() as notes:
        labels = joined(tmp_path, PLAIN, stream.getvalue(), "y.npy").labels
    assert labels == ({"label": classes} if classes else {
        f"label{place}": tuple(map(str, column)) for place, column in enumerate(np.array(values).T.tolist(), 1)})
    assert ("N-ONE-HOT" in notes.codes) == bool(classes)


@pytest.mark.parametrize(("content", "column"), [("x\ny\nx\n", "label"), ("group\nx\ny\nx\n", "group"),
                                                 ("1\n2\n1\n", "label")])
def test_a_single_column_with_or_without_a_name_is_joined_row_by_row(tmp_path: Path, content: str,
                                                                     column: str) -> None:
    assert list(joined(tmp_path, PLAIN, content).labels) == [column]
    assert list(joined(tmp_path, NAMED, content).labels) == [column]


@pytest.mark.parametrize(("ids", "labels"), [
    (("Site_1", "Site_2"), "site,kind\nSite2,x\nSite1,y\n"), (("Site_1", "Site_2"), "n,name,kind\n1,b,x\n2,a,y\n"),
    (("Site_1", "Site_2"), "plot,kind\n2,x\n1,y\n"), (("Site 1", "Site 2"), "age,site,kind\n30,b,x\n28,a,x\n")])
def test_ids_that_differ_are_not_joined_row_by_row(tmp_path: Path, ids: tuple[str, str], labels: str) -> None:
    with pytest.raises(DataError) as caught:
        joined(tmp_path, f"site,a\n{ids[0]},1\n{ids[1]},2\n", labels)
    assert caught.value.code == "E-LABELS-DIFFER" and f"'{ids[0]}'" in caught.value.what


@pytest.mark.parametrize(("table", "labels"), [
    (NAMED, "n,kind\n1,x\n2,y\n3,x\n"), (NAMED, "age,kind\n31.5,x\n28,y\n29.5,x\n"),
    (",a,b\n1,3,4\n2,1,2\n3,5,7\n", "plot,kind\nu,x\nv,y\nw,x\n"), (PLAIN, "plot,kind\nu,x\nv,y\nw,x\n")])
def test_where_one_file_has_no_ids_the_order_of_rows_counts(tmp_path: Path, table: str, labels: str) -> None:
    with noted() as notes:
        kinds = joined(tmp_path, table, labels).labels["kind"]
    assert kinds == ("x", "y", "x") and "N-LABELS-IN-ORDER" in notes.codes


def test_row_names_of_r_join_labels_in_any_order_without_a_note(tmp_path: Path) -> None:
    with noted() as notes:
        table = joined(tmp_path, '"","a"\n"1",5\n"2",6\n', '"","kind","depth"\n"2","moor",3\n"1","mill",4\n')
    assert dict(table.labels) == {"kind": ("mill", "moor"), "depth": ("4", "3")} and notes.codes == []


def test_ids_of_some_rows_are_joined_by_id(tmp_path: Path) -> None:
    with noted() as notes:
        table = joined(tmp_path, NAMED, "plot,kind\nx,far\nv,near\ny,far\n")
    assert table.labels["kind"] == ("", "near", "") and "W-UNLABELED" in notes.codes


def test_names_of_images_are_joined_without_folders_and_endings(tmp_path: Path) -> None:
    with noted() as notes:
        table = joined(tmp_path, "file,a\nu/i1.png,1\nu/i2.PNG,2\n", "file,kind\ni2,x\ni1,y\n")
    assert table.labels["kind"] == ("y", "x") and "N-LABELS-OF-FILES" in notes.codes
    with pytest.raises(DataError):  # other names have no endings
        joined(tmp_path, "file,a\ni.1,1\ni.2,2\n", "file,kind\ni,x\nj,y\n")


def test_rows_without_labels_are_told_and_labels_without_rows_are_not_used(tmp_path: Path, wording: Wording) -> None:
    with noted() as notes:
        table = joined(tmp_path, NAMED, META.replace(",v", ",x"))
    assert dict(table.labels) == {"kind": ("mill", "", "moor")}
    assert wording(notes.message("W-UNLABELED")) == [] and "'v'" in notes.message("W-UNLABELED")


def test_files_that_name_rows_otherwise_are_joined_row_by_row_where_that_is_said(tmp_path: Path) -> None:
    others = "name,kind\np,moor\nq,mill\nr,moor\n"
    assert dict(joined(tmp_path, NAMED, others, columns=["kind"]).labels) == {"kind": ("moor", "mill", "moor")}
    assert list(joined(tmp_path, PLAIN, others).labels) == ["name", "kind"]  # a table without ids


def test_they_stand_before_the_labels_of_the_table(tmp_path: Path) -> None:
    table = joined(tmp_path, "site,a,soil\nu,1,peat\nv,3,peat\nw,3,sand\n", META)
    assert list(table.labels) == ["kind", "soil"]


@pytest.mark.parametrize(("table", "labels", "options", "code"), [
    (PLAIN, "group\nx\ny\n", {}, "LABELS-DIFFER"),
    (NAMED, META, {"id_column": "kind"}, "LABELS-DIFFER"),
    (NAMED, "name,kind\np,moor\nq,mill\nr,moor\n", {}, "LABELS-DIFFER"),
    (NAMED, META, {"id_column": "nowhere"}, "UNKNOWN-COLUMN"),
    (NAMED, META, {"columns": ["nowhere"]}, "UNKNOWN-COLUMN"),
    (NAMED, "site\nu\nv\nw\n", {}, "NO-LABELS"),
    (NAMED, "site,kind\nu,1\nv,2\nw,3\nu,4\n", {}, "DUPLICATE-IDS"),
    ("site,kind,a\nu,x,1\nv,y,2\nw,z,2\n", META, {}, "DUPLICATE-LABELS"),
    (NAMED, b"\x93NUMPY", {"format": "npy"}, "CORRUPT"),
])
def test_what_does_not_fit_is_refused(tmp_path: Path, table: str, labels: str, options: dict[str, Any],
                                      code: str) -> None:
    with pytest.raises(MlcliError) as caught:
        joined(tmp_path, table, labels, **options)
    assert caught.value.code == f"E-{code}"
    assert isinstance(caught.value, (ConfigError, DataError)) and caught.value.hint


def test_columns_of_a_covariance_have_no_labels(tmp_path: Path) -> None:
    path = written(tmp_path, META, "labels.csv")
    with pytest.raises(ConfigError):
        read(Input(path=path, kind="covariance", labels={"path": path}))  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", ["site,kind\na,x\nb,y\n", "site;kind\na;x\nb;y\n"])
def test_a_file_of_labels_may_have_a_separator_of_its_own(tmp_path: Path, labels: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(labels)
    table = read(Input(path=written(tmp_path, "site;u\na;1,5\nb;2\n"), separator=";", decimal=",",
                       labels={"path": str(path)}))
    assert table.labels == {"kind": ("x", "y")}


def test_labels_of_an_archive_are_named(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.savez(stream, x=np.eye(30), y=np.array(["u", "v", "u"]))
    assert joined(tmp_path, PLAIN, stream.getvalue(), "y.npz", key="y").labels == {"label": ("u", "v", "u")}
    with noted() as notes:
        assert joined(tmp_path, PLAIN, stream.getvalue(), "y.npz").labels == {"label": ("u", "v", "u")}
    assert "'y'" in notes.message("N-ARRAY")  # the only one with one for each row
    several = io.BytesIO()
    np.savez(several, y=np.zeros(3), z=np.ones(3))
    with pytest.raises(DataError) as several_labels:
        joined(tmp_path, PLAIN, several.getvalue(), "z.npz")
    assert several_labels.value.hint.endswith("{input.labels.key=NAME}")
    with pytest.raises(ConfigError) as unknown:
        joined(tmp_path, PLAIN, stream.getvalue(), "y.npz", key="z")
    assert unknown.value.where == "input.labels.key"
    with pytest.raises(DataError) as wide:
        joined(tmp_path, PLAIN, stream.getvalue(), "y.npz", key="x")
    assert wide.value.code == "E-LABEL-ARRAY"


@pytest.mark.parametrize("code", [0x110000, 0x220000, 0xFFFFFFFF, 0xD800, 0xDFFF])
@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_that_are_no_characters_are_refused(tmp_path: Path, code: int, order: str, wording: Wording) -> None:
    """NumPy makes such texts of damaged bytes, and Python ends in errors of its own."""
    codes = np.array([ord(letter) for letter in "abc"], dtype=f"{order}u4")
    codes[1] = code
    stream = io.BytesIO()
    np.save(stream, codes.view(f"{order}U1"))
    with wording.raises(DataError, "CORRUPT"):
        joined(tmp_path, PLAIN, stream.getvalue(), "labels.npy")
