"""Tables and distances as R writes and prints them: R 4.2's own texts, of points whose distances are known."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import DataError
from tests.data.helpers import noted, refused, table_of, written

# print(dist(...)), which is wrapped into two blocks
PRINTED = """\
          1        2        3        4        5        6        7        8
2  3.000000
3  5.000000 5.830952
4  1.000000 3.162278 6.000000
5  2.000000 3.605551 7.000000 1.000000
6  4.123106 1.414214 7.211103 4.000000 4.123106
7  1.000000 2.000000 5.099020 1.414214 2.236068 3.162278
8  1.414214 2.236068 4.123106 2.236068 3.162278 3.605551 1.000000
9  5.385165 2.828427 5.830952 5.830952 6.403124 3.162278 4.472136 4.123106
10 4.472136 4.123106 2.236068 5.385165 6.324555 5.385165 4.123106 3.162278
          9
2
3
4
5
6
7
8
9
10 3.605551
"""
X = np.array([[0, 3, 0, 0, 0, 4, 1, 1, 5, 2], [2, 2, 7, 1, 0, 1, 2, 3, 4, 6]]).T
APART = np.linalg.norm(X[:, None] - X, axis=2)
ROADS = """\
            Athens Barcelona Bru ssels x Calais
Barcelona     3313
Bru ssels x   2963      1318
Calais        3175      1326         204
Geneva        2610       803         677    747
"""
FULL = """\
    a   b   c
a 0.0 1.5 2.0
b 1.5 0.0  NA
c 2.0 2.5 0.0
"""


def distances(folder: Path, text: str, **options: str) -> tuple[tuple[str, ...], np.ndarray]:
    table = table_of(folder, text, "d.txt", kind="dissimilarities", **options)
    return tuple(table.ids), table.values


def test_a_printed_triangle_in_blocks(tmp_path: Path) -> None:
    names, values = distances(tmp_path, PRINTED)
    assert names == tuple(map(str, range(1, 11)))
    np.testing.assert_allclose(values, APART, atol=5e-7)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_names_may_hold_blanks(tmp_path: Path, end: str) -> None:
    names, values = distances(tmp_path, ROADS.replace("\n", end))
    assert names == ("Athens", "Barcelona", "Bru ssels x", "Calais", "Geneva")
    assert values[2].tolist() == [2963, 1318, 0, 204, 677] and (values == values.T).all()


def test_lines_may_have_blanks_at_their_ends_as_r_prints_them(tmp_path: Path) -> None:
    text = "\n".join(line.ljust(75) for line in PRINTED.splitlines())
    np.testing.assert_array_equal(distances(tmp_path, text)[1], distances(tmp_path, PRINTED)[1])


def test_a_printed_square(tmp_path: Path) -> None:
    names, values = distances(tmp_path, FULL.replace(" NA", "2.5"))
    assert names == ("a", "b", "c") and values[0].tolist() == [0, 1.5, 2]
    with_diagonal = "    a   b\na 0.0    \nb 1.5 0.0\n"
    assert distances(tmp_path, with_diagonal)[1].tolist() == [[0, 1.5], [1.5, 0]]


@pytest.mark.parametrize(("text", "code"), [
    (FULL, "MISSING"), (PRINTED.replace("5.830952", "5.83095x", 1), "PRINTED"), (PRINTED[: PRINTED.rindex("9 ")],
    "PRINTED"), (PRINTED[: PRINTED.index("7  1.0")], "PRINTED"), ("  a b\n", "PRINTED"),
    ("      a   b\nc 1.0\nd 2.0    3.0\n", "PRINTED"), (PRINTED + PRINTED, "PRINTED")])
def test_what_is_no_printed_matrix(tmp_path: Path, text: str, code: str) -> None:
    with pytest.raises(DataError) as caught:
        distances(tmp_path, text)
    assert caught.value.code == f"E-{code}" and "d.txt" in caught.value.where


@pytest.mark.parametrize("separator", [" ", "\t", ","])
def test_write_table_names_the_rows_without_a_name_for_them(tmp_path: Path, separator: str) -> None:
    text = '"p q" "r" "s"\n"p q" 0 1.5 2\n"r" 1.5 0 2.5\n"s" 2 2.5 0\n'.replace(" ", separator)
    text = text.replace(f'p{separator}q', "p q")
    options = {"separator": separator} if separator == "\t" else {}
    names, values = distances(tmp_path, text, **options)
    assert names == ("p q", "r", "s") and values[0].tolist() == [0, 1.5, 2]


def test_a_data_frame_of_write_table(tmp_path: Path) -> None:
    text = '"Sepal.Length" "Sepal.Width" "Species"\n"1" 5.1 3.5 "setosa"\n"2" 4.9 3 "two words"\n'
    with noted() as notes:
        table = read(Input(path=written(tmp_path, text, "iris.txt")))
    assert list(table.ids) == ["1", "2"] and table.columns == ("Sepal.Length", "Sepal.Width")
    assert table.labels == {"Species": ("setosa", "two words")} and "N-ROW-NAMES-ADDED" in notes.codes


def test_numbers_that_begin_with_blanks_are_not_printed_by_r(tmp_path: Path) -> None:
    refused(written(tmp_path, " 0 1\n 1 0\n"), DataError, "SEPARATOR", kind="dissimilarities")


@pytest.mark.parametrize("text", ["a,b\nx,1,2\nx,3,4\n", "a,b\n1,2,\n3,4,\n", "1,b\n1,2,3\n4,5,6\n"])
def test_rows_that_are_longer_by_mistake(tmp_path: Path, text: str) -> None:
    """Names that repeat, separators at the ends of lines, and numbers for names."""
    refused(written(tmp_path, text), DataError, "RAGGED")


@pytest.mark.parametrize("text", [
    PRINTED, '"1" "2" "3"\n"1" 0 1.5 2\n"2" 1.5 0 2.5\n"3" 2 2.5 0\n', "1,2,3\n1,0,1.5,2\n2,1.5,0,2.5\n3,2,2.5,0\n"])
def test_distances_of_numbered_points_are_known_as_such(tmp_path: Path, text: str) -> None:
    error = refused(written(tmp_path, text, "d.txt"), DataError, "LOOKS-LIKE-MATRIX")
    assert error.kind == "dissimilarities" and "--dissimilarities" in error.hint
