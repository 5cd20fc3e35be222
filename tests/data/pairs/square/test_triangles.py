"""One triangle of a matrix, in every form that people have it in, is known as one and read as the whole matrix."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.cli.line.parsing import in_flags
from mlcli.errors import DataError, option
from tests.data.helpers import refused, table_of, written

POINTS = np.random.default_rng(3).normal(size=(9, 5))
TOGETHER, APART = np.corrcoef(POINTS.T), np.linalg.norm(POINTS.T[:, None] - POINTS.T, axis=2)
NAMES = ("a", "b", "c d", "e", "f")


def triangle(values: Array, *, diagonal: bool = True, header: str = "names", ids: bool = True, ragged: bool = True,
             separator: str = ",", names: tuple[str, ...] = NAMES) -> str:
    """The lower triangle of a matrix: of its rows, those that hold something."""
    quoted = [f'"{name}"' for name in names]
    first = {"names": [quoted if diagonal else quoted[:-1]], "corner": [["variable", *quoted]],
             "blank": [["", *quoted]], "none": []}[header]
    rows = [[*quoted[row:row + 1] * ids, *(f"{value:.17g}" for value in some[:row + diagonal])]
            for row, some in enumerate(values) if row or diagonal]
    width = len(values) + ids
    empty = [record + [""] * (0 if ragged else width - len(record)) for record in rows]
    return "\n".join(separator.join(record) for record in first + empty) + "\n"


FORMS: list[dict[str, Any]] = [
    {}, {"header": "corner"}, {"header": "blank"}, {"header": "none"}, {"ids": False}, {"header": "none", "ids": False},
    {"diagonal": False}, {"separator": " "}, {"separator": "  "}, {"separator": ";"}, {"separator": "\t"},
    {"header": "blank", "ragged": False}, {"header": "corner", "ragged": False},
    {"names": ("1", "2", "3", "4", "5")}, {"names": ("1", "2", "3", "4", "5"), "header": "corner"}]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("values", "kind"), [(TOGETHER, "correlation"), (APART, "dissimilarities"),
                                              (np.cov(POINTS.T), "covariance")])
def test_every_form_of_a_triangle_is_the_whole_matrix(tmp_path: Path, values: Array, kind: str,
                                                      form: dict[str, Any]) -> None:
    if form == {"diagonal": False} and kind == "covariance":
        pytest.skip("it has no variances then")
    text = triangle(values, **form)
    table = table_of(tmp_path, text, kind=kind)
    np.testing.assert_allclose(table.values, np.tril(values) + np.tril(values, -1).T, rtol=0, atol=2e-16)
    named = form.get("names", NAMES) if form.get("ids", True) or form.get("header") != "none" else tuple("12345")
    assert table.columns == named
    hint = refused(written(tmp_path, text), DataError, "LOOKS-LIKE-MATRIX").hint
    assert in_flags(option("input.kind", kind)) in hint


def test_a_triangle_of_correlations_without_a_diagonal(tmp_path: Path) -> None:
    for dash in ("", "-"):
        rows = [[name, *(f"{value:.3f}" for value in some[:row]), dash]
                for row, (name, some) in enumerate(zip("abcde", np.tril(TOGETHER), strict=True))]
        text = "\n".join(",".join(record) for record in [["x", *"abcde"], *rows])
        assert "--kind correlation" in refused(written(tmp_path, text), DataError, "LOOKS-LIKE-MATRIX").hint
        assert (np.diag(table_of(tmp_path, text, kind="correlation").values) == 1).all()


@pytest.mark.parametrize("text", [
    "a,b,c\n1\n2,3\n4,5,6\n7,8,9\n", "a,b,c,d,e\n1\n2,3\n4,5,6\n", "p,q\na,1\nb,1,2\nc,1,2,3\n"])
def test_other_rows_of_different_lengths_are_refused(tmp_path: Path, text: str) -> None:
    refused(written(tmp_path, text), DataError, "RAGGED")


def test_cells_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    error = refused(written(tmp_path, "a,b,c\n1\n.5,1\n.2,x,1\n"), DataError, "NOT-A-NUMBER", kind="correlation")
    assert "'x'" in error.what


def test_who_says_features_has_features(tmp_path: Path) -> None:
    refused(written(tmp_path, triangle(TOGETHER)), DataError, "RAGGED", kind="features")
