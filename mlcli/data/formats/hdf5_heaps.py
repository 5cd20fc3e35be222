"""Global heaps of HDF5 files, which hold texts of any length: one without an end is refused.

The library goes from object to object by their sizes. Where a damaged size leads to the same object again, it does so
without end, and no signal that Python handles ends it.
"""

import io
import re
import struct
from typing import Any, BinaryIO

SIGNATURE = re.compile(rb"GCOL\x01\0\0\0")  # with the version
LENGTH = 8  # bytes of the signature
HEADER = struct.Struct("<H6xQ")  # of an object: its number and its size; 0 is the number of what is free
SIZE = struct.Struct("<8xQ")  # of a heap, after the signature
WRAP = 2**64  # the library's sizes are numbers up to here
LARGEST = 1 << 28  # bytes of a heap that is looked at


class HeapCheckedFile(io.RawIOBase):
    """A file for reading, in whose parts every global heap has been found to end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._ended = stream, set[int]()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; raises ValueError where a global heap begins in this part that has no end."""
        start = self._stream.tell()
        count = int(self._stream.readinto(buffer))  # type: ignore[attr-defined]
        self._require_ends(memoryview(buffer)[:count], start)
        across = bytes(memoryview(buffer)[max(count - LENGTH + 1, 0) : count])
        self._require_ends(across + self._stream.read(LENGTH - 1), start + count - len(across))
        self._stream.seek(start + count)
        return count

    def _require_ends(self, content: Any, start: int) -> None:
        """Raise ValueError if a heap that begins in a content has no end; `start` is the place of the content."""
        for place in (start + match.start() for match in SIGNATURE.finditer(content)):
            if place not in self._ended and not ends(self._heap(place)):
                raise ValueError(f"the texts from byte {place} on have no end")
            self._ended.add(place)

    def _heap(self, place: int) -> bytes:
        """Return the content of a heap, as far as it is there."""
        self._stream.seek(place)
        head = self._stream.read(SIZE.size)
        size = SIZE.unpack(head)[0] if len(head) == SIZE.size else 0
        return head + self._stream.read(max(min(size, LARGEST) - SIZE.size, 0))


def ends(heap: bytes) -> bool:
    """Whether the objects of a heap lead to its end, or beyond, which the library refuses by itself."""
    place, last = SIZE.size, len(heap) - HEADER.size
    while place <= last:
        number, size = HEADER.unpack_from(heap, place)
        step = (size if number == 0 else HEADER.size + -(-size // 8) * 8) % WRAP
        if step == 0 or step >= WRAP - place:  # the same object again, or one before it
            return False
        place += step
    return True
