"""Sums over pairs for a step of majorization, against NumPy's at every instruction set."""


import numpy as np
import pytest

from mlcli.native.layouts import stress_rows, turn_sources
from tests.native.support import at_level, levels, needs_native

pytestmark = needs_native
level = pytest.fixture(params=levels(), autouse=True)(at_level)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("size", "axes"), [(1, 2), (9, 1), (64, 2), (141, 2), (70, 3), (23, 18)])
def test_sums_are_those_of_the_formula(size: int, axes: int, weighted: bool) -> None:
    generator = np.random.default_rng(size)
    points, lengths, weights = (generator.normal(size=(size, axes)), *generator.random((2, size, size)))
    points[size // 2] = points[0]
    gaps = points[:, None] - points[None]
    distances = np.linalg.norm(gaps, axis=2)
    ratios = np.divide(lengths, distances, out=np.zeros_like(lengths), where=distances > 0)
    factors = weights if weighted else np.ones_like(weights)
    some = slice(size // 3, size)
    pulled, spread, sums = stress_rows(points, turn_sources(points), lengths=lengths,
                                       weights=weights if weighted else None, rows=some)
    assert np.allclose(pulled, np.einsum("ij,ijk->ik", factors * ratios, gaps)[some], rtol=1e-12, atol=1e-12)
    if weighted:
        assert np.allclose(spread, np.einsum("ij,ijk->ik", factors, gaps)[some], rtol=1e-12, atol=1e-12)
    expected = [factors * (lengths - distances) ** 2, factors * lengths * distances, factors * distances**2]
    assert np.allclose(sums, np.stack([values.sum(axis=1) for values in expected], axis=1)[some], rtol=1e-12)


def test_rows_of_a_block_have_the_bits_that_they_have_alone() -> None:
    generator = np.random.default_rng(3)
    points, (lengths, weights) = generator.normal(size=(150, 2)), generator.random((2, 150, 150))
    whole, some = (stress_rows(points, turn_sources(points), lengths=lengths, weights=weights, rows=rows)
                   for rows in (slice(0, 150), slice(40, 71)))
    assert all(np.array_equal(left[40:71], right) for left, right in zip(whole, some, strict=True))


def test_rows_and_pairs_that_are_not_there_are_refused() -> None:
    points, lengths = np.zeros((4, 2)), np.zeros((4, 4))
    with pytest.raises(ValueError, match="rows are out of range"):
        stress_rows(points, turn_sources(points), lengths=lengths, weights=None, rows=slice(2, 5))
    with pytest.raises(ValueError, match="room behind them"):
        stress_rows(points, np.zeros((2, 4)), lengths=lengths, weights=None, rows=slice(0, 4))
    with pytest.raises(ValueError, match="a length for every pair"):
        stress_rows(points, turn_sources(points), lengths=lengths[:3], weights=None, rows=slice(0, 4))
    with pytest.raises(ValueError, match="a weight for every pair"):
        stress_rows(points, turn_sources(points), lengths=lengths, weights=lengths[:3], rows=slice(0, 4))
