"""How texts turn out to be written: one reading is taken and told; of two, none is."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.base.rows.source import rows_of
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.data.read.table import read
from mlcli.errors import DataError
from tests.data.helpers import noted, refused, table_of, written
from tests.wording import Wording

VALUES = np.array([[1.5, 20, -3.25], [0.25, 7, 1e-3], [12.0, 0, 4.5]])
NAMES = ("first", "second", "third")


def text(separator: str, point: str = ".", *, header: bool = True, ids: bool = False) -> str:
    """The values as records."""
    rows = [[f"{value:g}".replace(".", point) for value in row] for row in VALUES.tolist()]
    head = [[*["name"] * ids, *NAMES]] * header
    body = [[*[f"p {number}"] * ids, *row] for number, row in enumerate(rows)]
    return "".join(f"{separator.join(row)}\n" for row in head + body)


@pytest.mark.parametrize(("separator", "said"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
@pytest.mark.parametrize(("point", "header", "ids"), [
    (".", True, True), (",", True, True), (",", True, False), (".", False, False)])
def test_the_only_separator_is_found(
        tmp_path: Path, separator: str, said: str, point: str, header: bool, ids: bool, wording: Wording) -> None:
    with noted() as notes:
        table = table_of(tmp_path, text(separator, point, header=header, ids=ids))
    assert np.array_equal(table.values, VALUES)
    assert said in notes.message("N-WRITTEN") and wording(notes.message("N-WRITTEN")) == []
    assert (table.columns == NAMES) == header and (next(iter(table.ids)) == "p 0") == ids


def test_blanks_are_found_where_a_column_holds_numbers(tmp_path: Path) -> None:
    assert np.array_equal(table_of(tmp_path, text(" ")).values, VALUES)
    table = table_of(tmp_path, "x kind\n1 high\n2 low\n2 low\n")  # R, without quotes and names of rows
    assert table.values.ravel().tolist() == [1, 2, 2] and table.labels == {"kind": ("high", "low", "low")}
    assert table_of(tmp_path, "x y\np 1 2\nq 3 4\n").columns == ("x", "y")  # with names of rows


@pytest.mark.parametrize("content", ["a;b|c\n1;2|3\n", "some words\nmore words\n", "1  2\n3  4\n", " 0 1\n 1 0\n"])
def test_what_has_two_readings_or_none_is_refused(tmp_path: Path, content: str) -> None:
    refused(written(tmp_path, content), DataError, "SEPARATOR" if "words" not in content else "EMPTY")


def test_a_comma_separates_where_it_can(tmp_path: Path) -> None:
    with noted() as notes:
        table = table_of(tmp_path, "x,tags\n1,a;b\n2,c;d\n2,c;d\n")
    assert table.labels == {"tags": ("a;b", "c;d", "c;d")} and "N-WRITTEN" not in notes.codes
    refused(written(tmp_path, "1,5;2,5\n3,5;4,5\n"), DataError, "TEXT-COLUMN")  # two columns, or three


@pytest.mark.parametrize("content", ["a;b\n1,234;2\n", "a;b\n-12,345;1,000,000\n", "a;b\n1,5;1.5\n"])
def test_commas_between_thousands_or_beside_points_are_refused(tmp_path: Path, content: str) -> None:
    error = refused(written(tmp_path, content), DataError, "TEXT-COLUMN")
    assert "separator" not in error.hint


def test_a_comma_after_a_zero_is_a_decimal_one(tmp_path: Path) -> None:
    assert table_of(tmp_path, "a;b\n1,234;2\n0,125;3\n").values.tolist() == [[1.234, 2], [0.125, 3]]
    assert table_of(tmp_path, "a\tb\n1,5\t2\n", "x.tsv").values.tolist() == [[1.5, 2]]


def test_utf_16_is_known_by_its_mark(tmp_path: Path, wording: Wording) -> None:
    with noted() as notes:
        table = table_of(tmp_path, text("\t", ",").encode("utf-16"), "unicode.txt")
    assert np.array_equal(table.values, VALUES)
    assert "UTF-16" in notes.message("N-WRITTEN") and wording(notes.message("N-WRITTEN")) == []


def test_what_is_found_holds_for_conditions_blocks_and_new_rows(tmp_path: Path) -> None:
    path = written(tmp_path, text(";", ","))
    chosen = read(Input(path=path, columns=("first", "second"), where=("third > -1.5",)))
    assert chosen.values.tolist() == VALUES[1:, :2].tolist()
    blocks = read(Input(path=path, stream="always"))
    assert np.asarray(rows_of(blocks.values)[np.arange(3)]).tolist() == VALUES.tolist() and blocks.point == ","
    assert np.array_equal(read_new(Input(path=path), RunInput(NAMES)).values, VALUES)
    matrix = written(tmp_path, ";a;b\na;0;1,5\nb;1,5;0\n", "d.csv")
    assert read(Input(path=matrix, kind="dissimilarities")).values.tolist() == [[0, 1.5], [1.5, 0]]


def test_parts_of_a_table_are_written_alike(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for number, rows in enumerate(("0,5;1\n1,5;2\n", "2;3\n4;5\n")):  # only the first shows how numbers are written
        written(tmp_path / "parts", f"a;b\n{rows}", f"part-{number}.csv")
    table = read(Input(path=str(tmp_path / "parts")), Compute())
    assert np.asarray(table.values).tolist() == [[0.5, 1], [1.5, 2], [2, 3], [4, 5]]


def test_labels_have_a_separator_of_their_own(tmp_path: Path) -> None:
    labels = written(tmp_path, "name;kind\np 0;high\np 1;low\np 2;low\n", "labels.csv")
    table = table_of(tmp_path, text(",", ids=True), labels={"path": labels})
    assert table.labels == {"kind": ("high", "low", "low")}
