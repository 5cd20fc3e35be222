"""NPY arrays: a safe parser of headers, and checks of sizes before memory is allocated."""

import ast
import math
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray
from mlcli.data.files.shared_handle import read_into
from mlcli.data.formats.arrays import StoredArray, wrong_array
from mlcli.data.options.wording import counted, place, shown
from mlcli.errors import DataError, UnsafeFile

MAGIC = b"\x93NUMPY"
Mapped = Callable[[int], memoryview | None]
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # by version of the format
HEADER_LIMIT = 64 << 10  # bytes
INVALID = (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError)  # what Python makes of literals
LAST, SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)  # the last character of Unicode, and code points without one


@frozen
class Header:
    """The content of an NPY header."""

    dtype: np.dtype[np.generic]
    fortran: bool
    shape: tuple[int, ...]
    offset: int  # bytes before the numbers

    @property
    def size(self) -> int:
        """The bytes of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def stored_in(stream: BinaryIO, size: int, path: str, hint: str = "", mapped: Mapped | None = None) -> StoredArray:
    """Return the array in the first `size` bytes of a stream; raises DataError for an invalid header.

    `mapped` returns the first bytes without a copy, where it can.
    """
    header = read_header(stream, path)
    return StoredArray(header.dtype, header.shape, partial(read_values, stream, header, path, mapped),
                       partial(require_size, header, size, path), fortran=header.fortran, hint=hint)


def read_header(stream: BinaryIO, path: str) -> Header:
    """Parse the header without evaluating code; raises DataError, and UnsafeFile for Python objects."""
    header = header_of(stream, path)
    if not isinstance(header, Header):
        raise header
    return header


def header_of(stream: BinaryIO, path: str) -> Header | DataError | UnsafeFile:
    """Return the header, or the error that `read_header` raises."""
    start = stream.read(8)
    if len(start) < 8 or start[:6] != MAGIC or (start[6], start[7]) not in LENGTH_BYTES:
        return broken("it does not begin with an NPY header", path)
    count = LENGTH_BYTES[start[6], start[7]]
    length = int.from_bytes(stream.read(count), "little")
    if length > HEADER_LIMIT:
        return broken(f"its header is longer than {HEADER_LIMIT >> 10} KiB", path)
    text = stream.read(length)
    if len(text) < length:
        return broken("it ends within its header", path)
    return parse_header(text, 8 + count + length, path)


def parse_header(text: bytes, offset: int, path: str) -> Header | DataError | UnsafeFile:
    """Parse the header's dictionary as literals; returns the error of another text."""
    unclear = broken(f"its header cannot be understood: {shown(text[:60].decode('latin-1'))}", path)
    try:
        fields = ast.literal_eval(text.decode("utf-8").strip())
    except INVALID:
        return unclear
    if not isinstance(fields, dict) or set(fields) != {"descr", "fortran_order", "shape"}:
        return unclear
    descr, shape, fortran = fields["descr"], fields["shape"], fields["fortran_order"]
    if not isinstance(shape, tuple) or not all(type(size) is int and 0 <= size < 2**62 for size in shape):
        return unclear
    if type(fortran) is not bool:
        return unclear
    if "O" in str(descr):
        return UnsafeFile("NPY-OBJECTS", "the array holds Python objects, which can run code when they are loaded",
                          where=place(path), hint="save plain numbers: numpy.save(file, array.astype(float))")
    if not isinstance(descr, str):
        return wrong_array(f"its records are of type {shown(str(descr))}", path)
    try:
        return Header(np.dtype(descr), fortran, shape, offset)
    except INVALID:
        return unclear


def require_size(header: Header, size: int, path: str) -> None:
    """Raise DataError if the file's size differs from the one in its header."""
    room = size - header.offset
    if room != header.size:
        what = "is cut off" if room < header.size else "has bytes after its end"
        raise broken(f"it {what}: the header announces {counted(header.size, 'byte')} of shape {header.shape}, "
                     f"and there are {room:,}", path)


def read_values(stream: BinaryIO, header: Header, path: str, mapped: Mapped | None = None) -> AnyArray:
    """Return the numbers or texts as they are stored; raises DataError."""
    ready = header.dtype == np.dtype("<f8") and not header.fortran and header.offset % 8 == 0
    if ready and mapped is not None and (pages := mapped(header.offset + header.size)) is not None:
        return np.frombuffer(pages, header.dtype, offset=header.offset).reshape(header.shape)
    flat = np.empty(math.prod(header.shape), header.dtype)
    view = memoryview(flat.view(np.uint8).data)
    if read_into(stream, view) < len(view):
        raise broken("it is cut off", path)
    if stream.read(1):  # also lets a zip file compare its checksum
        raise broken("it has bytes after its end", path)
    if header.dtype.kind == "U":
        _require_unicode(flat, path)
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def _require_unicode(flat: AnyArray, path: str) -> None:
    """Raise DataError for texts with code points that are not characters: surrogates, and those beyond the last one."""
    if not flat.dtype.itemsize:
        return
    codes = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder)).reshape(len(flat), -1)
    wrong = ((codes > LAST) | ((codes >= SURROGATES[0]) & (codes <= SURROGATES[1]))).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise broken(f"text {row + 1} of {len(flat)} holds a number that is no character of Unicode", path)


def broken(what: str, path: str) -> DataError:
    """Return the error for a file that is not a whole NPY file."""
    return DataError("CORRUPT", f"this NPY file is incomplete or damaged: {what}", where=place(path),
                     hint="write or copy the file again")
