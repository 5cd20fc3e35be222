"""Condensed dissimilarities read from a file: the rows, wedges and blocks of the square matrix."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import squareform

from mlcli.base.rows.source import Rows
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.chain.file_distances import FileRows
from mlcli.data.files.source import open_input
from mlcli.data.formats import npy
from mlcli.data.formats.npy import CondensedRows
from mlcli.data.formats.reader import block_file_of
from mlcli.data.options.formats import FORMATS
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import DataError
from tests.data.helpers import noted
from tests.wording import Wording

SIZE = 90
LENGTHS = np.random.default_rng(0).random(SIZE * (SIZE - 1) // 2)
SQUARE = squareform(LENGTHS)


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rows]:
    monkeypatch.setattr(npy, "BLOCK", 500)
    monkeypatch.setattr(npy, "PART", 120)
    yield Rows(source_of(tmp_path, LENGTHS))


def source_of(folder: Path, values: Array) -> CondensedRows:
    path = str(folder / "d.npy")
    np.save(path, values)
    with open_input(path, Compute()) as file:
        found = block_file_of(file, Input(path=path, kind="dissimilarities"), FORMATS["npy"], Compute())
    assert found is not None and isinstance(found.file, CondensedRows)
    return found.file


def test_wedges_and_blocks_cover_each_number_once(rows: Rows) -> None:
    assert rows.shape == SQUARE.shape and rows.half_stored and rows.blocks > 5
    above, whole = np.zeros_like(SQUARE), []
    for number in range(rows.blocks):
        for first, wedge in rows.wedges(number):
            above[first : first + len(wedge), first:] += wedge
        whole += [part for _, part in rows.parts(number)]
    assert np.array_equal(above, np.triu(SQUARE))
    assert np.array_equal(np.concatenate(whole), SQUARE)


@pytest.mark.parametrize("call", [1e-9, 1.0])  # one by one, or what lies between them
@pytest.mark.parametrize("chosen", [[], [0], [SIZE - 1], [5, 88, 5, 0], list(range(40, 60)), [1, 0]])
def test_single_rows_are_those_of_the_square_matrix(rows: Rows, monkeypatch: pytest.MonkeyPatch, call: float,
                                                    chosen: list[int]) -> None:
    monkeypatch.setattr(npy, "CALL", call)
    assert np.array_equal(rows[np.array(chosen, dtype=np.int64)], SQUARE[chosen])


def test_a_pass_multiplies_by_the_kernel_and_collects_its_moments(rows: Rows) -> None:
    vectors, kernel = np.random.default_rng(1).standard_normal((SIZE, 3)), -0.5 * SQUARE**2
    product, sums, squares = np.zeros((SIZE, 3)), np.zeros(SIZE), 0.0
    for number in range(rows.blocks):
        for folded in FileRows(rows).fold(number, vectors, True):
            product[folded.rows] += folded.product
            sums[folded.rows] += folded.sums
            squares += folded.squares
    assert np.allclose(product, kernel @ vectors, rtol=1e-13) and np.allclose(sums, kernel.sum(axis=1), rtol=1e-13)
    assert squares == pytest.approx((kernel**2).sum(), rel=1e-13)


@pytest.mark.parametrize(("place", "wrong"), [(3, np.nan), (2000, np.inf), (7, -1.0), (SIZE, np.nan)])
def test_what_is_wrong_is_said_as_of_the_matrix_in_memory(tmp_path: Path, place: int, wrong: float) -> None:
    values = LENGTHS.copy()
    values[[place, place + 1]] = wrong
    path = str(tmp_path / "d.npy")
    np.save(path, values)
    told = []
    for stream in ("never", "always"):
        with noted(), pytest.raises(DataError) as caught:
            read(Input(path=path, kind="dissimilarities", stream=stream), streams=True)
        told.append((caught.value.code, str(caught.value)))
    assert told[0][0] == told[1][0]
    if not wrong < 0:
        assert told[0] == told[1]


def test_numbers_that_are_not_all_pairs_are_refused(tmp_path: Path, wording: Wording) -> None:
    with wording.raises(DataError, "CONDENSED"):
        source_of(tmp_path, LENGTHS[:-1])
