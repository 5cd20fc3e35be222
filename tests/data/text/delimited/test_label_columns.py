"""Columns of words that no option names are ids or labels; everything else that is no number stays an error."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.errors import DataError
from tests.data.formats.test_columns import FORMS, name, stored
from tests.data.helpers import noted, refused, table_of, written
from tests.wording import Wording

SITES = "site,height,soil,slope\nUpper,1,peat,2.5\nLower,3,peat,0.5\nMill,2,sand,1\n"


def test_the_first_names_the_rows_where_it_names_each_once_and_others_are_labels(tmp_path: Path,
                                                                                 wording: Wording) -> None:
    with noted() as notes:
        table = table_of(tmp_path, SITES)
    assert (table.ids, table.id_name, table.columns) == (("Upper", "Lower", "Mill"), "site", ("height", "slope"))
    assert dict(table.labels) == {"soil": ("peat", "peat", "sand")}
    assert wording(notes.message("N-TEXT-COLUMNS")) == []


@pytest.mark.parametrize("form", FORMS)
def test_columnar_files_are_read_alike(tmp_path: Path, form: str) -> None:
    table = pa.table({"a": [1.5, 2.5, 4], "kind": ["u", "u", "v"], "name": ["x", "y", "z"]})
    found = table_of(tmp_path, stored(table, form), name(form))
    assert (list(found.ids), found.columns) == (["1", "2", "3"], ("a",))  # the first of them, kind, repeats itself
    assert dict(found.labels) == {"kind": ("u", "u", "v"), "name": ("x", "y", "z")}


@pytest.mark.parametrize(("options", "ids", "labels"), [
    ({"id_column": "soil", "label_columns": ["site"]}, None, None),  # whose ids would repeat
    ({"label_columns": ["site"]}, ("1", "2", "3"), ["site", "soil"]),
    ({"id_column": "site"}, ("Upper", "Lower", "Mill"), ["soil"]),
    ({"columns": ["height"]}, ("Upper", "Lower", "Mill"), []),  # ids are looked for in all columns
    ({"columns": ["height"], "id_column": "none"}, ("1", "2", "3"), []),
])
def test_what_is_named_stands_before_what_is_found(tmp_path: Path, options: dict[str, Any],
                                                   ids: tuple[str, ...] | None, labels: list[str] | None) -> None:
    if ids is None:
        refused(written(tmp_path, SITES), DataError, "DUPLICATE-IDS", **options)
        return
    table = table_of(tmp_path, SITES, **options)
    assert (tuple(table.ids), list(table.labels)) == (ids, labels)


def test_row_names_of_r_stay_the_ids(tmp_path: Path) -> None:
    table = table_of(tmp_path, '"","a","name"\n"1",2,"x"\n"2",3,"y"\n')
    assert (tuple(table.ids), list(table.labels)) == (("1", "2"), ["name"])


@pytest.mark.parametrize("cell", ["3,5", "1_000", "2020-01-02", "12kg", "?", "-", "<0.1"])
def test_a_column_of_faulty_numbers_is_not_one_of_words(tmp_path: Path, cell: str) -> None:
    refused(written(tmp_path, f'a,b\n1,"{cell}"\n2,"{cell}"\n'), DataError, "TEXT-COLUMN")


def test_a_word_among_numbers_is_a_fault(tmp_path: Path) -> None:
    refused(written(tmp_path, "a,b\n1,2\n3,x\n4,5\n6,7\n"), DataError, "NOT-A-NUMBER")


def test_the_first_record_is_data_where_its_words_come_again(tmp_path: Path) -> None:
    with noted() as notes:
        table = table_of(tmp_path, "5.1,3.5,setosa\n4.9,3,setosa\n7,3.2,versicolor\n")
    assert (len(table.ids), table.columns) == (3, ("x1", "x2"))
    assert dict(table.labels) == {"x3": ("setosa", "setosa", "versicolor")}
    assert "N-NO-HEADER" in notes.codes
    assert len(table_of(tmp_path, "1990,1991,name\n1,2,a\n3,4,b\n").ids) == 2  # years as names of columns


def test_new_rows_may_have_the_same_words(tmp_path: Path) -> None:
    path = written(tmp_path, "soil,slope,site,height\npeat,2.5,New,1\n")
    table = read_new(Input(path=path), RunInput(("height", "slope")), Compute())
    assert table.values.tolist() == [[1, 2.5]]
    assert (tuple(table.ids), dict(table.labels)) == (("peat",), {"site": ("New",)})


def test_answers_in_words_are_not_left_to_a_column_of_ids(tmp_path: Path, wording: Wording) -> None:
    rows = "".join(f"{row},{'agree' if row % 2 else 'no'},no\n" for row in range(1, 6))
    path = written(tmp_path, f"id,q1,q2\n{rows}")
    error = refused(path, DataError, "ALL-TEXT")
    assert "E-ALL-TEXT" in wording(error) and "--metric gower --columns" in error.hint
    assert table_of(tmp_path, f"id,q1,q2\n{rows}", columns=["id"]).columns == ("id",)
    assert table_of(tmp_path, f"id,q1,q2\n{rows}", id_column="none").columns == ("id",)
    refused(written(tmp_path, f"x,q1,q2\n{rows}".replace("5,agree", "7,agree")), DataError, "ALL-TEXT")
    assert table_of(tmp_path, f"x,q1,q2\n{rows}".replace("5,agree", "4,agree")).columns == ("x",)
