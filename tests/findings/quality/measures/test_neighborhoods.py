"""Points at equal distances are ranked in the order of the table: against whole numbers, which have no rounding."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array, Indices
from mlcli.findings.quality.measures import DistanceOrder
from tests.findings.quality.support import measured

RANDOM = np.random.default_rng(17)
IRIS = np.loadtxt(Path(__file__).parents[3] / "tables/data/iris4.csv", delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))


def digits(rows: int, columns: int) -> Array:
    """Whole numbers from 0 to 16, most of them small: with few columns many distances are equal."""
    return np.floor(17 * RANDOM.random((rows, columns)) ** 3)


def by_distance(whole: Array) -> Indices:
    """The other points of each point by (squared distance, number), in 64-bit integers (n x n - 1)."""
    points = np.rint(whole).astype(np.int64)
    products = points @ points.T
    squared = np.diag(products)[:, None] + np.diag(products) - 2 * products
    np.fill_diagonal(squared, -1)
    return np.argsort(squared, axis=1, kind="stable")[:, 1:]


def expected(source: Indices, embedded: Indices, k: int) -> tuple[float, float, float]:
    """Trustworthiness, continuity and LCMC by their definitions."""
    size = len(source)
    ranks, other = np.zeros((2, size, size), dtype=np.int64)
    np.put_along_axis(ranks, source, np.arange(1, size)[None, :], axis=1)
    np.put_along_axis(other, embedded, np.arange(1, size)[None, :], axis=1)
    intruders = int(np.maximum(np.take_along_axis(ranks, embedded[:, :k], axis=1) - k, 0).sum())
    lost = int(np.maximum(np.take_along_axis(other, source[:, :k], axis=1) - k, 0).sum())
    shared = int((np.take_along_axis(ranks, embedded[:, :k], axis=1) <= k).sum())
    scale = 2 / (size * k * (2 * size - 3 * k - 1))
    return 1 - scale * intruders, 1 - scale * lost, shared / (size * k) - k / (size - 1)


DATA = {"whole numbers": (digits(400, 6), 1.0), "many columns": (digits(400, 64), 1.0), "iris": (10 * IRIS, 0.1),
        "decimals of many columns": (digits(400, 40), 0.01), "far away": (digits(400, 64) + 1e6, 1.0),
        "above the limit": (digits(2100, 40), 0.1)}


@pytest.mark.medium
@pytest.mark.parametrize("name", DATA)
def test_neighborhoods_are_those_of_whole_numbers(name: str) -> None:
    """Of decimals as well, whose squared distances are equal but for rounding; 5 neighbors, as few as have ties."""
    whole, unit = DATA[name]
    found = measured(whole * unit, whole[:, :3] * unit, neighbors=5, sample=len(whole))
    names = ("trustworthiness", "continuity", "lcmc")
    oracle = expected(by_distance(whole), by_distance(whole[:, :3]), 5)
    assert tuple(found[name] for name in names) == pytest.approx(oracle, abs=1e-13)


@pytest.mark.parametrize("size", [122, 500, 17_000])
def test_equal_but_for_rounding_is_equal(size: int) -> None:
    """Half of the distances are one unit in the last place too small; also where only the nearest are sorted."""
    whole, rows = RANDOM.integers(1, 400, (8, size)), np.arange(8)
    squared = np.where(RANDOM.random(whole.shape) < 0.5, np.nextafter(whole, 0.0), whole)
    whole[rows, rows] = 1000
    right = np.argsort(whole, axis=1, kind="stable")
    order = DistanceOrder.of(squared, rows, 120)
    assert np.array_equal(order.nearest(120), right[:, :120])
    named = right[:, [0, 3, 119, size // 2, size - 2]]
    assert order.ranks(named, exact=5).tolist() == [[1, 4, 120, size // 2 + 1, size - 1]] * 8


def test_the_nearest_label_is_that_of_the_first_of_equals() -> None:
    """The point at 0.3 lies between 0.1 and 0.5, which rounding puts at different distances; the first is nearest."""
    line = np.array([[0.1], [0.3], [0.5], [-5.0], [-5.1], [9.0], [9.1]])
    assert (0.3 - 0.1) ** 2 < (0.5 - 0.3) ** 2
    names = ["a", "a", "b", "c", "c", "c", "c"]
    errors = [measured(line[order], line[order], labels={"class": [names[i] for i in order]})["label_1nn_error"]
              for order in ([0, 1, 2, 3, 4, 5, 6], [2, 1, 0, 3, 4, 5, 6])]
    assert errors == [pytest.approx(1 / 7), pytest.approx(2 / 7)]
