"""Lists of pairs: a matrix of dissimilarities as long text, recognized and read as one."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.spatial.distance import pdist, squareform

from mlcli.base.types import Array
from mlcli.data.options.input import Input
from mlcli.data.pairs.lists import pairs_of
from mlcli.data.read.table import read
from mlcli.data.text import delimited
from mlcli.errors import DataError
from tests.data.helpers import refused, table_of, written
from tests.support import Notes
from tests.wording import Wording

WORDS = ("cat", "dog", "fish", "bird", "cow")
MATRIX = squareform(pdist(np.random.default_rng(0).standard_normal((5, 3))))
GIVEN = {"kind": "dissimilarities"}
UPPER = [(*pair, float(MATRIX[one, other])) for pair, (one, other) in zip(
    combinations(WORDS, 2), combinations(range(5), 2), strict=True)]


def text(rows: list[tuple[str, str, float]], head: str = "w1,w2,d\n") -> str:
    return head + "".join(f"{one},{other},{number!r}\n" for one, other, number in rows)


def in_order(ids: tuple[str, ...]) -> Array:
    places = [WORDS.index(name) for name in ids]
    return MATRIX[np.ix_(places, places)]


@pytest.mark.parametrize("content", [
    text(UPPER), text(UPPER, ""), text(UPPER[::-1]), text([(other, one, number) for one, other, number in UPPER]),
    text([*UPPER, *((other, one, number) for one, other, number in UPPER)]),
    text([*UPPER, *((word, word, 0.0) for word in WORDS)])],
    ids=["one triangle", "no header", "backwards", "the other triangle", "both", "with the diagonal"])
def test_a_list_of_all_pairs_is_their_matrix(tmp_path: Path, content: str) -> None:
    table = table_of(tmp_path, content, **GIVEN)
    assert set(table.ids) == set(WORDS) and table.columns == table.ids
    assert np.array_equal(table.values, in_order(tuple(table.ids)))


def test_a_parquet_file_of_pairs_is_their_matrix(tmp_path: Path) -> None:
    columns = dict(zip(("w1", "w2", "d"), map(list, zip(*UPPER, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), tmp_path / "pairs.parquet")
    table = read(Input(path=str(tmp_path / "pairs.parquet"), kind="dissimilarities"))
    assert table.ids == WORDS and np.array_equal(table.values, MATRIX)


@pytest.mark.parametrize(("rows", "what"), [
    (UPPER[:-2], "2 pairs of 5 points without a number"),
    ([*UPPER, UPPER[3]], "row 11 repeats the pair 'cat' and 'cow'")])
def test_pairs_that_are_missing_or_there_twice_are_refused(tmp_path: Path, rows: list[tuple[str, str, float]],
                                                           what: str) -> None:
    error = refused(written(tmp_path, text(rows)), DataError, "PAIRS", **GIVEN)
    assert error.what == what and error.hint and (error.kind == "graph") == ("--graph" in error.hint)


def test_a_list_of_pairs_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first records show the two columns of names: no reading as a matrix comes before."""
    read_as = []
    frame_of = delimited._frame
    monkeypatch.setattr(delimited, "_frame", lambda text, layout, compute: (
        read_as.append(layout.choice.columns), frame_of(text, layout, compute))[1])
    assert table_of(tmp_path, text(UPPER), **GIVEN).ids == WORDS
    assert table_of(tmp_path, text(NUMBERED), **GIVEN).rows == len(WORDS)
    assert read_as == [("d",), ("w1", "w2", "d")]


@pytest.mark.parametrize("chosen", [{"id_column": "w1"}, {"label_columns": ("w2",)}, {"id_column": "none"}])
def test_columns_of_a_list_of_pairs_are_no_ids_and_no_labels(tmp_path: Path, chosen: dict[str, Any]) -> None:
    """They name two points each: a warning says that the option has no effect, and that of no ids is true."""
    with Notes() as notes:
        table = table_of(tmp_path, text(UPPER), **GIVEN, **chosen)
    assert table.ids == WORDS and not table.labels
    assert ("W-PAIRS" in notes.codes) == (chosen != {"id_column": "none"})


def test_a_list_of_pairs_with_names_of_rows_as_r_writes_them_is_their_matrix(tmp_path: Path) -> None:
    rows = "".join(f'"{row}","{one}","{other}",{number!r}\n' for row, (one, other, number) in enumerate(UPPER, 1))
    assert np.array_equal(table_of(tmp_path, f'"","w1","w2","d"\n{rows}', **GIVEN).values, MATRIX)
    named = "".join(f"{row} {one} {other} {number!r}\n" for row, (one, other, number) in enumerate(UPPER, 1))
    assert np.array_equal(table_of(tmp_path, f"w1 w2 d\n{named}", **GIVEN).values, MATRIX)


def test_names_of_points_may_be_numbers_after_the_first_ones(tmp_path: Path) -> None:
    """As a matrix, most of the two columns would be numbers, and the words among them wrong cells."""
    points = [*(f"p{place}" for place in range(12)), *map(str, range(100, 160))]
    pairs = [(one, other, float(place)) for place, (one, other) in enumerate(combinations(points, 2))]
    pairs.sort(key=lambda pair: (pair[0].isdecimal() != pair[1].isdecimal(), pair[0].isdecimal()))  # words first
    assert table_of(tmp_path, text(pairs), **GIVEN).rows == len(points)


