"""Selection and refinement of nearest neighbors against sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from mlcli import native
from mlcli.core.graph.candidates import refine
from mlcli.native.library import kernels
from tests.native.library.bits import bits_of
from tests.native.support import choose, levels, needs_native

pytestmark = needs_native


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 5, 63, 64, 65, 1000])
def test_selection(size: int, kind: type, level: str) -> None:
    usual, quick = native.describe(), np.random.default_rng(size).integers(0, 50, (20, size)).astype(kind)
    own = np.arange(20) % (size + 1) - 1
    count = max(1, min(size - 1, 12))
    try:
        choose(level)
        indices, values = native.select_neighbors(quick, count, own)
    finally:
        choose(usual)
    left = quick.copy()
    left[own >= 0, own[own >= 0]] = np.inf
    wanted = np.argsort(left, axis=1, kind="stable")[:, :count]
    sorted_values = np.take_along_axis(left, wanted, axis=1)
    assert np.array_equal(values, sorted_values)
    assert np.array_equal(indices, np.where(np.isinf(sorted_values), -1, wanted))


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize(("size", "step"), [(1, 1), (5, 2), (130, 64), (300, 97), (300, 300)])
def test_pairs_of_blocks_offered_in_any_order(size: int, step: int, level: str) -> None:
    """Each pair's product serves both of its points, and what is kept is what sorting finds: ties by index."""
    usual, generator = native.describe(), np.random.default_rng(size + step)
    points = generator.integers(0, 3, (size, 4)).astype(np.float32)
    norms, count = (points**2).sum(axis=1), min(size, 12)
    kept = native.Smallest(size, count)
    sides = [slice(start, min(start + step, size)) for start in range(0, size, step)]
    pairs = [(left, right) for i, left in enumerate(sides) for right in sides[i:]]
    try:
        choose(level)
        for k in generator.permutation(len(pairs)):
            rows, columns = pairs[k]
            products = points[rows] @ points[columns].T
            kept.offer(rows, products, norms[columns], columns)
            if rows != columns:
                kept.offer(columns, products, norms[rows], rows, turned=True)
    finally:
        choose(usual)
    numbers = norms - 2 * points @ points.T
    np.fill_diagonal(numbers, np.inf)
    wanted = np.argsort(numbers, axis=1, kind="stable")[:, :count]
    values = np.take_along_axis(numbers, wanted, axis=1)
    assert np.array_equal(kept.values, values)
    assert np.array_equal(kept.indices, np.where(np.isinf(values), -1, wanted))


def test_offers_of_other_shapes_are_refused() -> None:
    kept, products = native.Smallest(4, 2), np.zeros((4, 3), dtype=np.float32)
    for norms, rows in ((2, 4), (4, 4), (3, 3)):
        with pytest.raises(ValueError):
            kept.offer(slice(0, rows), products, np.zeros(norms, dtype=np.float32), slice(0, 3))
    with pytest.raises(TypeError):
        kept.offer(slice(0, 4), products.astype(float), np.zeros(3, dtype=np.float32), slice(0, 3))


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_refinement(size: int, columns: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    points = generator.integers(0, 3, (size, columns)).astype(float)
    candidates = np.argsort(generator.random((size, size)), axis=1)
    count = int(generator.integers(1, size + 1))
    indices, squared = native.refine(points, points, candidates, count, excluded=np.arange(size))
    wanted = cdist(points, points, "sqeuclidean")
    np.fill_diagonal(wanted, np.inf)
    order = np.argsort(wanted, axis=1, kind="stable")[:, :count]
    values = np.take_along_axis(wanted, order, axis=1)
    assert np.array_equal(squared, values)
    assert np.array_equal(indices, np.where(np.isinf(values), -1, order))


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("columns", [1, 7, 33, 784])
def test_refined_distances_are_symmetric_and_exact(columns: int, level: str) -> None:
    usual, points = native.describe(), np.random.default_rng(columns).random((30, columns))
    candidates = np.tile(np.arange(30), (30, 1))
    try:
        choose(level)
        indices, squared = native.refine(points, points, candidates, 30)
    finally:
        choose(usual)
    matrix = np.empty((30, 30))
    np.put_along_axis(matrix, indices, squared, axis=1)
    assert np.array_equal(matrix, matrix.T) and np.all(np.diag(matrix) == 0)
    assert np.allclose(matrix, cdist(points, points, "sqeuclidean"), rtol=1e-13, atol=0)


@pytest.mark.parametrize("columns", [1, 7, 16, 33, 300])
def test_refinement_without_kernels_has_the_same_bits(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(columns)
    points, candidates = generator.random((30, columns)), np.argsort(generator.random((30, 30)), axis=1)[:, :20]
    found = refine(points, points, candidates, 9, np.arange(30))
    monkeypatch.setattr(native, "available", lambda: False)
    assert bits_of(refine(points, points, candidates, 9, np.arange(30))) == bits_of(found)


def test_strips_are_the_kernels_own() -> None:
    assert kernels().STRIP == native.STRIP


def test_missing_candidates() -> None:
    points = np.array([[0.0], [1.0], [5.0]])
    indices, squared = native.refine(points[:1], points, np.array([[-1, 2, 1]]), 3)
    assert indices.tolist() == [[1, 2, -1]] and squared.tolist() == [[1.0, 25.0, np.inf]]


def test_candidates_at_infinite_distance_are_kept_by_index() -> None:
    points = np.array([[0.0], [1.0], [5.0], [2.0]])
    indices, squared = native.refine(np.array([[1e200]]), points, np.array([[3, 0, 2, 1]]), 3)
    assert indices.tolist() == [[0, 1, 2]] and np.isinf(squared).all()


@given(st.integers(1, 300), st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_the_tree_finds_distances_that_sorting_finds(size: int, columns: int, seed: int) -> None:
    """Ties and duplicates included: which of tied points are found may differ, their distances may not."""
    generator = np.random.default_rng(seed)
    points = generator.integers(0, 4, (size, columns)) * generator.choice([1.0, 0.1, 1e6])
    new = np.concatenate([points[:20], generator.normal(size=(20, columns))])
    count = int(generator.integers(1, size + 1))
    indices, last = native.KdTree(points).query(new, count)
    squared = cdist(new, points, "sqeuclidean")
    found = np.sort(np.take_along_axis(squared, indices, axis=1), axis=1)
    assert all(len(set(row)) == count for row in indices.tolist())
    assert np.allclose(found, np.sort(squared, axis=1)[:, :count], rtol=1e-12, atol=0)
    assert np.allclose(last, found[:, -1], rtol=1e-12, atol=0)


def test_the_tree_of_many_equal_points_has_no_deep_recursion() -> None:
    points = np.zeros((200_000, 2))
    indices, last = native.KdTree(points).query(points[:3], 5)
    assert indices.shape == (3, 5) and not last.any()
