"""Large arrays in a file without a name: the same numbers as in memory, and few of their pages there."""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.rows import scratch
from mlcli.base.rows.scratch import allocate, in_file, map_blocks, nonzero_columns, parts, scratch_in, take_rows
from mlcli.base.types import Array
from mlcli.base.values.signs import leading_signs
from mlcli.errors import StorageError

ROWS = 200_000


def shared() -> int:
    """The bytes of files that are in this process's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("RssFile:"))


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Array, Array]]:
    """An array in memory, and the same in a file."""
    monkeypatch.setattr(scratch, "HELD", 1 << 20)
    values = np.random.default_rng(0).standard_normal((ROWS, 3)) * [1, 0, 5]
    with scratch_in(tmp_path, tmp_path, ""):
        filed = allocate(ROWS, 3)
        filed[:] = values
        yield values, filed


def test_only_large_arrays_lie_in_a_file_and_none_is_seen(pair: tuple[Array, Array], tmp_path: Path) -> None:
    values, filed = pair
    assert in_file(filed) and in_file(filed[5:, :2]) and not in_file(values) and not in_file(filed[[1, 2]])
    assert not in_file(allocate(10, 3)) and list(tmp_path.iterdir()) == []


def test_the_same_numbers_follow_from_both(pair: tuple[Array, Array]) -> None:
    values, filed = pair
    doubled = map_blocks(lambda some: 2 * some, filed)
    assert in_file(doubled) and np.array_equal(doubled, 2 * values)
    assert nonzero_columns(filed).tolist() == nonzero_columns(values).tolist() == [True, False, True]
    rows = np.array([ROWS - 1, 0, 77, 77, *range(500)])
    assert np.array_equal(take_rows(filed, rows), values[rows])


def test_signs_do_not_depend_on_where_the_largest_numbers_lie(pair: tuple[Array, Array]) -> None:
    values, filed = pair
    for row, sign in ((5, -1), (ROWS // 2, 1), (ROWS - 1, -1)):
        values[row] = filed[row] = sign * (100.0 + row)
        values[row - 1] = filed[row - 1] = -sign * (100.0 + row) * (1 - 1e-7)  # as large, and before it
        assert leading_signs(filed).tolist() == leading_signs(values).tolist() == [-sign] * 3


def test_few_pages_are_in_memory_at_a_time(pair: tuple[Array, Array]) -> None:
    _, filed = pair
    scratch.release_pages()
    before = shared()
    most = max(shared() for some in parts(filed) if some.sum() is not None)
    assert most - before < filed.nbytes / 2
    assert filed.sum() and shared() - before > 0.9 * filed.nbytes  # as it would be otherwise
    scratch.release_pages()
    assert shared() - before < filed.nbytes / 10


def test_a_disk_that_is_full_is_an_error_and_no_crash(tmp_path: Path) -> None:
    with scratch_in(tmp_path, Path("runs/out"), "keep fewer axes"), pytest.raises(StorageError) as caught:
        allocate(1 << 50, 2)
    error = caught.value
    assert (error.code, error.exit_code, error.where, error.hint) == ("E-SCRATCH", 74, "runs/out", "keep fewer axes")
    assert "16777216 GiB" in error.what


def test_where_the_system_lacks_posix_fallocate_blocks_are_asked_for_by_fcntl(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS: all blocks or none, then the length."""
    asked: list[tuple[int, tuple[int, ...]]] = []
    monkeypatch.delattr("os.posix_fallocate")
    monkeypatch.setattr("fcntl.fcntl", lambda descriptor, command, request: asked.append(
        (command, struct.unpack("@Iiqqq", request))))
    with (tmp_path / "file").open("w+b") as file:
        scratch.allocate_blocks(file.fileno(), 12345)
        assert (tmp_path / "file").stat().st_size == 12345
    assert asked == [(42, (4, 3, 0, 12345, 0))]
    assert len(scratch.map_file(4096, tmp_path)) == 4096
