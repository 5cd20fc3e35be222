"""Concentration, hubs, and what connects the neighbor graph: formulas, simulations and plain definitions."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from mlcli.checkup.graph import edge_length, median_nearest
from mlcli.core.graph.connecting import connecting_count, connecting_radius
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.neighbors import nearest_lists
from tests import support
from tests.checkup.test_metric import codes, examined, written


def ball(rng: np.random.Generator, count: int, dimensions: int) -> np.ndarray:
    """Points uniform in a unit ball."""
    directions = rng.standard_normal((count, dimensions))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * rng.random((count, 1)) ** (1 / dimensions)


def test_the_notes_numbers() -> None:
    """The edges of note 001; and its 0.52 belongs to 500 points: for 5,000 the median is 0.411."""
    assert [round(edge_length(share, 10), 2) for share in (0.01, 0.1)] == [0.63, 0.79]
    assert [round(median_nearest(count, 10), 3) for count in (500, 5000)] == [0.518, 0.411]


@pytest.mark.parametrize(("count", "dimensions"), [(500, 10), (40, 2), (5000, 10)])
def test_the_median_nearest_distance_by_simulation(count: int, dimensions: int) -> None:
    """Radii of uniform points are u^(1/d); over 4,000 draws the median nearest one is within 1% of the formula."""
    radii = np.random.default_rng(0).random((4000, count)).min(axis=1) ** (1 / dimensions)
    assert np.median(radii) == pytest.approx(median_nearest(count, dimensions), rel=0.01 if dimensions == 10 else 0.03)


@pytest.mark.medium
def test_uniform_points_measure_as_the_formulas_say(tmp_path: Path) -> None:
    """Around the center of a ball; around points off the center neighborhoods reach a little less far."""
    found = examined(written(tmp_path, ball(np.random.default_rng(3), 4000, 10)), "features")
    assert found.concentration
    measured, uniform = found.concentration.measured, found.concentration.uniform
    assert uniform.dimensions == 10
    assert measured.center_nearest == pytest.approx(uniform.center_nearest, rel=0.2)
    assert 0.6 * uniform.one_percent < measured.one_percent < uniform.one_percent
    assert found.intrinsic_dimension
    assert found.intrinsic_dimension.two_nn == pytest.approx(10, rel=0.15)


def test_many_dimensions_are_told_as_concentrated_and_few_are_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    assert "C-CONCENTRATED" in codes(examined(written(tmp_path, rng.standard_normal((300, 400))), "features"))
    assert "C-CONCENTRATED" not in codes(examined(written(tmp_path, rng.standard_normal((300, 3))), "features"))


def test_many_dimensions_have_hubs(tmp_path: Path) -> None:
    """Radovanović and others, 2010: skewness grows with the dimension."""
    rng = np.random.default_rng(0)
    low, high = (examined(written(tmp_path, rng.standard_normal((800, columns))), "features").hubness
                 for columns in (3, 200))
    assert low
    assert high
    assert low.skewness < 0.6
    assert high.skewness > 2
    assert high.never > low.never


def smallest_count(data: support.Input) -> int:
    return next(count for count in range(1, len(data.values))
                if graph_of(nearest_lists(data, count), "union").pieces().max() == 0)


def connected_within(distances: np.ndarray, radius: float) -> bool:
    return connected_components(distances <= radius, directed=False)[0] == 1


@pytest.mark.parametrize("seed", range(24))
def test_what_connects_is_the_least_that_does(seed: int) -> None:
    """Against every count tried in turn, and against the graph just below and at the radius."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((int(rng.integers(3, 70)), int(rng.integers(1, 5))))
    points[: len(points) // 3] += 15 * (seed % 2)
    points = np.round(points) + np.eye(len(points), points.shape[1]) if seed % 3 == 0 else points
    distances = cdist(points, points)
    for data in (support.features(points), support.dissimilarities(distances)):
        lists = nearest_lists(data, min(int(rng.integers(1, 8)), len(points) - 1))
        assert connecting_count(data, lists) == smallest_count(data)
        radius, left, right = connecting_radius(data, lists)
        assert distances[left, right] == pytest.approx(radius, rel=1e-12)
        assert connected_within(distances, radius * (1 + 1e-12))
        assert not connected_within(distances, radius * (1 - 1e-9)) or radius == 0


def test_two_far_clusters_need_as_many_neighbors_as_one_holds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.standard_normal((30, 2)), rng.standard_normal((50, 2)) + 1e6])
    report = examined(written(tmp_path, points), "features")
    assert report.graph
    assert (report.graph.pieces, report.graph.piece_sizes, report.graph.connecting_k) == (2, (50, 30), 30)
    assert report.graph.connecting_radius == pytest.approx(np.sqrt(2) * 1e6, rel=1e-4)
    assert "C-PIECES" in codes(report)
    assert next(found.advice for found in report.findings if found.code == "C-PIECES").startswith("use -k 30")
    points = np.concatenate([rng.standard_normal((60, 2)), rng.standard_normal((70, 2)) + 1e6])
    report = examined(written(tmp_path, points), "features")
    advice = next(found.advice for found in report.findings if found.code == "C-PIECES")
    assert advice.index("largest") < advice.index("-k 60")


def test_of_too_many_points_a_sample_is_drawn_by_the_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.checkup.examine.LARGEST", 100)
    path = written(tmp_path, np.random.default_rng(0).standard_normal((300, 3)))
    one, again = examined(path, "features"), examined(path, "features")
    other = examined(path, "features", compute={"seed": 1})
    assert one == again
    assert (one.rows, one.rows_compared) == (300, 100)
    assert one.graph != other.graph
    assert one.features == other.features
