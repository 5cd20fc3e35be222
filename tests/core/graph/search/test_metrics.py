"""Nearest neighbors under every metric against sorting all distances, with many ties."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.graph import search
from mlcli.core.graph.search import nearest, nearest_of_new, within
from mlcli.core.metrics.distances import between
from tests.core.test_metrics import NAMES, metric

OTHERS = [name for name in NAMES if name != "euclidean"]  # which is searched by `nearest`, in bits of its own

GENERATOR = np.random.default_rng(9)
TIED = GENERATOR.integers(0, 2, (150, 5)) * 1.0  # many rows equal, and most distances shared by several pairs
TIED[:, 0] = 1
TIED[TIED.std(axis=1) == 0, 1] = 2
WIDE = GENERATOR.random((120, 40))
PLACES = GENERATOR.integers(-3, 4, (150, 2)) * 15.0


def points_for(name: str, tied: bool) -> Array:
    if name == "haversine":
        return PLACES if tied else GENERATOR.uniform(-80, 80, (120, 2))
    return (TIED + 1 if name == "aitchison" else TIED) if tied else WIDE


def brute(distances: Array, count: int) -> tuple[Array, Array]:
    order = np.argsort(distances, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(distances, order, axis=1)


@pytest.fixture(params=["kernels", "no kernels"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "no kernels":
        monkeypatch.setattr("mlcli.native.available", lambda: False)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("count", [1, 7, 149])
def test_neighbors_are_those_of_sorting_all_distances(name: str, tied: bool, count: int) -> None:
    points = points_for(name, tied)
    count = min(count, len(points) - 1)
    comparison = metric(name).fitted(points)
    distances = between(comparison, points, points)
    np.fill_diagonal(distances, np.inf)
    indices, lengths = brute(distances, count)
    lists = nearest(points, count, comparison)
    assert lists.indices.reshape(-1, count).tolist() == indices.tolist()
    assert lists.lengths.tobytes() == lengths.tobytes()
    assert lists.starts.tolist() == list(range(0, count * len(points) + 1, count))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("tied", [True, False])
def test_new_points_and_radii(name: str, tied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    points = points_for(name, tied)
    points, new = points[:100], points[90:]
    comparison = metric(name).fitted(points)
    distances = between(comparison, new, points)
    indices, lengths = brute(distances, 5)
    lists = nearest_of_new(new, points, 5, comparison)
    assert (lists.indices.reshape(-1, 5).tolist(), lists.lengths.tobytes()) == (indices.tolist(), lengths.tobytes())
    assert lists.lengths[::5][:10].max() == 0  # the first new points are training points
    monkeypatch.setattr(search, "HELD", 700)
    far = float(np.quantile(distances, 0.2))
    near = within(new, points, far, comparison, without_self=False)
    expected = [np.flatnonzero(row <= far) for row in distances]
    assert near.counts.tolist() == [len(row) for row in expected]
    assert near.indices.tolist() == [int(i) for row, found in zip(distances, expected, strict=True)
                                     for i in found[np.argsort(row[found], kind="stable")]]
    own = within(points, points, 0.0, comparison, without_self=True)
    assert not (own.indices == own.rows).any()


def test_candidates_settle_rows_without_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a map to Euclidean space exists, few rows need all distances."""
    counted = []
    in_tiles = search.in_tiles
    monkeypatch.setattr(search, "in_tiles", lambda *given: counted.append(len(given[1])) or in_tiles(*given))
    nearest(WIDE, 6, metric("cosine").fitted(WIDE))
    assert not counted
    nearest(TIED, 6, metric("cosine").fitted(TIED))
    assert sum(counted) > 10
