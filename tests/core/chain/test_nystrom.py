"""Placement of points by landmarks: a few rows of the kernel at a time."""

from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.centering import Centering
from mlcli.core.chain import landmark_error, nystrom
from mlcli.core.similarities.kernels import Distances
from tests.support import fit

POINTS = np.random.default_rng(0).standard_normal((500, 3))


@pytest.mark.parametrize("method", ["kpca", "mds"])
def test_rows_of_landmarks_are_never_in_memory_together(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fit(method, POINTS, landmarks=40).embedding
    rows, sizes = Distances.rows, []

    def counted(self: Any, new: Array) -> Array:
        found = rows(self, new)
        sizes.append(found.size)
        return found

    for module in (nystrom, landmark_error):
        monkeypatch.setattr(module, "TOGETHER", 2000)
    monkeypatch.setattr(Distances, "rows", counted)
    assert np.abs(fit(method, POINTS, landmarks=40).embedding - expected).max() < 1e-12 * np.abs(expected).max()
    assert len(sizes) >= 10 and max(sizes) <= 2000


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_centered_in_their_place_to_the_same_bits(order: Any) -> None:
    rows = np.asarray(np.random.default_rng(1).random((300, 40)), order=order)
    center = Centering(rows.mean(axis=0), across=True)
    expected = center(rows)
    assert center(rows, out=rows) is rows
    assert np.array_equal(rows, expected)
