"""Similarities become dissimilarities by a rule: the same of every layout and in blocks, and refused by the cell."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz
from scipy.spatial.distance import cdist, squareform

from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.data.formats import npy
from mlcli.data.options.input import Input
from mlcli.data.read.in_memory import table_of as table_in_memory
from mlcli.data.read.table import read
from mlcli.errors import ConfigError, DataError
from tests.data.helpers import noted, refused, table_of, written
from tests.wording import Wording

GIVEN: dict[str, Any] = {"kind": "dissimilarities"}
RULES = ("one-minus", "root-one-minus", "max-minus", "minus-log")
SIZE = 40
POINTS = np.random.default_rng(3).standard_normal((SIZE, 3))
SIMILARITIES = np.exp(-cdist(POINTS, POINTS))


def expected(rule: str, similarities: Array) -> Array:
    """The rules as they are defined, by NumPy."""
    found = {"one-minus": 1 - similarities, "root-one-minus": np.sqrt(1 - np.minimum(similarities, 1)),
             "max-minus": similarities.max() - similarities, "minus-log": -np.log(similarities)}[rule]
    np.fill_diagonal(found, 0)
    return found


def saved(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(values))
    return stream.getvalue()


def text(rows: Any) -> str:
    return "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in rows) + "\n"


def layouts() -> dict[str, tuple[str, str | bytes]]:
    """The same similarities in every layout, with the name of the file."""
    names = [f"p{row}" for row in range(SIZE)]
    square = [["", *names], *([name, *map(repr, row)] for name, row in zip(names, SIMILARITIES.tolist(), strict=True))]
    hollow = [[cell if row != column else None for column, cell in enumerate(line)] for row, line in enumerate(square)]
    triangle = [[cell if column <= row else None for column, cell in enumerate(line)]
                for row, line in enumerate(square[1:], 1)]
    pairs = [("one", "other", "alike"), *((names[row], names[column], repr(float(SIMILARITIES[row, column])))
                                          for row in range(SIZE) for column in range(row + 1, SIZE))]
    return {"square": ("s.csv", text(square)), "hollow": ("s.csv", text(hollow)),
            "triangle": ("s.csv", text([square[0], *triangle])), "pairs": ("s.csv", text(pairs)),
            "array": ("s.npy", saved(SIMILARITIES)),
            "condensed": ("s.npy", saved(squareform(SIMILARITIES * (1 - np.eye(SIZE)))))}


LAYOUTS = layouts()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("layout", ["square", "hollow", "triangle", "pairs", "array", "condensed"])
def test_a_rule_gives_the_same_dissimilarities_of_every_layout(tmp_path: Path, layout: str, rule: str) -> None:
    name, content = LAYOUTS[layout]
    with noted() as notes:
        table = table_of(tmp_path, content, name, similarities=rule, **GIVEN)
    known = SIMILARITIES.copy()
    if layout in ("hollow", "pairs", "condensed"):  # the largest is that of two points
        np.fill_diagonal(known, SIMILARITIES[np.triu_indices(SIZE, 1)].max())
    np.testing.assert_allclose(table.values, expected(rule, known), rtol=1e-14, atol=1e-16)
    assert (np.diag(table.values) == 0).all() and table.kind == "dissimilarities"
    assert "N-SIMILARITIES" in notes.codes


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("layout", ["array", "condensed"])
def test_blocks_hold_the_bits_of_the_matrix_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str,
                                                      rule: str) -> None:
    monkeypatch.setattr(npy, "BLOCK", 300)
    monkeypatch.setattr(npy, "PART", 120)
    monkeypatch.setattr("mlcli.data.formats.block_file.PART", 120)
    path = written(tmp_path, LAYOUTS[layout][1], "s.npy")
    whole, blocks = (read(Input(path=path, similarities=rule, stream=stream, **GIVEN), streams=True)
                     for stream in ("never", "always"))
    rows = rows_of(blocks.values)
    assert rows is not None and rows.blocks > 2 and blocks.rule == whole.rule
    assert np.array_equal(rows.read(np.arange(SIZE)), whole.values)
    assert np.array_equal(rows[np.array([7, 3])], whole.values[[7, 3]])
    assert np.array_equal(np.concatenate([part for number in range(rows.blocks) for _, part in rows.parts(number)]),
                          whole.values)
    if layout == "condensed":
        above = np.zeros((SIZE, SIZE))
        for number in range(rows.blocks):
            for first, wedge in rows.wedges(number):
                above[first:first + len(wedge), first:] += wedge
        assert np.array_equal(above, np.triu(whole.values))


def test_chosen_points_of_blocks_have_a_largest_similarity_of_their_own(tmp_path: Path) -> None:
    path = written(tmp_path, LAYOUTS["condensed"][1], "s.npy")
    whole, blocks = (read(Input(path=path, similarities="max-minus", stream=stream, rows=12, **GIVEN), Compute(),
                          streams=True) for stream in ("never", "always"))
    rows = rows_of(blocks.values)
    assert rows is not None and np.array_equal(rows.read(np.arange(12)), whole.values)
    assert np.sort(whole.values[np.triu_indices(12, 1)])[0] == 0


FAULTS = [  # content, rule, code, part
    (",a,b\na,1,1.2\nb,1.2,1\n", "one-minus", "SIMILARITY", "1.2 in row 1 ('a'), column 'b'"),
    (",a,b\na,1,-0.2\nb,-0.2,1\n", "one-minus", "SIMILARITY", "outside of 0 to 1"),
    (",a,b\na,1,-0.2\nb,-0.2,1\n", "root-one-minus", "SIMILARITY", "--similarities max-minus"),
    (",a,b,c\na,1,0.5,0\nb,0.5,1,0.2\nc,0,0.2,1\n", "minus-log", "SIMILARITY", "row 1 ('a'), column 'c'"),
    (",a,b\na,1,0\nb,0,1\n", "minus-log", "SIMILARITY", "of zero"),
    (",a,b\na,1,2\nb,2,1\n", "minus-log", "SIMILARITY", "outside of 0 to 1"),
    (",a,b\na,1,0.5\nb,0.5,0.9\n", "one-minus", "DIAGONAL", "0.9 at 'b'"),
    (",a,b\na,3,5\nb,5,5\n", "max-minus", "DIAGONAL", "3 at 'a'"),
    (",a,b\na,1,0.5\nb,0.4,1\n", "one-minus", "ASYMMETRIC", "0.5"),
    (",a,b,c\na,1,0.3,NA\nb,0.3,1,0.4\nc,0.5,0.4,1\n", "one-minus", "MISSING", "'a'"),
    (",a,b\na,1e308,-1e308\nb,-1e308,1e308\n", "max-minus", "INFINITE", "'a'"),
]


@pytest.mark.parametrize(("content", "rule", "code", "part"), FAULTS)
def test_numbers_that_are_no_similarities_are_refused_with_their_cell(tmp_path: Path, content: str, rule: str,
                                                                      code: str, part: str) -> None:
    error = refused(written(tmp_path, content), DataError, code, similarities=rule, **GIVEN)
    assert part in str(error) and error.exit_code == 65


@pytest.mark.parametrize("value", [1.5, -0.5])
@pytest.mark.parametrize("condensed", [False, True])
def test_blocks_refuse_them_with_the_same_cell(tmp_path: Path, wording: Wording, value: float, *,
                                               condensed: bool) -> None:
    values = SIMILARITIES.copy()
    values[4, 9] = values[9, 4] = value
    path = written(tmp_path, saved(squareform(values * (1 - np.eye(SIZE))) if condensed else values), "s.npy")
    error = refused(path, DataError, "SIMILARITY", similarities="root-one-minus", stream="never", **GIVEN)
    with pytest.raises(DataError) as caught:
        read(Input(path=path, similarities="root-one-minus", stream="always", **GIVEN), streams=True)
    assert caught.value.code == error.code and "row 5 ('5'), column '10'" in str(caught.value)
    assert "E-SIMILARITY" in wording(error)


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("rule", RULES)
def test_numbers_that_are_not_finite_stay_so_in_blocks(tmp_path: Path, rule: str, value: float) -> None:
    values = SIMILARITIES.copy()
    values[4, 9] = values[9, 4] = value
    path = written(tmp_path, saved(values), "s.npy")
    for stream in ("never", "always"):
        with noted(), pytest.raises(DataError) as caught:
            read(Input(path=path, similarities=rule, stream=stream, **GIVEN), streams=True)
        assert caught.value.code == ("E-INFINITE" if value == np.inf else "E-MISSING")
        assert "row 5 ('5'), column '10'" in str(caught.value)


def test_a_rule_is_for_dissimilarities_that_are_not_squared(tmp_path: Path) -> None:
    path = written(tmp_path, ",a,b\na,1,0.5\nb,0.5,1\n")
    refused(path, ConfigError, "INPUT-OPTION", similarities="one-minus")
    refused(path, ConfigError, "INPUT-OPTION", similarities="one-minus", kind="kernel")
    refused(path, ConfigError, "INPUT-OPTION", similarities="one-minus", squared=True, **GIVEN)


def test_similarities_are_made_symmetric_before_the_rule(tmp_path: Path) -> None:
    with noted():
        table = table_of(tmp_path, ",a,b\na,1,0.5\nb,0.125,1\n", similarities="minus-log", symmetrize="max", **GIVEN)
    assert table.values[0, 1] == pytest.approx(np.log(2), rel=1e-15)


def test_rounding_beyond_the_ends_of_the_domain_is_taken_for_them(tmp_path: Path) -> None:
    beyond = 1 + 2.3e-16
    table = table_of(tmp_path, saved([[1 - 1e-16, beyond], [beyond, beyond]]), "s.npy", similarities="root-one-minus",
                     **GIVEN)
    assert (table.values == 0).all()


def test_a_similarity_that_a_sparse_matrix_leaves_out_is_zero(tmp_path: Path) -> None:
    save_npz(tmp_path / "s.npz", csr_array(np.array([[1, 0.25, 0], [0.25, 1, 0], [0, 0, 1]])))
    table = read(Input(path=str(tmp_path / "s.npz"), similarities="one-minus", **GIVEN))
    assert table.values.tolist() == [[0, 0.75, 1], [0.75, 0, 1], [1, 1, 0]]


def test_an_array_in_python_is_read_by_the_same_rule() -> None:
    given = SIMILARITIES.copy()
    table = table_in_memory(given, Input(path="array", similarities="one-minus", **GIVEN), Compute())
    np.testing.assert_array_equal(table.values, expected("one-minus", SIMILARITIES))
    assert np.array_equal(given, SIMILARITIES)
