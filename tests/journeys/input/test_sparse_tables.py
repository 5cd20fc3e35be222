"""A sparse table held by its entries gives what it gives with its zeros, and nothing makes it whole."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from mlcli.base.rows.source import Rows
from mlcli.base.rows.sparse import SparseRows, entries_of
from tests.journeys.memory.test_beyond_memory import embedded, spectrum
from tests.journeys.support import Caller
from tests.wording import Wording

ENTRIES, ZEROS = ("--set", "input.stream=always"), ("--set", "input.stream=never")
SHAPE = 90, 1400  # so many columns that FᵀF is only applied


def counts(rows: int, columns: int) -> sparse.csr_array:
    """Counts of six groups of rows, each with columns of its own, every twelfth cell filled; no row is empty."""
    generator = np.random.default_rng(rows)
    filled = generator.random((rows, columns)) < 1 / 12
    filled[:, 0] = True
    group = np.arange(rows)[:, None] % 6
    own = (np.arange(columns) * 6 // columns)[None] == group
    return sparse.csr_array(filled * (generator.poisson(3, (rows, columns)) + 1) * np.where(own, 5.0 + 2 * group, 1))


@pytest.fixture
def table() -> sparse.csr_array:
    matrix = counts(*SHAPE)
    sparse.save_npz("t.npz", matrix)
    return matrix


def same(mlcli: Caller, *options: str) -> None:
    """Both ways lead to the same scores and eigenvalues."""
    for name, how in (("entries", ENTRIES), ("zeros", ZEROS)):
        called = mlcli.bare("t.npz", "-o", name, "-q", "--force", *how, *options)
        assert called.code == 0, called.err
    notes = json.loads(Path("entries", "run.json").read_text())["notes"]
    assert "N-SPARSE-ROWS" in [note["code"] for note in notes]
    (ids, found), (others, expected) = embedded("entries"), embedded("zeros")
    assert ids == others and np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
    values, known = spectrum("entries"), spectrum("zeros")
    assert len(values) >= 3
    assert np.abs(values - known[: len(values)]).max() <= 1e-10 * known[0]


@pytest.mark.medium
@pytest.mark.parametrize("options", [
    (), ("--scale", "standard"), ("--transform", "cpm,log1p", "--top-variance", "60"),
    ("--transform", "hellinger"), ("--transform", "unit", "--scale", "center", "-m", "ppca"),
], ids=" ".join)
def test_entries_and_zeros_lead_to_the_same_run(mlcli: Caller, table: sparse.csr_array, options: tuple[str, ...],
                                                ) -> None:
    same(mlcli, "-p", "3", *options)


@pytest.mark.parametrize("shape", [(300, 40), (60, 200)])
def test_few_columns_are_summed_in_one_pass(mlcli: Caller, shape: tuple[int, int]) -> None:
    sparse.save_npz("t.npz", counts(*shape))
    same(mlcli, "-p", "3", "--scale", "standard")


def test_pca_ahead_of_another_method_takes_entries(mlcli: Caller, table: sparse.csr_array) -> None:
    same(mlcli, "--reduce", "4", "-m", "mds", "-p", "3")


@pytest.mark.medium
def test_the_certificate_finds_it_again(mlcli: Caller, table: sparse.csr_array) -> None:
    mlcli.bare("t.npz", "-o", "run", "-q", "-p", "3", *ENTRIES)
    called = mlcli("verify", "--full", "run")
    assert called.code == 0 and "run: pass" in called.out


def test_new_rows_are_placed_by_their_entries(mlcli: Caller, table: sparse.csr_array) -> None:
    mlcli.bare("t.npz", "-o", "run", "-q", "-p", "3", *ENTRIES)
    sparse.save_npz("new.npz", table[:20])
    for how in (ENTRIES, ZEROS):
        assert mlcli("project", "run", "new.npz", "-o", "new.csv", "--force", *how).code == 0
        found = np.loadtxt("new.csv", delimiter=",", skiprows=1, usecols=(1, 2, 3))
        np.testing.assert_allclose(found, embedded("run")[1][:20], atol=1e-9 * np.abs(found).max())


@pytest.mark.medium
def test_rows_and_columns_change_places(mlcli: Caller) -> None:
    """Counts of genes come with a row for each gene."""
    matrix = counts(90, 300)
    mmwrite("genes.mtx", matrix.T.tocoo())
    sparse.save_npz("t.npz", matrix)
    for path, more in (("genes.mtx", ("--transpose",)), ("t.npz", ())):
        assert mlcli("embed", path, "-o", path[0], "-q", *ENTRIES, *more).code == 0
    np.testing.assert_array_equal(embedded("g")[1], embedded("t")[1])


def test_a_cell_that_is_no_number_is_named(mlcli: Caller, wording: Wording) -> None:
    matrix = counts(60, 1100)
    matrix.data[3] = np.nan
    sparse.save_npz("t.npz", matrix)
    called = mlcli("embed", "t.npz", "-o", "run", *ENTRIES)
    assert called.code == 65 and "E-MISSING" in called.err and "E-MISSING" in wording(called.err)
    called = mlcli.bare("t.npz", "-o", "run", "-p", "3", "--set", "prepare.missing=drop", *ENTRIES)
    assert called.code == 0 and len(embedded("run")[0]) == 59


def test_entries_are_taken_where_zeros_would_take_much_memory(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """PCA takes entries; another method is refused where the zeros do not fit, with what to do."""
    sparse.save_npz("t.npz", counts(90, 1400))
    monkeypatch.setattr("mlcli.data.formats.block_file.SMALL", 1000)
    assert mlcli.bare("t.npz", "-o", "one", "-p", "2").code == 0
    assert "N-SPARSE-ROWS" in Path("one", "run.json").read_text()
    sparse.save_npz("t.npz", sparse.eye_array(20_000, format="csr"))
    called = mlcli.bare("t.npz", "-m", "mds", "-o", "two", "--memory-limit", "1G")
    assert called.code == 82 and "E-MEMORY" in called.err and "--reduce" in called.err


def test_no_pass_of_the_solver_makes_rows_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = counts(90, 1400)
    rows = Rows(SparseRows(matrix))

    def dense(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(SparseRows, "parts", dense)
    found = entries_of(rows, 0)
    assert found is not None and (found.entries != matrix).nnz == 0 and not found.center.any()


def test_keys_follow_from_the_content() -> None:
    matrix = counts(50, 40)
    assert SparseRows(matrix).key() == SparseRows(matrix.tocsc().tocsr()).key() != SparseRows(2 * matrix).key()
