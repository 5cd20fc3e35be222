"""Products and sums of sparse rows are those of the dense matrix."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcli.base.types import Array
from mlcli.core import sparse_factors
from mlcli.core.sparse_factors import CompressedRows


def rows_of(dense: Array) -> CompressedRows:
    rows, columns = np.nonzero(dense)
    return CompressedRows(np.searchsorted(rows, np.arange(len(dense) + 1)), columns, dense[rows, columns],
                          dense.shape[1])


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(0, 12), columns=st.integers(1, 9), width=st.integers(1, 4),
       share=st.sampled_from([0.0, 0.3, 1.0]), seed=st.integers(0, 10**6))
def test_the_dense_matrix(rows: int, columns: int, width: int, share: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    dense = generator.standard_normal((rows, columns)) * (generator.random((rows, columns)) < share)
    sparse, vectors = rows_of(dense), generator.standard_normal((columns, width))
    assert sparse.shape == dense.shape
    np.testing.assert_array_equal(sparse.dense(), dense)
    np.testing.assert_allclose(sparse.times(vectors), dense @ vectors, atol=1e-14)
    assert sparse.squares == pytest.approx(float(np.sum(dense**2)))
    largest = np.linalg.eigvalsh(dense.T @ dense).max(initial=0.0)
    sizes = np.abs(dense)
    assert sparse.bound == pytest.approx(sizes.sum(axis=0).max(initial=0.0) * sizes.sum(axis=1).max(initial=0.0))
    assert largest <= sparse.bound * (1 + 1e-12) + 1e-300


def test_rows_in_blocks_are_those_of_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse, vectors = rows_of(np.random.default_rng(0).standard_normal((50, 7))), np.eye(7)
    whole = sparse.times(vectors)
    monkeypatch.setattr(sparse_factors, "TERMS", 140)
    np.testing.assert_array_equal(sparse.times(vectors), whole)


def test_a_product_with_many_vectors_takes_little_beside_it() -> None:
    sparse, vectors = rows_of(np.random.default_rng(0).standard_normal((400, 100))), np.ones((100, 100))
    tracemalloc.start()
    product = sparse.times(vectors)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most - product.nbytes < 20e6  # the terms of all rows, and what they are made of, would take 64 MB
