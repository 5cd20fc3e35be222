"""Numbers of any size are read in blocks: sums of squares have units of their own, exact powers of two."""

import numpy as np
import pytest
from pyarrow import parquet

from tests.journeys.memory.test_beyond_memory import BLOCKS, COLUMNS, ROWS, embedded, named, numbers, spectrum, table
from tests.journeys.support import Caller

MOVED = numbers() - 1000 * np.arange(COLUMNS) + 0.5 * (np.arange(ROWS)[:, None] % 3) * np.arange(COLUMNS)
METHODS = ("pca", "ppca", "fa", "lda")
EVERYDAY = {("pca", 1e140), ("pca", 1e-140), ("fa", 1e-140), ("lda", 1e140), ("ppca", 1e-140)}


def alike(mlcli: Caller, method: str, *more: str) -> None:
    """A run in blocks ends as the run in memory does, with its numbers."""
    ends = [mlcli("embed", "t.parquet", "-m", method, "-o", output, "-q", *named("t.parquet"), *more, *stream)
            for output, stream in (("blocks", BLOCKS), ("whole", ()))]
    assert ends[0].code == ends[1].code, ends
    if ends[1].code:
        assert ends[0].err == ends[1].err
        return
    one, other = spectrum("blocks"), spectrum("whole")
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * min(other[0], np.finfo(float).max))
    (texts, found), (expected_texts, expected) = embedded("blocks"), embedded("whole")
    assert texts == expected_texts and np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
    called = mlcli("verify", "--full", "blocks")
    assert called.code == 0, called.out


@pytest.mark.medium
@pytest.mark.parametrize(("method", "size"), [
    pytest.param(method, size, marks=() if (method, size) in EVERYDAY else pytest.mark.slow)
    for method in METHODS for size in (1e140, 1e-140, 1e160, 1e-200, 1e305, 1e-310)])
def test_tables_of_any_size_are_read_in_blocks_as_in_memory(mlcli: Caller, method: str, size: float) -> None:
    parquet.write_table(table(MOVED * size), "t.parquet", row_group_size=200)
    alike(mlcli, method)


@pytest.mark.medium
@pytest.mark.parametrize("options", [
    ("--scale", "standard"), ("--scale", "range"),
    ("--set", "prepare.top_variance=7"), ("--set", "prepare.missing=mean", "--scale", "standard")],
    ids=lambda options: " ".join(options[-1:]))
def test_columns_of_any_sizes_are_prepared_in_blocks_as_in_memory(mlcli: Caller, options: tuple[str, ...]) -> None:
    values = (MOVED + 3) * 10.0 ** (140 - 25 * np.arange(COLUMNS))
    if "prepare.missing=mean" in options:
        values[::7, 1::3] = np.nan
    parquet.write_table(table(values), "t.parquet", row_group_size=200)
    alike(mlcli, "pca", *options)
