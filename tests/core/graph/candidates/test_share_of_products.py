"""The share of products that a search is predicted to take, from samples."""

import numpy as np
import pytest

from mlcli import native
from mlcli.core.graph.candidates import SPARE, taken_products
from mlcli.core.graph.search import share_of_products
from mlcli.core.metrics import EUCLIDEAN

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels")


@pytest.mark.medium
def test_the_share_of_a_surface_is_predicted_within_a_factor_of_two() -> None:
    random = np.random.default_rng(0)
    plane = random.random((60_000, 2))
    points = np.cos(3 * plane @ random.standard_normal((2, 20)))
    found = share_of_products(EUCLIDEAN, points, 15) / taken_products(points, 15 + SPARE + 1)
    assert 0.5 < found < 2


@pytest.mark.medium
def test_nothing_is_skipped_without_structure() -> None:
    points = np.random.default_rng(0).standard_normal((30_000, 40))
    assert share_of_products(EUCLIDEAN, points, 15) > 0.9


def test_products_of_bytes_are_all_taken() -> None:
    points = np.random.default_rng(0).integers(0, 3, (9_000, 16)).astype(np.float64)
    assert share_of_products(EUCLIDEAN, points, 15) == 1.0 or not native.has_byte_products()
