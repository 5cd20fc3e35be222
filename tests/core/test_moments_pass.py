"""Moments of sparse rows: by their entries they are those of the rows with their zeros."""

import numpy as np
import pytest
from scipy import sparse

from mlcli.base.rows.moments import Moments
from mlcli.base.rows.source import Rows, in_unit
from mlcli.base.rows.sparse import SparseRows
from mlcli.core.moments_pass import RowSums, gather

CHOSEN = np.array([0, 5, 6, 59])


def matrix() -> sparse.csr_array:
    """Columns of zeros, of one number, far from zero, below zero, and others."""
    counts = sparse.random_array((60, 30), density=0.3, rng=np.random.default_rng(0)).toarray()
    counts[:, 0], counts[:, 1], counts[:, 3] = 0.0, 7.0, -counts[:, 3]
    counts[:, 2] += 1e6
    return sparse.csr_array(counts)


@pytest.fixture(autouse=True)
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.base.rows.sparse.BLOCK", 16 * 30)
    monkeypatch.setattr("mlcli.base.rows.sparse.PART", 5 * 30)
    monkeypatch.setattr("mlcli.core.moments_pass.TOGETHER", 40)


def both(values: sparse.csr_array, monkeypatch: pytest.MonkeyPatch) -> tuple[RowSums, RowSums]:
    rows = in_unit(Rows(SparseRows(values)), 2)
    found = gather(rows, CHOSEN, products=False)
    monkeypatch.setattr("mlcli.core.moments_pass.entries_of", lambda rows, number: None)
    return found, gather(rows, CHOSEN, products=False)


def test_moments_by_entries_are_those_of_all_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    found, expected = both(matrix(), monkeypatch)
    known: Moments = expected.moments
    assert np.array_equal(found.moments.least, known.least) and np.array_equal(found.moments.most, known.most)
    np.testing.assert_allclose(found.moments.means, known.means, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found.moments.squares, known.squares, rtol=1e-9, atol=1e-9)
    assert found.moments.squares[:2].tolist() == [0.0, 0.0] and found.moments.rows == 60
    assert np.array_equal(np.concatenate(found.sampled), 4 * matrix().toarray()[CHOSEN])


def test_rows_with_gaps_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    values = matrix()
    values.data[3] = np.nan
    found, expected = both(values, monkeypatch)
    assert found.moments.rows == expected.moments.rows == 59 and found.gaps.rows.tolist() == [0]
