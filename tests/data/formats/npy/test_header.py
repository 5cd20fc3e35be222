"""Large NPY files of a run stay in the cache of the system; all others are copied, and no later change counts."""

import errno
import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.context import set_context
from mlcli.base.rows.scratch import in_file
from mlcli.base.types import AnyArray
from mlcli.data.files import shared_handle, source
from mlcli.data.files.source import SETTLED
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import StorageError
from tests.processes import call


def settled(folder: Path, values: AnyArray) -> Path:
    """An NPY file that was written some time ago."""
    path = folder / "data.npy"
    np.save(path, values)
    os.utime(path, (path.stat().st_mtime - 10 * SETTLED,) * 2)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no such call")
def test_a_large_array_stays_in_the_cache_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAPPED", 1000)
    values = np.random.default_rng(0).standard_normal((40, 5))
    path = settled(tmp_path, values)
    copied = read(Input(path=str(path)))
    with set_context(maps=True):
        table = read(Input(path=str(path)))
    assert np.array_equal(table.values, values)
    assert not table.values.flags.writeable
    assert not in_file(table.values)  # it is no scratch file
    for found in (copied, table):
        assert found.source is not None
        assert found.source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    with path.open("r+b") as file:  # once it was read
        file.seek(200)
        file.write(bytes(8))
    assert table.values.ravel()[9] == 0 != copied.values.ravel()[9]
    assert copied.source is not None
    assert copied.source.sha256
    with pytest.raises(StorageError) as caught:
        assert table.source is not None and table.source.sha256
    assert caught.value.code == "E-CHANGED"


@pytest.mark.parametrize("why", ["small", "fresh", "single precision", "by columns", "no run", "no such call"])
def test_other_arrays_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    monkeypatch.setattr(source, "MAPPED", 10**6 if why == "small" else 1000)
    if why == "no such call":
        monkeypatch.setattr(shared_handle, "POPULATE_READ", 9999)
    values = np.random.default_rng(0).standard_normal((60, 5))
    values = values.astype(np.float32) if why == "single precision" else values
    path = settled(tmp_path, np.asfortranarray(values) if why == "by columns" else values)
    if why == "fresh":
        os.utime(path)
    with set_context(maps=why != "no run"):
        table = read(Input(path=str(path)))
    with path.open("r+b") as file:
        file.seek(128)
        file.write(bytes(1200))
    assert np.array_equal(table.values, values)


def test_an_error_of_the_disk_is_one_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(descriptor: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(source, "MAPPED", 1000)
    monkeypatch.setattr(source, "map_file", failing)
    with set_context(maps=True), pytest.raises(StorageError) as caught:
        read(Input(path=str(settled(tmp_path, np.ones((60, 5))))))
    assert caught.value.code == "E-READ"


@pytest.mark.medium
def test_a_mapped_and_a_copied_array_give_the_same_run(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((140_000, 60))
    runs = []
    for name in ("mapped", "copied"):
        (tmp_path / name).mkdir()
        path = settled(tmp_path / name, values)
        if name == "copied":
            os.utime(path)
        assert call("embed", path, "--set", "report.quality=null", "-o", tmp_path / name / "run").returncode == 0
        runs.append({file: (tmp_path / name / "run" / file).read_bytes()
                     for file in ("embedding.csv", "spectrum.csv", "certificate.json")})
    assert runs[0] == runs[1]
