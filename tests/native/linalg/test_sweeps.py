"""Sweeps over the weights of parts in sparse rows against NumPy's, at every instruction set."""

import numpy as np
import pytest

from mlcli import native
from mlcli.methods.parts.nonnegative import NonzeroEntries, hals_sweep
from mlcli.native.linalg import sweep_rows
from tests.native.support import choose, levels, needs_native

pytestmark = needs_native


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize(("rows", "columns", "count"), [(1, 1, 1), (7, 5, 3), (8, 9, 8), (41, 30, 16), (20, 12, 25),
                                                        (16, 10, 57)])
def test_sweeps_are_those_of_numpy(rows: int, columns: int, count: int, level: str) -> None:
    generator = np.random.default_rng(count)
    points = generator.random((rows, columns)) * (generator.random((rows, columns)) < 0.3)
    parts, weights = generator.random((count, columns)), generator.random((count, rows))
    parts[0] = 0.0 if count > 1 else parts[0]  # a part of zeros leaves its weights as they are
    gram = parts @ parts.T
    entries = NonzeroEntries.of(points)
    assert entries is not None
    expected, found, usual = weights.copy(), weights.copy(), native.describe()
    hals_sweep(expected, gram, parts @ points.T, 3)
    try:
        choose(level)
        products = entries.improve(slice(0, rows), found, parts, gram, 3)
    finally:
        choose(usual)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert (found == 0).any() or count < 16
    assert np.allclose(products, found @ points, rtol=1e-12, atol=1e-12)


def test_rows_of_a_block_have_the_bits_that_they_have_alone() -> None:
    generator = np.random.default_rng(3)
    points = generator.random((30, 8)) * (generator.random((30, 8)) < 0.3)
    parts, weights = generator.random((4, 8)), generator.random((4, 30))
    entries, gram, some = NonzeroEntries.of(points), parts @ parts.T, weights[:, 5:9].copy()
    assert entries is not None
    entries.improve(slice(0, 30), weights, parts, gram, 2)
    entries.improve(slice(5, 9), some, parts, gram, 2)
    assert np.array_equal(weights[:, 5:9], some)


def test_entries_that_are_not_there_are_refused() -> None:
    starts, columns, values = np.array([0, 2, 3]), np.array([0, 4, 1], dtype=np.int32), np.ones(3)
    parts, gram, weights = np.ones((5, 2)), np.ones((2, 2)), np.ones((2, 2))
    sweep_rows((starts, columns, values), parts, gram, 1, weights)
    for wrong in ((starts, columns + np.int32(1), values), (starts, columns - np.int32(1), values),
                  (starts + 1, columns, values), (starts - 1, columns, values), (starts[:2], columns, values),
                  (np.array([0, 3, 2]), columns, values), (starts, columns[:2], values)):
        with pytest.raises(ValueError, match=r"out of range|descend|must have"):
            sweep_rows(wrong, parts, gram, 1, weights)
