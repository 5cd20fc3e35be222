"""Uncompressed npz files with the bytes of `np.savez`, written and read with fewer copies.

`np.savez` and `np.load` are not used: they hold a model twice while it is written and checked, where here an array that
equals one in memory is that one, and `np.load` unpacks whatever size a compressed array of a foreign file claims.
"""

import io
import math
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import IO, Any, BinaryIO, cast

import numpy as np

from mlcli.base.rows.scratch import allocate, release_pages
from mlcli.base.types import AnyArray
from mlcli.storage.fields import Unfit

KINDS = "fiub"  # NumPy's kinds: floating, signed, unsigned, boolean
FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError,
          KeyError, OverflowError, UserWarning)
CHUNK = 1 << 20  # bytes compared in one step
PIECE = 1 << 24  # bytes read into an array in one step
ENTRY = struct.Struct("<26xHH")  # a zip file's local header: lengths of the name and of the extra field
SIZES, SIZES_AT = struct.Struct("<II"), 18  # those of 32 bits in it
ZIP64, ELSEWHERE = 45, 2**32 - 1  # the version that has sizes of 64 bits, and what stands in place of the others then
LENGTH = struct.Struct("<H")  # of the header of an array


def npz_of(arrays: Mapping[str, AnyArray]) -> list[memoryview]:
    """Return the bytes of an npz file of arrays by name, in parts: views of the arrays without a copy."""
    parts = _Parts()
    with zipfile.ZipFile(cast(IO[bytes], parts), "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(_Entry(f"{name}.npy"), "w", force_zip64=True) as entry:
                _write(cast(BinaryIO, entry), np.asanyarray(array))
    return list(parts.written.values())


class _Entry(zipfile.ZipInfo):
    """An entry with sizes of 64 bits, as Python writes it from 3.11.4 on: before, with those of 32 bits beside them."""

    def FileHeader(self, zip64: bool | None = None) -> bytes:
        """Return the header, without sizes of 32 bits."""
        self.create_version = self.extract_version = ZIP64
        header = bytearray(super().FileHeader(zip64))
        SIZES.pack_into(header, SIZES_AT, ELSEWHERE, ELSEWHERE)
        return bytes(header)


class _Parts:
    """A file in memory that keeps views of the parts written to it. A part that is overwritten keeps its length."""

    def __init__(self) -> None:
        self.written: dict[int, memoryview] = {}  # by position in the file
        self.place = self.end = 0

    def write(self, part: bytes | memoryview) -> int:
        """Append a part, or replace the one at the current position."""
        kept = self.written[self.place] = memoryview(part)
        self.place += kept.nbytes
        self.end = max(self.end, self.place)
        return kept.nbytes

    def seek(self, place: int, whence: int = 0) -> int:
        """Move to a position where a part begins."""
        self.place = place + (0, self.place, self.end)[whence]
        return self.place

    def tell(self) -> int:
        """Return the position of the next part."""
        return self.place

    def seekable(self) -> bool:
        """Return True: `zipfile` rewrites headers."""
        return True

    def flush(self) -> None:
        """Do nothing: no writes are buffered."""


def _write(entry: BinaryIO, array: AnyArray) -> None:
    """Write an array as NumPy does; the numbers of a contiguous array as one view instead of copied chunks."""
    if not array.flags.c_contiguous or array.dtype.kind not in KINDS or not array.ndim:
        np.lib.format.write_array(entry, array)
        return
    np.lib.format.write_array_header_1_0(entry, np.lib.format.header_data_from_array_1_0(array))
    entry.write(array.reshape(-1).view(np.uint8).data)


def arrays_in(stored: BinaryIO, size: int, held: Mapping[str, AnyArray] | None = None) -> dict[str, AnyArray]:
    """Read the arrays of an npz file of `size` bytes that `npz_of` wrote; they take no more memory than the file.

    An array that equals one in `held` bit for bit is that array and no copy. Raises Unfit for any other
    file.
    """
    known = held or {}
    try:
        with zipfile.ZipFile(stored) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > size or any(
                    entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise Unfit("its arrays are compressed")
            named = {entry.filename.removesuffix(".npy"): entry for entry in entries}
            return {name: _array(stored, archive, entry, known.get(name)) for name, entry in named.items()}
    except Unfit:
        raise
    except (OSError, *FAULTS) as error:
        raise Unfit("its arrays cannot be read") from error


def _array(stored: BinaryIO, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, held: AnyArray | None) -> AnyArray:
    """Read one array into its final memory, or return `held` if it is equal; raises Unfit and FAULTS."""
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(cast(BinaryIO, stream))
        if version != (1, 0):
            raise Unfit("its arrays are of another version")
        length = stream.read(LENGTH.size)
        shape, fortran, kind = _header(length + stream.read(*LENGTH.unpack(length)))
        head = stream.tell()
    if kind.kind not in KINDS or math.prod(shape) * kind.itemsize != entry.file_size - head:
        raise Unfit("an array is not of the size that it says")
    stored.seek(entry.header_offset)
    stored.seek(sum(ENTRY.unpack(stored.read(ENTRY.size))), io.SEEK_CUR)
    first, begin = stored.read(head), stored.tell()
    if held is not None and _same_form(held, shape, kind, fortran=fortran) and _same_bytes(stored, held):
        return held
    stored.seek(begin)
    checksum, size = zlib.crc32(first), entry.file_size - head
    flat = (allocate(size // 8) if kind == np.float64 else np.empty(size, np.uint8)).view(np.uint8)
    done = 0
    while done < size and (count := cast(io.BufferedIOBase, stored).readinto(flat[done : done + PIECE].data)):
        checksum = zlib.crc32(flat[done : done + count].data, checksum)
        done += count
        release_pages()
    if done < size or checksum != entry.CRC:
        raise Unfit("an array is cut off, or has changed")
    return flat.view(kind).reshape(shape, order="F" if fortran else "C")


@lru_cache(maxsize=256)  # NumPy parses it as Python's syntax; a batch of small runs has the same ones again and again
def _header(text: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array from its header with the length before it; raises Unfit and FAULTS."""
    with warnings.catch_warnings(action="error"):
        shape, fortran, kind = np.lib.format.read_array_header_1_0(io.BytesIO(text))
    if kind.hasobject:
        raise Unfit("its arrays hold Python objects")
    return shape, fortran, kind


def _same_form(held: AnyArray, shape: tuple[int, ...], kind: np.dtype[Any], *, fortran: bool) -> bool:
    """Whether an array has the shape, type and memory layout of one in the file."""
    return held.shape == shape and held.dtype == kind and not fortran and held.flags.c_contiguous and held.ndim > 0


def _same_bytes(stored: BinaryIO, held: AnyArray) -> bool:
    """Whether the next bytes of a file equal an array's; the file passes through a buffer that fits in cache."""
    expected, done = held.reshape(-1).view(np.uint8), 0
    buffer = np.empty(CHUNK, np.uint8)
    while done < len(expected):
        count = cast(io.BufferedIOBase, stored).readinto(buffer[: len(expected) - done].data)
        if not count or not np.array_equal(buffer[:count], expected[done : done + count]):
            return False
        done += count
    return True
