"""Points in bytes: whole multiples of a power of two, whose neighbors are those of other searches."""

import numpy as np
import pytest

from mlcli import native
from mlcli.base.types import Array
from mlcli.core.graph.candidates import Bytes
from mlcli.core.graph.search import nearest

pytestmark = pytest.mark.skipif(not native.has_byte_products(), reason="no products of bytes on this machine")


def images(rows: int = 300, columns: int = 50, top: int = 256) -> Array:
    """Whole numbers below `top`, many of them 0."""
    random = np.random.default_rng(rows + columns)
    return (random.integers(0, top, (rows, columns)) * (random.random((rows, columns)) < 0.4)).astype(np.float64)


def exact(points: Array, count: int) -> tuple[Array, Array]:
    """The nearest of each row by (squared distance, index), from all differences."""
    squared = np.square(points[:, None] - points[None]).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    order = np.lexsort((np.broadcast_to(np.arange(len(points)), squared.shape), squared))[:, :count]
    return order, np.sqrt(np.take_along_axis(squared, order, axis=1))


@pytest.mark.parametrize(("factor", "shift"), [(1.0, 0.0), (2.0**-40, 0.0), (2.0**300, 0.0), (0.25, -7.5), (1.0, 1e15)])
def test_neighbors_of_whole_multiples_are_exact(factor: float, shift: float) -> None:
    points = images() * factor + shift
    assert Bytes.of(points) is not None
    lists = nearest(points, 7)
    order, lengths = exact(points, 7)
    assert np.array_equal(lists.indices.reshape(-1, 7), order)
    assert np.allclose(lists.lengths.reshape(-1, 7), lengths, rtol=1e-14, atol=0)


@pytest.mark.parametrize("columns", [16, 17, 18, 19, 64, 784])
@pytest.mark.parametrize("rows", [40, 129])
def test_products_are_those_of_whole_numbers(rows: int, columns: int) -> None:
    points = images(rows, columns)
    points[0], points[1] = 255.0, 0.0  # the largest products, and none
    quick = Bytes.of(points)
    assert quick is not None
    found = quick.products(slice(3, rows), slice(0, rows - 1))
    assert np.array_equal(found, (points[3:] @ points[:-1].T).astype(np.float32))
    assert np.array_equal(quick.norms, np.square(points).sum(axis=1).astype(np.float32))


def test_equal_points_and_ties_are_in_the_order_of_their_indices() -> None:
    points = np.repeat(images(40, 20, 3), 5, axis=0)
    assert np.array_equal(nearest(points, 9).indices.reshape(-1, 9), exact(points, 9)[0])


@pytest.mark.parametrize("points", [images() / 10, images(top=1000), images() + 1e-9 * np.arange(300)[:, None]],
                         ids=["tenths", "more than a byte", "not whole"])
def test_other_numbers_are_in_single_precision(points: Array) -> None:
    assert Bytes.of(points) is None


def test_one_number_that_is_not_whole_is_seen_in_any_block() -> None:
    points = images(6000, 60)
    assert Bytes.of(points) is not None
    points[-1, -1] = 0.5 + 2.0**-20
    assert Bytes.of(points) is None


def test_points_that_are_all_equal_have_neighbors() -> None:
    assert np.array_equal(nearest(np.full((30, 20), 3.0), 2).lengths, np.zeros(60))
