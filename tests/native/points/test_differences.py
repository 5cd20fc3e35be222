"""Sums of differences of rows against SciPy, at every instruction set."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli import native
from mlcli.core.metrics.base import differences, squared_at
from mlcli.native.library import kernels
from mlcli.native.points import AMOUNTS, KINDS
from tests.native.library.bits import bits_of
from tests.native.support import choose, levels, needs_native

pytestmark = needs_native


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 5), (4, 8, 255), (5, 9, 256), (129, 17, 7), (130, 3, 600),
                                   (2, 2, 0)])
def test_sums_are_those_of_scipy(kind: str, shape: tuple[int, int, int], level: str) -> None:
    rows, others, columns = shape
    generator = np.random.default_rng(columns)
    left, right = (generator.random((size, columns)) * (generator.random((size, columns)) < 0.7)
                   for size in (rows, others))
    usual = native.describe()
    try:
        choose(level)
        found = native.differences(kind, left, right)
        again = native.differences(kind, right, left)
        alone = native.differences(kind, left[-1:], right)
        same = native.differences(kind, left, left)
    finally:
        choose(usual)
    assert found.tobytes() == again.T.copy().tobytes()
    assert found[-1:].tobytes() == alone.tobytes()
    assert not np.diag(same).any()
    if columns > 1:
        bray = cdist(left, right, "braycurtis")
        expected = 2 * bray / (1 + bray) if kind == "ruzicka" else cdist(left, right, kind)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("columns", [0, 1, 7, 255, 256, 600])
def test_sums_have_the_bits_of_numpy(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(columns)
    left, right = (generator.random((size, columns)) * (generator.random((size, columns)) < 0.7) for size in (9, 13))
    chosen = generator.integers(0, 13, (9, 4))
    found = [differences(kind, left, right) for kind in KINDS], squared_at(left, right, chosen)
    monkeypatch.setattr(native, "available", lambda: False)
    assert bits_of(found) == bits_of(([differences(kind, left, right) for kind in KINDS],
                                      squared_at(left, right, chosen)))


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("columns", [1, 5, 300])
def test_some_pairs_have_the_bits_of_all(columns: int, level: str) -> None:
    generator = np.random.default_rng(columns)
    rows, points = generator.random((9, columns)), generator.random((21, columns))
    chosen = generator.integers(0, 21, (9, 13))
    usual = native.describe()
    try:
        choose(level)
        found, every = native.squared_at(rows, points, chosen), native.differences("sqeuclidean", rows, points)
    finally:
        choose(usual)
    assert found.tobytes() == np.take_along_axis(every, chosen, axis=1).tobytes()


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("kind", AMOUNTS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 5), (4, 33, 127), (5, 9, 128), (300, 17, 7), (130, 40, 600)])
def test_distances_of_amounts_are_those_of_differences(kind: str, shape: tuple[int, int, int], level: str) -> None:
    rows, others, columns = shape
    generator = np.random.default_rng(columns)
    left, right = (generator.random((size, columns)) * (generator.random((size, columns)) < 0.3)
                   for size in (rows, others))
    left[:, 0] += 0.1
    usual = native.describe()
    try:
        choose(level)
        found, again = native.amount_distances(kind, left, right), native.amount_distances(kind, right, left)
        alone = native.amount_distances(kind, left[-1:], right)
        same = native.amount_distances(kind, left, left)
    finally:
        choose(usual)
    assert found.tobytes() == again.T.copy().tobytes()
    assert found[-1:].tobytes() == alone.tobytes()
    assert not np.diag(same).any()
    np.testing.assert_allclose(found, native.differences(kind, left, right), rtol=0, atol=1e-14)


def test_points_that_are_not_there_are_refused() -> None:
    rows, points = np.zeros((2, 3)), np.zeros((4, 3))
    for chosen in (np.array([[0], [4]]), np.array([[-1], [0]]), np.array([[0]])):
        with pytest.raises(ValueError, match=r"not there|every row"):
            native.squared_at(rows, points, chosen)
    with pytest.raises(ValueError, match="wide"):
        native.squared_at(rows[:, :2], points, np.zeros((2, 1), dtype=np.int64))


def test_shapes_that_do_not_belong_together_are_refused() -> None:
    left, right, out = np.zeros((2, 3)), np.zeros((4, 3)), np.zeros((2, 4))
    kernels().differences(0, left, right, out)
    for kind, first, second, third in ((-1, left, right, out), (len(KINDS), left, right, out),
                                       (0, left[:, :2].copy(), right, out), (0, left, right, out.T.copy()),
                                       (0, left, right, np.zeros((2, 5)))):
        with pytest.raises(ValueError, match=r"kind|wide|pair"):
            kernels().differences(kind, first, second, third)
    with pytest.raises(TypeError):
        kernels().differences(0, left.astype(np.float32), right, out)
