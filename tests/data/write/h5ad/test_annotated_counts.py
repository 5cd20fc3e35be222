"""Cells written as AnnData: what is read back is what was generated."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.samples import sample
from mlcli.data.write.h5ad import DEPTH, logarithms, write_annotated_counts

pytest.importorskip("h5py")


def test_counts_logarithms_names_and_labels_are_read_back(tmp_path: Path) -> None:
    path, cells = tmp_path / "cells.h5ad", sample("cells", 40, 3, truth=True, columns=30)
    write_annotated_counts(cells, path)
    counts = read(Input(path=str(path), key="layers/counts"))
    assert (counts.ids, counts.columns, dict(counts.labels)) == (cells.ids, cells.columns, dict(cells.labels))
    assert np.array_equal(counts.values, cells.values)
    found = read(Input(path=str(path))).values
    assert np.allclose(np.expm1(found).sum(axis=1), DEPTH, rtol=1e-5)
    assert np.allclose(found, logarithms(cells.values), rtol=1e-6)


def test_a_cell_without_counts_has_zeros() -> None:
    assert logarithms(np.array([[0.0, 0], [1, 3]])).tolist() == [[0, 0], [np.log1p(2500.0), np.log1p(7500.0)]]


def test_the_same_cells_give_the_same_bytes(tmp_path: Path) -> None:
    cells = sample("cells", 20, 1, truth=True, columns=10)
    for name in ("a", "b"):
        write_annotated_counts(cells, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
