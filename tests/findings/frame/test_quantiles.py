"""Quantiles are those of NumPy, to the last bit."""

import numpy as np
import pytest

from mlcli.findings.frame.quantiles import quantiles


@pytest.mark.parametrize("count", [1, 2, 20, 37, 100, 1000])
def test_quantiles_are_those_of_numpy(count: int) -> None:
    values = np.random.default_rng(count).standard_normal((count, 3))
    values[count // 2, 2] = np.nan
    shares = [0.02, 0.3, 0.5, 0.95, 0.98, 1.0]
    assert np.array_equal(quantiles(values, shares), np.quantile(values, shares, axis=0), equal_nan=True)
