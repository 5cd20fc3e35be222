"""Placement of points by landmarks: a few rows of the kernel at a time."""

from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.centering import Centering
from mlcli.core.chain import landmark_error, nystrom
from mlcli.core.paths import paths
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


@pytest.mark.parametrize("options", [{"method": "isomap"}, {
    "method": "chain", "kernel": {"name": "gaussian", "rate": 0.1}, "paths": {}, "graph": {"neighbors": {"count": 8}}}])
def test_paths_that_are_computed_twice_place_points_where_stored_ones_do(
        options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    stored = fit(data=POINTS, landmarks=40, **options)
    monkeypatch.setattr(paths, "KEPT", 500 * 40 - 1)
    lengths = []
    found = paths.dijkstra_rows

    def counted(graph: Any, sources: Any) -> Array:
        lengths.append(len(sources))
        return found(graph, sources)

    monkeypatch.setattr(paths, "dijkstra_rows", counted)
    twice = fit(data=POINTS, landmarks=40, **options)
    assert max(lengths) == paths.GROUP and sum(lengths) == 40 + 40 + 30
    assert np.abs(twice.embedding - stored.embedding).max() < 1e-12 * np.abs(stored.embedding).max()
    assert np.allclose(twice.ranks.errors, stored.ranks.errors, rtol=1e-9)
    assert np.allclose(twice.project(POINTS[:5]), stored.project(POINTS[:5]), atol=1e-10)
