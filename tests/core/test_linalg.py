"""QR of tall blocks."""

import numpy as np
import pytest

from mlcli.base.machine.threads import limit_threads
from mlcli.core.linalg import tall_qr


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rows", [5, 300, 60_000])
def test_a_tall_block_is_the_product_of_an_orthonormal_one_and_a_triangle(rows: int, order: str) -> None:
    block = np.asarray(np.random.default_rng(rows).standard_normal((rows, 5)), order=order)  # type: ignore[call-overload]
    with limit_threads(1):
        alone, _ = tall_qr(block)
    with limit_threads(3):
        orthonormal, triangle = tall_qr(block)
    assert np.array_equal(alone, orthonormal)
    assert orthonormal.flags.c_contiguous, "kernels take a block by rows"
    assert np.abs(orthonormal.T @ orthonormal - np.eye(5)).max() < 1e-14 and np.array_equal(triangle, np.triu(triangle))
    assert np.abs(orthonormal @ triangle - block).max() < 1e-13 * np.abs(block).max() * 10
