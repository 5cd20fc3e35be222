"""An ordinary CSV passes no reader of other layouts first, and texts in such layouts are read as they always were."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.data.text import delimited, distance_matrices
from tests.data.helpers import table_of
from tests.data.pairs.square.test_triangles import APART as SIDES
from tests.data.pairs.square.test_triangles import NAMES, triangle
from tests.data.text.test_distance_matrices import APART, PRINTED, ROADS

ROADS_AS_PRINTED = [[3313, 2963, 3175, 2610], [1318, 1326, 803], [204, 677], [747], []]
NUMBERS = ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("text", [
    "a,b\n1,2\n3,4\n5,7\n", "id,a,b\nx,1,2\ny,3,4\nz,5,6\n", "1,2\n3,4\n5,6\n", ",a,b\nx,1,2\ny,3,4\n",
    '"a","b"\n1,2\n3,4\n', "a,b,c\n1,,3\n,2,3\n1,2,3\n", "\n\na,b\n1,2\n3,4\n", " a, b\n1,2\n3,4\n5,6\n"])
def test_an_ordinary_table_passes_no_reader_of_other_layouts(tmp_path: Path, text: str,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    expected = table_of(tmp_path, text)
    monkeypatch.delattr(delimited, "_of_pairs")
    table = table_of(tmp_path, text)
    assert (table.columns, tuple(table.ids)) == (expected.columns, tuple(expected.ids))
    np.testing.assert_array_equal(table.values, expected.values)


def also_parses_as_csv(folder: Path, text: str, **options: Any) -> bool:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(delimited, "_of_pairs", lambda *_: None)
        return table_of(folder, text, kind="dissimilarities", **options).values.shape == SIDES.shape


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["blank", "corner"])
@pytest.mark.parametrize("names", [NAMES, NUMBERS])
def test_a_triangle_with_empty_cells_is_a_table_as_well_and_read_as_a_triangle(
        tmp_path: Path, separator: str, header: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    text = triangle(SIDES, header=header, ragged=False, separator=separator, names=names)
    assert also_parses_as_csv(tmp_path, text)
    seen, read = [], distance_matrices.read_ragged
    monkeypatch.setattr(distance_matrices, "read_ragged", lambda *given: seen.append(1) or read(*given))
    table = table_of(tmp_path, text, kind="dissimilarities")
    assert seen and table.columns == names == tuple(table.ids)
    np.testing.assert_allclose(table.values, SIDES, rtol=0, atol=2e-16)


@pytest.mark.parametrize(("text", "expected"), [
    (PRINTED, APART), ("\n\n" + PRINTED, APART),
    (ROADS, [[0] * (5 - len(row)) + row for row in ROADS_AS_PRINTED]),
    ("  a b\nb 1\nc 2 3\n", [[0, 1, 2], [0, 0, 3], [0, 0, 0]]), ("  a b\na 0 1\nb 1 0\n", [[0, 1], [0, 0]])])
def test_distances_as_r_prints_them_are_read_as_such(tmp_path: Path, text: str, expected: Any) -> None:
    table = table_of(tmp_path, text, "d.txt", kind="dissimilarities")
    np.testing.assert_allclose(np.triu(table.values), np.triu(expected), atol=5e-7)
