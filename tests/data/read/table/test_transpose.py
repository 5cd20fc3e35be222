"""Tables whose columns are the points: turned when they are read, new ones as well."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.data.options.input import Input
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.errors import ConfigError, DataError
from tests.data.helpers import noted, refused, table_of, written
from tests.wording import Wording

GENES = "gene,s1,s2,s3\na,1,2,3\nb,4,5,6\n"


def test_names_of_columns_become_ids_and_ids_names_of_columns(tmp_path: Path) -> None:
    table = table_of(tmp_path, GENES, transpose=True, id_column="gene")
    assert (tuple(table.ids), table.columns, table.id_name) == (("s1", "s2", "s3"), ("a", "b"), "id")
    assert table.values.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert table.values.flags.c_contiguous


def test_row_names_under_an_empty_header_are_names_of_columns(tmp_path: Path) -> None:
    table = table_of(tmp_path, GENES.replace("gene", ""), transpose=True)
    assert (tuple(table.ids), table.columns) == (("s1", "s2", "s3"), ("a", "b"))


@pytest.mark.parametrize("content", [GENES, "gene,s1,s2,s3,kind\na,1,2,3,x\nb,4,5,6,x\n"])
def test_the_first_column_of_text_names_the_columns(tmp_path: Path, content: str, wording: Wording) -> None:
    with noted() as notes:
        table = table_of(tmp_path, content, transpose=True)
    assert (tuple(table.ids), table.columns, dict(table.labels)) == (("s1", "s2", "s3"), ("a", "b"), {})
    assert wording(notes.message("N-TEXT-COLUMNS")) == []
    new = read_new(Input(path=written(tmp_path, content), transpose=True), RunInput(("b", "a")))
    assert new.values.tolist() == [[4, 1], [5, 2], [6, 3]]


def test_a_file_without_names(tmp_path: Path) -> None:
    table = table_of(tmp_path, "1,2,3\n4,5,6\n", transpose=True)
    assert (tuple(table.ids), table.columns) == (("1", "2", "3"), ("x1", "x2"))


def test_columns_that_are_chosen_are_those_of_the_file(tmp_path: Path) -> None:
    table = table_of(tmp_path, GENES, transpose=True, id_column="gene", columns=("s3", "s1"))
    assert (tuple(table.ids), table.values.tolist()) == (("s3", "s1"), [[3, 6], [1, 4]])


def test_new_points_are_matched_by_the_names_of_their_rows(tmp_path: Path, wording: Wording) -> None:
    path = written(tmp_path, "gene,t1,t2\nb,8,9\na,6,7\n")
    with noted() as notes:
        table = read_new(Input(path=path, transpose=True, id_column="gene"), RunInput(("a", "b")))
    assert (tuple(table.ids), table.values.tolist()) == (("t1", "t2"), [[6, 8], [7, 9]])
    assert notes.codes == ["N-REORDERED"]
    with pytest.raises(DataError) as caught:
        read_new(Input(path=path, transpose=True, id_column="gene"), RunInput(("a", "c")))
    assert "E-COLUMNS-DIFFER" in wording(caught.value)


def test_rows_of_one_name_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "gene,s1,s2\na,1,2\na,3,4\n")
    assert "'a'" in refused(path, DataError, "DUPLICATE-IDS", transpose=True, id_column="gene").what


def test_what_has_no_use_with_it_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, GENES)
    assert refused(path, ConfigError, "INPUT-OPTION", transpose=True, kind="dissimilarities").where == "input.transpose"
    assert refused(path, ConfigError, "INPUT-OPTION", transpose=True,
                   label_columns=("gene",)).where == "input.label_columns"


def test_an_array_is_turned(tmp_path: Path) -> None:
    values = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "a.npy", values)
    table = table_of(tmp_path, (tmp_path / "a.npy").read_bytes(), "b.npy", transpose=True)
    assert table.values.tolist() == values.T.tolist() and table.columns == ("x1", "x2", "x3")
