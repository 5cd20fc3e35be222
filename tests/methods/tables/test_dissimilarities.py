"""Several matrices of dissimilarities: what is refused by name."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.inputs import Features, TwoViews, ViewedDissimilarities
from mlcli.errors import ConfigError, DataError
from tests.support import dissimilarities, distances, features, fit, matrices
from tests.wording import Wording

POINTS = np.random.default_rng(3).standard_normal((6, 2))
MATRIX = distances(POINTS)


def with_view(values: Array, columns: list[str] | None = None) -> ViewedDissimilarities:
    found = matrices([MATRIX, MATRIX])
    names = found.ids if columns is None else columns
    return replace(found, view=Features(np.asarray(values), found.ids, names))


def changed(*cells: tuple[int, int, float]) -> Array:
    values = MATRIX.copy()
    for row, column, value in cells:
        values[row, column] = value
    return values


@pytest.mark.parametrize(("view", "code"), [
    (with_view(POINTS, ["a", "b"]), "NOT-SQUARE"), (with_view(changed((1, 2, 9.0))), "NOT-SYMMETRIC"),
    (with_view(changed((1, 2, -1.0), (2, 1, -1.0))), "NEGATIVE"), (with_view(changed((3, 3, 0.5))), "DIAGONAL"),
    (with_view(MATRIX, ["1", "2", "3", "4", "5", "other"]), "MATRIX-NAMES"),
    (with_view(np.zeros((6, 6))), "CONSTANT-GROUP")])
def test_a_view_that_is_no_matrix_of_the_points_is_refused(view: Any, code: str, wording: Wording) -> None:
    with wording.raises(DataError, code):
        fit("statis", view)


def test_a_matrix_without_names_is_taken_in_its_order() -> None:
    bare = with_view(MATRIX, ["x1", "x2", "x3", "x4", "x5", "x6"])
    assert np.array_equal(fit("statis", bare).embedding, fit("statis", matrices([MATRIX, MATRIX])).embedding)


def test_points_that_the_first_matrix_lacks_are_left_out_of_a_view() -> None:
    whole = matrices([MATRIX, distances(POINTS**3)])
    few = whole.take(np.array([0, 2, 3, 5]))
    part = [matrix[[0, 2, 3, 5]][:, [0, 2, 3, 5]] for matrix in (MATRIX, distances(POINTS**3))]
    assert np.allclose(fit("statis", few).embedding, fit("statis", matrices(part)).embedding, atol=1e-13)


def test_options_of_columns_and_views_of_features_are_refused(wording: Wording) -> None:
    with wording.raises(ConfigError, "UNUSED"):
        fit("statis", matrices([MATRIX, MATRIX]), groups=["first=x1"])
    with wording.raises(ConfigError, "NEEDS"):
        fit("statis", dissimilarities(MATRIX))
    data = features(POINTS)
    with wording.raises(ConfigError, "VIEW"):
        fit("statis", TwoViews(data.values, data.ids, data.columns, view=data))
