"""The median squared distance is that of all pairs of different points, whatever the data and the threads."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.base.values.scaling import Unit
from mlcli.core.kernels import median as module
from mlcli.core.kernels.functions import Gaussian
from mlcli.core.kernels.median import FEW, median_squared_distance
from tests import support

RANDOM = np.random.default_rng(11)
POINTS = RANDOM.standard_normal((FEW + 500, 20))
HALVES = np.repeat([[0.0], [50.0]], [FEW // 2, FEW // 2 + 1], axis=0)
DATA = {"few": POINTS[:FEW], "one more": POINTS[: FEW + 1], "many": POINTS, "far away": POINTS + 1e6,
        "whole numbers": np.round(POINTS[:, :5]), "tenths": np.round(POINTS[:, :3], 1), "bits": np.sign(POINTS),
        "duplicates": np.repeat(POINTS[:30], 50, axis=0), "mostly one point": POINTS * (np.arange(1500) < 9)[:, None],
        "an outlier": np.vstack([POINTS, 1e7 * POINTS[:1]]), "two clusters": POINTS[: FEW + 1] / 1000 + HALVES,
        "heavy tails": RANDOM.standard_cauchy((FEW + 300, 10)), "one column": POINTS[:, :1]}


def median(points: Array) -> float:
    """Of all pairs at once, those of equal points left out."""
    squared = pdist(points, "sqeuclidean")
    return float(np.median(squared[squared > 0]))


@pytest.mark.parametrize("name", DATA)
def test_it_is_the_median_of_all_pairs(name: str) -> None:
    points = DATA[name] - DATA[name].mean(axis=0)
    found = []
    for threads in (1, 3):
        with limit_threads(threads):
            found.append(median_squared_distance(points))
    assert found[0] == found[1] == pytest.approx(median(points), rel=1e-13)


@pytest.mark.parametrize("size", [FEW, FEW + 1])
def test_of_points_all_alike_there_is_none(size: int) -> None:
    assert median_squared_distance(np.ones((size, 2))) == 0.0


@pytest.mark.medium
def test_a_wrong_guess_of_where_it_lies_costs_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    points = POINTS[: FEW + 100, :5]
    expected = median(points)
    for low, high in ((0.0, 1e-3), (2 * expected, 2.001 * expected), (expected * 0.999, expected * 0.999)):
        monkeypatch.setattr(module, "_about", lambda points, rank, ends=(low, high): ends)
        assert median_squared_distance(points) == pytest.approx(expected, rel=1e-13)


def test_the_default_rate_of_kernel_pca_is_one_over_it() -> None:
    """In any order of the rows; a seed has no part in it."""
    found = []
    for points in (POINTS, POINTS[::-1].copy()):
        with support.Notes() as notes:
            Gaussian().for_points(points, Unit())
        found.append(next(note.facts["rate"] for note in notes.notes if note.code == "N-RATE"))
    assert found == pytest.approx([1 / median(POINTS)] * 2, rel=1e-13)
