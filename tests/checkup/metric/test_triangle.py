"""Triangle violations are those of a count over all triples, one by one."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.checkup.metric import SLACK, violations


def one_by_one(distances: np.ndarray) -> tuple[int, int]:
    """Violations and triples with three known sides, by the definition."""
    slack = SLACK * np.nanmax(np.abs(distances))
    broken = known = 0
    for i, j, k in combinations(range(len(distances)), 3):
        sides = sorted((distances[i, j], distances[j, k], distances[i, k]))
        if np.isfinite(sides).all():
            known += 1
            broken += sides[2] > sides[0] + sides[1] + slack
    return broken, known


def symmetric(values: np.ndarray) -> np.ndarray:
    whole = np.triu(values, 1)
    return whole + whole.T


def cases() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((23, 3))
    distances, noise = cdist(points, points), symmetric(rng.random((23, 23)))
    line = np.arange(12.0)[:, None]
    missing, negative = noise.copy(), symmetric(rng.normal(1.0, 0.5, (17, 17)))
    for i, j in ((0, 3), (4, 9), (3, 4)):
        missing[i, j] = missing[j, i] = np.nan
    return {"distances": distances, "squares": distances**2, "noise": noise, "missing": missing,
            "negative": negative, "on a line": cdist(line, line), "all equal": np.ones((9, 9)) - np.eye(9),
            "zero": np.zeros((5, 5)), "two points": np.array([[0, 1.0], [1, 0]]), "one point": np.zeros((1, 1)),
            "ultrametric broken": np.array([[0, 1, 5.0], [1, 0, 1], [5, 1, 0]])}


@pytest.mark.parametrize("name", list(cases()))
@pytest.mark.parametrize("compiled", [True, False])
def test_the_count_is_that_of_the_definition(name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(native, "available", lambda: False)
    distances = cases()[name]
    found = violations(distances)
    assert (found.violations, found.triples) == one_by_one(distances)


def test_the_worst_side_is_the_one_that_exceeds_most() -> None:
    distances = cases()["noise"]
    ways = (distances[:, None, :] + distances[None, :, :])
    ways[np.arange(23), :, np.arange(23)] = np.inf
    ways[:, np.arange(23), np.arange(23)] = np.inf
    excess = distances - ways.min(axis=2)
    found = violations(distances)
    assert found.excess[0] == excess.max()
    assert (np.diff(found.excess) <= 0).all()
    for left, right, between, by in zip(found.left, found.right, found.between, found.excess, strict=True):
        assert by == distances[left, right] - (distances[left, between] + distances[right, between])


def test_the_largest_excess_added_mends_all() -> None:
    distances = cases()["noise"]
    mended = distances + violations(distances).excess[0] * (1 - np.eye(23))
    assert violations(mended).violations == 0


def test_threads_change_nothing() -> None:
    distances = cases()["squares"]
    with limit_threads(1):
        one = violations(distances)
    with limit_threads(2):
        two = violations(distances)
    assert (one.violations, one.excess.tolist(), one.left.tolist()) == (two.violations, two.excess.tolist(),
                                                                        two.left.tolist())
