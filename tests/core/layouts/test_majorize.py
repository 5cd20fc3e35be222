"""Steps of majorization: V⁺ of weighted pairs, and the sums of NumPy beside those of the kernel."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.core.layouts.majorize import laplacian_solver, sums_of_rows
from mlcli.core.layouts.pairs import Pairs
from mlcli.native.layouts import stress_rows, turn_sources
from tests.native.support import needs_native

RANDOM = np.random.default_rng(7)
POINTS = RANDOM.standard_normal((150, 3))
LENGTHS = cdist(POINTS, POINTS)


@pytest.mark.parametrize("power", [0.0, -1.0, -2.0, 1.5])
def test_the_inverse_of_the_laplacian_gives_back_centered_columns(power: float) -> None:
    pairs = Pairs.of(LENGTHS, power, [""] * 150)
    laplacian = np.diag(pairs.table.sum(axis=1)) - pairs.table
    columns = POINTS - POINTS.mean(axis=0)
    found = laplacian_solver(pairs)(columns)
    assert np.allclose(laplacian @ found, columns, rtol=0, atol=1e-12) and np.abs(found.mean(axis=0)).max() < 1e-14


@needs_native
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("size", "axes"), [(1, 2), (9, 1), (64, 2), (141, 2), (70, 3), (23, 18)])
def test_numpy_sums_pairs_in_the_order_of_the_kernel(size: int, axes: int, weighted: bool) -> None:
    points, (lengths, shares) = RANDOM.standard_normal((size, axes)), RANDOM.random((2, size, size))
    points[size // 2] = points[0]
    weights, rows = shares if weighted else None, slice(size // 3, size)
    kernel = stress_rows(points, turn_sources(points), lengths=lengths, weights=weights, rows=rows)
    own = sums_of_rows(points[rows], points, lengths=lengths[rows], weights=None if weights is None else weights[rows])
    assert all(np.array_equal(one, other) for one, other in zip(kernel, own, strict=True))
