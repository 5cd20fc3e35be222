"""Quantiles are those of NumPy, to the last bit."""

import numpy as np
import pytest

from mlcli.base.values.quantiles import quantiles


@pytest.mark.parametrize("count", [1, 2, 20, 37, 100, 1000])
def test_quantiles_are_those_of_numpy(count: int) -> None:
    values = np.random.default_rng(count).standard_normal((count, 3))
    values[count // 2, 2] = np.nan
    shares = [0.02, 0.3, 0.5, 0.95, 0.98, 1.0]
    assert np.array_equal(quantiles(values, shares), np.quantile(values, shares, axis=0), equal_nan=True)


def test_quantiles_of_one_column_of_whole_numbers_are_those_of_numpy() -> None:
    counts = np.random.default_rng(0).integers(0, 50, 1001)
    assert np.array_equal(quantiles(counts, [0.37, 0.98]), np.quantile(counts, [0.37, 0.98]))
