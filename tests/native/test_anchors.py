"""Sums over pairs, and counts of nearer points: those of NumPy, at every instruction set."""

import numpy as np
import pytest

from mlcli import native
from tests.native.support import at_level, levels, needs_native

pytestmark = needs_native
level = pytest.fixture(params=levels(), autouse=True)(at_level)


@pytest.mark.parametrize("size", [1, 7, 8, 1023, 1024, 3001])
def test_sums_over_pairs_are_those_of_numpy(size: int) -> None:
    generator = np.random.default_rng(size)
    delta, d = generator.random((3, size)), generator.random((3, size))
    delta[:, :: 5] = 0
    sums, off = native.pair_sums(delta**2, d**2, 2.0), delta - 2 * d
    inverse = np.divide(1, delta, out=np.zeros_like(delta), where=delta > 0)
    wanted = {"delta": delta, "d": 2 * d, "delta²": delta**2, "d²": 4 * d**2, "delta d": 2 * delta * d, "off²": off**2,
              "d²/delta": 4 * d**2 * inverse, "off²/delta": off**2 * inverse}
    assert sums.keys() == wanted.keys()
    for name, terms in wanted.items():
        assert np.allclose(sums[name], terms.sum(axis=1), rtol=1e-13, atol=1e-13), name


@pytest.mark.parametrize("size", [1, 9, 1024, 2500])
def test_keys_before_others_are_counted_by_step_and_point(size: int) -> None:
    """Keys of one step, or of steps beside each other, are in the order of the points."""
    generator, bits = np.random.default_rng(size), 12
    points = np.arange(size)
    keys = np.stack([generator.integers(0, most, size) << bits | generator.permutation(points)
                     for most in (3, size, 50 * size)])
    wanted = keys[:, generator.integers(0, size, 6)]
    found = native.keys_before(keys, wanted, bits)
    for own, some, counts in zip(keys, wanted, found, strict=True):
        for key, count in zip(some, counts, strict=True):
            apart, earlier = (own >> bits) - (key >> bits), (own & (1 << bits) - 1) < (key & (1 << bits) - 1)
            assert count == np.count_nonzero((apart < -1) | ((np.abs(apart) <= 1) & earlier))


def test_pairs_that_do_not_fit_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="the same pairs"):
        native.pair_sums(np.zeros((2, 3)), np.zeros((2, 4)), 1.0)
    with pytest.raises(ValueError, match="for every anchor"):
        native.keys_before(np.zeros((2, 3), np.int64), np.zeros((1, 3), np.int64), 2)
