"""The npz files of archives are those of NumPy, byte for byte, and refer to the arrays until they are written."""

import io
import struct
import sys
import zipfile

import numpy as np
import pytest

from mlcli.base.types import AnyArray
from mlcli.storage.npz import arrays_in, npz_of

ARRAYS: dict[str, AnyArray] = {
    "rows": np.arange(12.0).reshape(4, 3), "columns": np.arange(12.0).reshape(3, 4).T, "none": np.zeros((0, 3)),
    "every other": np.arange(10)[::2], "flags": np.array([True, False]), "single": np.float32([0.5, np.nan]),
    "number": np.array(3), "bytes": np.frombuffer(b"text", dtype=np.uint8), "empty": np.zeros(0, dtype=np.int64)}


@pytest.mark.skipif(sys.version_info < (3, 11, 4), reason="NumPy's bytes are those of Python's zipfile")
@pytest.mark.parametrize("names", [[], *([name] for name in ARRAYS), [*ARRAYS]], ids=str)
def test_the_bytes_are_those_of_numpy(names: list[str]) -> None:
    chosen, theirs = {name: ARRAYS[name] for name in names}, io.BytesIO()
    np.savez(theirs, **chosen)  # type: ignore[arg-type]
    assert b"".join(npz_of(chosen)) == theirs.getvalue()


def test_an_earlier_python_changes_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, later = b"".join(npz_of(ARRAYS)), zipfile.ZipInfo.FileHeader

    def earlier(entry: zipfile.ZipInfo, zip64: bool | None = None) -> bytes:
        """The header as Python 3.11.3 writes it."""
        version, header = entry.extract_version, bytearray(later(entry, zip64))
        entry.create_version = entry.extract_version = version
        struct.pack_into("<H", header, 4, version)
        struct.pack_into("<II", header, 18, entry.compress_size, entry.file_size)
        return bytes(header)

    monkeypatch.setattr(zipfile.ZipInfo, "FileHeader", earlier)
    assert b"".join(npz_of(ARRAYS)) == usual


def test_arrays_come_back_to_the_last_bit_in_their_order_of_memory() -> None:
    stored = b"".join(npz_of(ARRAYS))
    for name, found in arrays_in(io.BytesIO(stored), len(stored)).items():
        assert np.array_equal(found, ARRAYS[name], equal_nan=True)
        assert (found.dtype, found.shape) == (ARRAYS[name].dtype, ARRAYS[name].shape)
        assert found.flags.f_contiguous or name != "columns"


def test_a_large_array_is_not_copied() -> None:
    array = np.arange(1000.0)
    assert any(np.shares_memory(np.frombuffer(part, dtype=np.uint8), array) for part in npz_of({"one": array}))


@pytest.mark.parametrize("rows", [3, 300_000])
def test_an_array_that_is_held_is_not_read_again_unless_a_bit_differs(rows: int) -> None:
    values = np.random.default_rng(0).standard_normal((rows, 2))
    stored = b"".join(npz_of({"a": values, "b": values + 1}))
    same, other, wider = values.copy(), values.copy(), values.astype(np.float32)
    other[-1, -1] = np.nextafter(other[-1, -1], 9)
    found = arrays_in(io.BytesIO(stored), len(stored), {"a": same, "b": other})
    assert found["a"] is same and found["b"] is not other
    assert np.array_equal(found["a"], values) and np.array_equal(found["b"], values + 1)
    for held in (other, wider, values[:-1], np.asfortranarray(values)):
        found = arrays_in(io.BytesIO(stored), len(stored), {"a": held})
        assert found["a"] is not held and np.array_equal(found["a"], values)
