"""Ways around pairs against trying every third point."""

import numpy as np
import pytest

from mlcli import native
from mlcli.checkup.metric import undercuts
from tests.native.support import choose, levels, needs_native

pytestmark = needs_native


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("size", [3, 8, 63, 64, 65, 200])
def test_ways_around_are_those_of_numpy(size: int, level: str) -> None:
    generator = np.random.default_rng(size)
    lengths = generator.integers(1, 30, (size, size)).astype(float)  # with ties, of which no way is shorter
    lengths = np.minimum(lengths, lengths.T)
    lengths[generator.random((size, size)) < 0.1] = np.inf
    np.fill_diagonal(lengths, 0.0)
    lengths = np.maximum(lengths, lengths.T)
    first, rows = size // 3, min(5, size - size // 3)
    wanted = (generator.random((rows, size)) < 0.6) & np.isfinite(lengths[first:first + rows])
    usual = native.describe()
    try:
        choose(level)
        counts, least = native.undercuts(lengths, first, wanted, 0.5)
    finally:
        choose(usual)
    expected = undercuts(lengths, first, wanted, 0.5)
    assert counts.tolist() == expected[0].tolist() and np.array_equal(least, expected[1])
    assert counts.sum() > 0 or size == 3


def test_shapes_that_do_not_belong_together_are_refused() -> None:
    square, wanted = np.zeros((4, 4)), np.ones((2, 4), dtype=bool)
    for lengths, first, chosen in ((square, 3, wanted), (square, -1, wanted), (square[:, :3].copy(), 0, wanted),
                                   (square, 0, np.ones((2, 5), dtype=bool))):
        with pytest.raises(ValueError, match=r"must be|out of range"):
            native.undercuts(lengths, first, chosen, 0.0)
