"""Texts that stand for missing cells, in texts, in blocks and in memory; and numbers beyond precision."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import DataError
from tests.data.helpers import noted, refused, table_of, written
from tests.wording import Wording

CONTENT = "kind,a,b\nx,1,2\n-,.,3\ny,4,-999\nx,-,5\n"
VALUES = [[1, 2], [np.nan, 3], [4, np.nan], [np.nan, 5]]
MARKERS = [".", "-", "-999"]


@pytest.mark.parametrize("stream", ["never", "always"])
@pytest.mark.parametrize(("content", "name"), [
    (CONTENT, "data.csv"), (CONTENT.replace(",", "\t"), "data.tsv"), (CONTENT.replace(",", ";"), "semicolons.csv")])
def test_markers_are_missing_in_numbers_and_labels(tmp_path: Path, content: str, name: str, stream: Any) -> None:
    table = read(Input(path=written(tmp_path, content, name), missing_markers=MARKERS, stream=stream),
                 streams=stream == "always")
    assert np.array_equal(table.values[:], VALUES, equal_nan=True)
    assert table.labels == {"kind": ("x", "", "y", "x")}


def test_what_is_no_marker_stays_a_fault_that_says_how_to_make_it_one(tmp_path: Path) -> None:
    error = refused(written(tmp_path, "a,b\n1,2\n.,3\n4,5\n"), DataError, "NOT-A-NUMBER")
    assert "--missing-markers" in error.hint
    assert np.isnan(table_of(tmp_path, "a,b\n1,2\n#N/A,3\n4,5\n").values[1, 0])  # of spreadsheets
    assert table_of(tmp_path, "a,b\n1,2\n-999,3\n").values[1, 0] == -999


def test_a_triangle_and_labels_of_a_second_file_know_them_too(tmp_path: Path) -> None:
    triangle = written(tmp_path, "a\nb,1\nc,?,3\n", "t.csv")
    refused(triangle, DataError, "MISSING", kind="dissimilarities", missing_markers=["?"])
    labels = written(tmp_path, "id,kind\np,x\nq,?\nr,y\n", "labels.csv")
    table = read(Input.model_validate({"path": written(tmp_path, "id,a\np,1.5\nq,2\nr,3\n"), "id_column": "id",
                                       "labels": {"path": labels}, "missing_markers": ["?"]}))
    assert table.labels == {"kind": ("x", "", "y")}


def test_a_number_beyond_doubles_is_not_taken_for_a_decimal_comma(tmp_path: Path, wording: Wording) -> None:
    error = refused(written(tmp_path, "a,b\n1,2\n1e400,3\n4,5\n"), DataError, "OVERFLOW")
    assert "decimal" not in error.hint and "E-OVERFLOW" in wording(error)


def test_whole_numbers_that_differ_beyond_precision_are_no_constant_column(tmp_path: Path) -> None:
    """2**60 + i, as ids of databases are."""
    content = "a,k\n" + "".join(f"{row**2 % 7},{2**60 + row}\n" for row in range(12))
    error = refused(written(tmp_path, content), DataError, "INT-PRECISION")
    assert "'k'" in error.what and "--id-column" in error.hint
    assert table_of(tmp_path, content, id_column="k").columns == ("a",)
    with noted() as notes:
        table_of(tmp_path, content.replace(str(2**60), str(2**61)))
        table_of(tmp_path, content.replace(str(2**60 + 1), "7").replace(str(2**60), str(2**56 + 1)))
        table_of(tmp_path, "a,k\n1,1e20\n2,1e20\n3,1e20\n")  # a constant that was not rounded
    assert notes.codes.count("W-INT-PRECISION") == 2
