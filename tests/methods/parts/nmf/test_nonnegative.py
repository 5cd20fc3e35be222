"""Negative cells are refused by row and column, in a fit, in new rows and from Python."""

import numpy as np
import pytest

from mlcli.errors import DataError
from tests.support import features, fit
from tests.wording import Wording

POINTS = np.random.default_rng(1).random((12, 3))


def test_a_negative_cell_is_named(wording: Wording) -> None:
    points = POINTS.copy()
    points[7, 1] = -0.25
    with pytest.raises(DataError) as caught:
        fit("nmf", features(points))
    assert (caught.value.code, caught.value.exit_code) == ("E-NEGATIVE", 65)
    assert "E-NEGATIVE" in wording(caught.value)


def test_new_rows_are_refused_alike() -> None:
    model = fit("nmf", POINTS)
    new = POINTS[:4].copy()
    new[2, 0] = -1
    with pytest.raises(DataError, match=r"row 3 \('c'\), column 'two'"):
        model.projector.similarity.check(new[:, [1, 0]], list("abcd"), ["one", "two"])
    with pytest.raises(DataError, match="row 3, column 1: nmf "):
        model.project(new)