def test_a_list_of_pairs_with_a_wrong_number_keeps_its_error(tmp_path: Path) -> None:
    content = text(UPPER).replace(repr(UPPER[4][2]), "much")
    refused(written(tmp_path, content), DataError, "TEXT-COLUMN", **GIVEN)
    lost = f"w1,w2,d\na,b,{2**53}\na,c,{2**53 + 1}\nb,c,{2**53}\n"  # which double precision does not tell apart
    refused(written(tmp_path, lost), DataError, "TEXT-COLUMN", **GIVEN)


def test_a_pair_with_two_numbers_is_asymmetric(tmp_path: Path) -> None:
    both = [*UPPER, *((other, one, number + 1) for one, other, number in UPPER)]
    refused(written(tmp_path, text(both)), DataError, "ASYMMETRIC", **GIVEN)
    table = table_of(tmp_path, text(both), symmetrize="min", **GIVEN)
    assert np.array_equal(table.values, in_order(tuple(table.ids)))


def test_a_table_that_is_no_list_of_pairs_keeps_its_error(tmp_path: Path) -> None:
    refused(written(tmp_path, "a,b,x,y\nu,v,1,2\nv,w,2,3\nw,u,3,4\n"), DataError, "TEXT-COLUMN", **GIVEN)
    refused(written(tmp_path, "mother,child,x\nann,bob,1\neve,tim,2\nmia,max,3\n"), DataError, "TEXT-COLUMN", **GIVEN)


def test_a_list_of_pairs_is_recognized_before_one_column_is_embedded(tmp_path: Path, wording: Wording) -> None:
    path = written(tmp_path, text(UPPER))
    error = refused(path, DataError, "LOOKS-LIKE-MATRIX")
    assert "E-LOOKS-LIKE-MATRIX" in wording(error) and error.kind == "dissimilarities"
    refused(written(tmp_path, text(UPPER[:6]), "some.csv"), DataError, "LOOKS-LIKE-MATRIX")
    whole = [(one, other, float(number)) for number, (one, other, _) in enumerate(UPPER, 1)]
    refused(written(tmp_path, text(whole).replace(".0", ""), "whole.csv"), DataError, "LOOKS-LIKE-MATRIX")
    assert read(Input(path=path, kind="features")).columns == ("d",)
    assert read(Input(path=path, label_columns=("w1", "w2"))).columns == ("d",)


@pytest.mark.parametrize("names", [
    (("ann", "eve", "mia"), ("bob", "tim", "max")), (("a", "b"), ("b", "a")), (("a", "", "c"), ("b", "c", "a"))],
    ids=["other names", "two points", "a missing name"])
def test_two_columns_of_words_are_not_always_pairs(names: tuple[tuple[str, ...], ...]) -> None:
    assert pairs_of(names) is None


def test_labels_that_recur_are_no_pairs(tmp_path: Path) -> None:
    rows = [(one, other, number + 0.5) for number, (one, other) in enumerate([("x", "y"), ("y", "z"), ("x", "y")])]
    assert table_of(tmp_path, text(rows)).columns == ("d",)


NUMBERED = [(str(WORDS.index(one) + 7), str(WORDS.index(other) + 7), number) for one, other, number in UPPER]
BOTH = [*NUMBERED, *((other, one, number) for one, other, number in NUMBERED)]


@pytest.mark.parametrize("head", ["i,j,d\n", ""])
def test_a_list_of_pairs_of_numbered_points_is_recognized_and_read(tmp_path: Path, head: str, wording: Wording) -> None:
    path = written(tmp_path, text(NUMBERED, head))
    error = refused(path, DataError, "LOOKS-LIKE-MATRIX")
    assert "E-LOOKS-LIKE-MATRIX" in wording(error) and error.kind == "dissimilarities"
    for rows in (NUMBERED, BOTH):
        table = table_of(tmp_path, text(rows, head), **GIVEN)
        assert tuple(table.ids) == ("7", "8", "9", "10", "11") and np.array_equal(table.values, MATRIX)


def test_a_numbered_list_with_a_pair_missing_is_recognized_and_refused(tmp_path: Path, wording: Wording) -> None:
    error = refused(written(tmp_path, text(NUMBERED[:-1])), DataError, "LOOKS-LIKE-MATRIX")
    assert "E-LOOKS-LIKE-MATRIX" in wording(error)
    missing = refused(written(tmp_path, text(NUMBERED[:-1])), DataError, "PAIRS", **GIVEN)
    assert "E-PAIRS" in wording(missing)


@pytest.mark.parametrize("above", ["#w1,w2,d\n", "# in mm\n", "# in mm\nw1,w2,d\n"])
def test_a_list_of_pairs_below_a_comment_is_their_matrix(tmp_path: Path, above: str) -> None:
    for rows in (UPPER, NUMBERED):
        assert np.array_equal(table_of(tmp_path, text(rows, above), **GIVEN).values, MATRIX)


@pytest.mark.parametrize("rows", [
    NUMBERED[:-2], BOTH, [*NUMBERED, NUMBERED[0]], [*NUMBERED, ("7", "7", 0.0)],
    [(f"{one}.5", other, number) for one, other, number in NUMBERED],
    [(one, str(int(other) + 9), number) for one, other, number in NUMBERED], NUMBERED[:3]],
    ids=["two missing", "a grid", "twice", "a point with itself", "fractions", "other places", "few"])
def test_three_features_of_another_kind_are_points(tmp_path: Path, rows: list[tuple[str, str, float]]) -> None:
    assert table_of(tmp_path, text(rows)).values.shape == (len(rows), 3)
