"""Products of centered rows in blocks: those of the whole matrix, sparse or dense, by kernels or by SciPy."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mlcli.base.rows.source import Rows, in_unit
from mlcli.base.rows.sparse import SparseRows
from mlcli.core.kernels.row_factor import FactorProducts, TransposedProducts

COUNTS = sparse.random_array((70, 40), density=0.2, format="csr", rng=np.random.default_rng(0))
MEANS = np.linspace(0, 1, 40), np.full(40, 0.25)
CENTERED = 2 * COUNTS.toarray() - MEANS[0] - MEANS[1]


@pytest.fixture(params=["kernels", "scipy", "zeros", "columns"])
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Rows:
    """Rows in blocks of 20, in another unit."""
    monkeypatch.setattr("mlcli.base.rows.sparse.BLOCK", 20 * COUNTS.shape[1])
    monkeypatch.setattr("mlcli.base.rows.sparse.PART", 3 * COUNTS.shape[1])
    if request.param == "scipy":
        monkeypatch.setattr("mlcli.core.kernels.row_factor.multiplies", lambda rows: False)
    if request.param in ("zeros", "columns"):
        monkeypatch.setattr("mlcli.core.kernels.row_factor.entries_of", lambda rows, number: None)
    if request.param == "columns":  # which lie together, as those of Parquet
        parts = Rows.parts
        monkeypatch.setattr(Rows, "parts", lambda rows, number: (
            (first, np.asfortranarray(some)) for first, some in parts(rows, number)))
    return in_unit(Rows(SparseRows(COUNTS)), 1)


def every(source: Any) -> list[Any]:
    assert source.blocks == 4
    return [source.work(number) for number in range(source.blocks)]


@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("count", [2, 9])
def test_scores_and_images_are_those_of_the_whole(count: int, rows: Rows, images: bool) -> None:
    vectors = np.random.default_rng(1).normal(size=(40, count))
    found = every(FactorProducts(rows, MEANS, vectors, images=images))
    scores = np.full((70, count), np.nan)
    for parts, _ in found:
        for first, some in parts:
            scores[first : first + len(some)] = some
    np.testing.assert_allclose(scores, CENTERED @ vectors, atol=1e-12)
    total = sum(image for _, image in found)
    if images:
        np.testing.assert_allclose(total, CENTERED.T @ (CENTERED @ vectors), atol=1e-11)
    else:
        assert total.shape == (0, 0)


def test_vectors_of_rows_are_lowered(rows: Rows) -> None:
    vectors = np.random.default_rng(2).normal(size=(70, 5))
    np.testing.assert_allclose(sum(every(TransposedProducts(rows, MEANS, vectors))), CENTERED.T @ vectors, atol=1e-12)
