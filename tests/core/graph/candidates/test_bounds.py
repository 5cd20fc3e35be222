"""Bounds of the distances to points that are not candidates, from products in single precision."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.types import Array, Indices
from mlcli.core.euclidean_distances import rounding_of_products
from mlcli.core.graph import search
from mlcli.core.graph.candidates import bounds
from mlcli.core.graph.search import nearest


@pytest.mark.parametrize("far", [1.0, 1e2, 1e4])
def test_no_other_point_is_nearer_than_the_bound(far: float) -> None:
    random = np.random.default_rng(0)
    points = random.standard_normal((200, 20))
    points[::17] *= far
    single = points.astype(np.float32)
    norms = np.einsum("ij,ij->i", single, single)
    numbers = np.sort(norms - 2 * single @ single.T, axis=1)
    squared = np.sort(np.square(points[:, None] - points).sum(axis=2), axis=1)
    rounding = rounding_of_products(20, np.float32)
    for kept in (1, 10, 100):
        least = bounds(numbers[:, kept - 1], norms, float(norms.max()), rounding)
        assert (least <= squared[:, kept]).all()
        near = np.setdiff1d(np.arange(200), np.arange(0, 200, 17))
        assert (least[near] > squared[near, kept - 1] - 1e-3 * (1 + squared[near, kept - 1])).all()


def test_a_few_points_far_out_do_not_make_the_others_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(1).standard_normal((2000, 30))
    points[:5] *= 1e4
    unsure = list[int]()
    finer = search.finer_candidates

    def count(new: Array, points: Array, count: int, excluded: Indices | None) -> tuple[Indices, Array]:
        unsure.append(len(new))
        return finer(new, points, count, excluded)

    monkeypatch.setattr(search, "finer_candidates", count)
    found = nearest(points, 7)
    squared = cdist(points, points, "sqeuclidean")
    np.fill_diagonal(squared, np.inf)
    assert np.array_equal(found.indices.reshape(-1, 7), np.argsort(squared, axis=1, kind="stable")[:, :7])
    assert sum(unsure) <= 5
