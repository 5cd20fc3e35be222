"""Squared distances: exact where points are equal, the same either way round, whatever the shape."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.values.sample_size import FEW_COLUMNS
from mlcli.core.euclidean_distances import CACHED, pair_distances, squared_distances, squared_distances_in_order
from tests.processes import python

SHAPES = [(0, 5), (1, 1), (7, 300), (300, 7), (2, CACHED + 3), (CACHED // 4, 6)]


@pytest.mark.parametrize("columns", [1, 3, FEW_COLUMNS, FEW_COLUMNS + 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_they_are_those_of_the_definition(shape: tuple[int, int], columns: int) -> None:
    generator = np.random.default_rng(columns)
    left, right = (generator.normal(size=(size, columns)) for size in shape)
    np.testing.assert_allclose(squared_distances(left, right), cdist(left, right, "sqeuclidean"), rtol=1e-12)


@pytest.mark.parametrize("columns", [2, FEW_COLUMNS])
def test_they_are_symmetric_and_zero_between_equals(columns: int) -> None:
    points = np.random.default_rng(0).normal(size=(200, columns)) + 1e6
    points[100:] = points[:100]
    squared = squared_distances(points, points)
    rows, others = np.triu_indices(200)
    assert np.array_equal(squared, squared.T)
    assert np.array_equal(squared[rows, others] == 0, (points[rows] == points[others]).all(axis=1))
    np.testing.assert_allclose(squared[rows, others], pair_distances(points, points, rows, others), rtol=1e-14)


@pytest.mark.parametrize("columns", [3, 40, 300])
def test_in_order_they_are_symmetric_exact_for_equals_and_the_same_for_some_rows(columns: int) -> None:
    points = np.random.default_rng(1).normal(size=(150, columns)) + 100
    points[100:] = points[:50]
    squared = squared_distances_in_order(points, points)
    np.testing.assert_allclose(squared, cdist(points, points, "sqeuclidean"), rtol=1e-11)
    assert np.array_equal(squared, squared.T)
    assert not np.diagonal(squared).any() and not np.diagonal(squared[:50, 100:]).any()
    assert np.array_equal(squared_distances_in_order(points[7:20], points), squared[7:20])


def test_few_columns_need_no_scipy() -> None:
    code = ("import sys; import numpy as np; from mlcli.core.euclidean_distances import squared_distances\n"
            "squared_distances(np.eye(9), np.eye(9)); print('scipy' in sys.modules)")
    assert python(code) == "False\n"
