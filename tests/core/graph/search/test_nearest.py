"""Nearest neighbors against brute force, on data made to confuse them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlcli.base.types import Array
from mlcli.core.graph import search
from mlcli.core.graph.search import nearest, nearest_in_matrix, nearest_of_new, nearest_of_shifted, within
from tests.support import distances


def brute(points: Array, count: int) -> Array:
    """Neighbors by (distance, index), self excluded by index, from exact differences."""
    squared = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    return np.array([np.lexsort((np.arange(len(points)), row))[:count] for row in squared])


@pytest.mark.medium
@settings(deadline=None, max_examples=150)
@given(arrays(np.float64, st.tuples(st.integers(4, 40), st.integers(1, 3)), elements=st.integers(0, 4).map(float)),
       st.integers(1, 3))
def test_ties_and_duplicates_in_few_columns(points: Array, count: int) -> None:
    assert np.array_equal(nearest(points, count).indices.reshape(len(points), count), brute(points, count))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_ties_and_duplicates_in_many_columns(seed: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    points = generator.integers(0, 2, (60, 20)).astype(float)
    assert np.array_equal(nearest(points, count).indices.reshape(60, count), brute(points, count))


@pytest.mark.parametrize("columns", [3, 40])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_random_points(columns: int, offset: float) -> None:
    points = np.random.default_rng(1).standard_normal((300, columns)) + offset
    found = nearest(points, 9)
    assert np.array_equal(found.indices.reshape(300, 9), brute(points, 9))
    assert np.allclose(found.lengths, distances(points)[found.rows, found.indices], rtol=1e-12)


def test_more_duplicates_than_neighbors_never_return_the_point_itself() -> None:
    points = np.vstack([np.zeros((40, 3)), np.random.default_rng(0).standard_normal((20, 3))])
    lists = nearest(points, 5)
    assert (lists.rows != lists.indices).all()
    assert (lists.lengths.reshape(60, 5)[:40] == 0).all()
    assert np.array_equal(lists.indices.reshape(60, 5)[10], [0, 1, 2, 3, 4])


def test_one_far_outlier_does_not_blur_the_others() -> None:
    points = np.vstack([np.random.default_rng(0).standard_normal((50, 30)), np.full((1, 30), 1e8)])
    assert np.array_equal(nearest(points, 5).indices.reshape(51, 5), brute(points, 5))


@pytest.mark.parametrize("spread", [1e150, 1e25, 10**-22.5, 1e-24])
def test_points_whose_squares_are_no_single_precision_numbers(spread: float) -> None:
    """Single precision ends near 1e38 and 1e-45; beside a constant column the others may be of any size."""
    points = np.column_stack([np.ones(300), np.random.default_rng(2).standard_normal((300, 30)) * spread])
    assert np.array_equal(nearest(points, 9).indices.reshape(300, 9), brute(points, 9))


@pytest.mark.parametrize("far", [1e15, 1e22, 1e45])
def test_new_points_far_outside_find_their_neighbors_without_a_warning(far: float) -> None:
    generator = np.random.default_rng(3)
    points, new = generator.standard_normal((100, 30)), generator.standard_normal((20, 30)) * far
    squared = ((new[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    with np.errstate(all="raise", under="ignore"):
        found = nearest_of_new(new, points, 4)
    assert np.allclose(found.lengths.reshape(20, 4) ** 2, np.sort(squared, axis=1)[:, :4], rtol=1e-12, atol=0)
    assert (found.indices >= 0).all()


def test_new_points_find_the_training_points() -> None:
    points = np.random.default_rng(0).standard_normal((50, 3))
    lists = nearest_of_new(points[:10], points, 3)
    assert np.array_equal(lists.indices.reshape(10, 3)[:, 0], np.arange(10))
    assert (lists.lengths.reshape(10, 3)[:, 0] == 0).all()


@pytest.mark.parametrize("columns", [2, 30])
def test_a_radius_includes_its_boundary(columns: int) -> None:
    line = np.zeros((6, columns))
    line[:, 0] = np.arange(6)
    lists = within(line, line, 2.0, without_self=True)
    assert lists.counts.tolist() == [2, 3, 4, 4, 3, 2]
    assert lists.indices[:2].tolist() == [1, 2]


def test_neighbors_in_a_matrix_are_neighbors_of_points() -> None:
    points = np.random.default_rng(2).standard_normal((40, 3))
    given = nearest_in_matrix(distances(points), 6, without_self=True)
    assert np.array_equal(given.indices, nearest(points, 6).indices)


def test_a_few_rows_of_large_norm_do_not_make_all_points_candidates_of_every_row(monkeypatch):
    """Rounding of single precision, which grows with the largest norm, hides the gaps between most distances."""
    generator = np.random.default_rng(0)
    points = generator.standard_normal((300, 400))
    points[:3] *= 300
    calls, refine = [], search.refine
    monkeypatch.setattr(search, "refine", lambda *a: calls.append(a[2].shape) or refine(*a))
    assert np.array_equal(nearest(points, 5).indices.reshape(-1, 5), brute(points, 5))
    assert sum(rows for rows, _ in calls) > 300  # some rows were in doubt
    assert all(width < 300 for _, width in calls)


@pytest.mark.parametrize("columns", [3, 20])
def test_neighbors_of_shifted_points_are_those_of_new_ones(columns: int) -> None:
    generator = np.random.default_rng(columns)
    points = generator.standard_normal((1700, columns)) + 1e3  # more than a tile of products
    points[300] = points[310]
    shifts = np.concatenate([np.zeros((1, columns)), generator.standard_normal((2, columns))])
    found, own = nearest_of_shifted(points, slice(290, 420), shifts, 6)
    assert np.array_equal(own, np.repeat(np.arange(290, 420), 3))
    expected = nearest_of_new((points[290:420, None] + shifts).reshape(-1, columns), points, 6, without=own)
    assert np.array_equal(found.indices, expected.indices) and np.array_equal(found.lengths, expected.lengths)
    assert np.array_equal(found.starts, expected.starts)
    assert found.indices[found.starts[30]] == 310 and found.lengths[found.starts[30]] == 0


@pytest.mark.parametrize("kernels", [True, False])
def test_points_at_distances_beyond_all_numbers_have_neighbors_among_them(
        kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:
        monkeypatch.setattr("mlcli.native.available", lambda: False)
    found = nearest_of_new(np.zeros((60, 4)), np.full((50, 4), 1e300), 5)
    assert len(found.indices) == 300 and found.indices.min() >= 0 and found.indices.max() < 50
    assert np.isinf(found.lengths).all()
