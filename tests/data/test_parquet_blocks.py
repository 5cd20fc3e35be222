"""Parquet files of many columns and row groups come out as the table they hold."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mlcli.data import columns
from mlcli.data.input import Input
from mlcli.data.read import read

VALUES = np.random.default_rng(0).standard_normal((500, 60))


def saved(folder: Path, rows: int) -> str:
    """The values between columns of text, in row groups of so many rows."""
    parts = {f"x{i}": VALUES[:, i] for i in range(30)} | {"name": [f"r{i}" for i in range(500)]}
    parts |= {f"x{i}": VALUES[:, i].astype(np.float32 if i % 2 else np.float64) for i in range(30, 60)}
    parts["kind"] = [f"k{i % 3}" for i in range(500)]
    parquet.write_table(pa.table(parts), folder / "t.parquet", row_group_size=rows)
    return str(folder / "t.parquet")


@pytest.mark.parametrize(("rows", "batch", "turned"), [(500, 1 << 16, 4096), (70, 64, 16), (1, 64, 16), (499, 100, 33)])
def test_all_row_groups_and_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, batch: int,
                                    turned: int) -> None:
    monkeypatch.setattr(columns, "BATCH", batch)
    monkeypatch.setattr(columns, "ROWS", turned)
    table = read(Input(path=saved(tmp_path, rows), id_column="name", label_columns=("kind",)))
    expected = VALUES.copy()
    expected[:, 31::2] = expected[:, 31::2].astype(np.float32)
    assert np.array_equal(table.values, expected)
    assert table.values.flags.c_contiguous
    assert table.ids == tuple(f"r{i}" for i in range(500))
    assert table.labels["kind"] == tuple(f"k{i % 3}" for i in range(500))


def test_columns_in_an_order_of_their_own(tmp_path: Path) -> None:
    names = ("x40", "x3", "x4", "x0", "x58")
    table = read(Input(path=saved(tmp_path, 200), columns=names, id_column="name", label_columns=("kind",)))
    assert table.columns == names
    assert np.array_equal(table.values, VALUES[:, [40, 3, 4, 0, 58]])
