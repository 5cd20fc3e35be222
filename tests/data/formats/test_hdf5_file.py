"""Global heaps of HDF5 files, in which the library goes from object to object: one without an end is refused."""

import io
import struct
from pathlib import Path

import h5py
import pytest

from mlcli.data.formats.hdf5_file import HeapCheckedFile, ends
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import DataError

HEAD = b"GCOL\x01\0\0\0" + struct.pack("<Q", 4096)


def heap(*objects: tuple[int, int]) -> bytes:
    """A heap of objects by their numbers and sizes."""
    parts = [struct.pack("<HHIQ", number, 1, 0, size) + bytes(-(-size // 8) * 8 if number and size < 4096 else 0)
             for number, size in objects]
    return (HEAD + b"".join(parts)).ljust(4096, b"\0")


@pytest.mark.parametrize(("objects", "whole"), [
    (((1, 3), (2, 8), (0, 4096 - 16 - 24 - 24)), True), (((1, 3), (0, 0)), False), (((1, 2**64 - 16),), False),
    (((1, 3), (2, 2**64 - 40)), False), (((1, 2**63),), True)], ids=["whole", "free", "itself", "back", "beyond"])
def test_a_heap_ends_unless_an_object_leads_back(objects: tuple[tuple[int, int], ...], whole: bool) -> None:
    assert ends(heap(*objects)) == whole


@pytest.mark.parametrize("at", [0, 100, 4093])
def test_a_heap_without_an_end_is_found_in_parts_that_cut_its_signature(at: int) -> None:
    file = HeapCheckedFile(io.BytesIO(bytes(at) + heap((0, 0)) + bytes(9000)))
    with pytest.raises(ValueError, match=f"byte {at} "):
        while file.readinto(bytearray(4096)):
            pass


def test_a_file_whose_texts_have_no_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["x"] = [[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]]
        file.attrs["encoding-type"] = "anndata"
    content = bytearray(path.read_bytes())
    place = content.index(b"GCOL")
    content[place + 16 : place + 32] = bytes(16)  # what is free, of no size
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"byte {place} "):
        read(Input(path=str(path)))
