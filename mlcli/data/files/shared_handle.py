"""Several readers of one open file, each with a position of its own."""

import ctypes
import errno
import io
import mmap
import os
import sys
from typing import Any, BinaryIO, cast

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks

CHUNK = 1 << 20  # bytes read at once
PART = 16 << 20  # bytes in a part that one thread reads
POPULATE_READ = 22  # of madvise, in linux/mman.h: reads pages, so that an error of the disk is one of the call


class SharedFile(io.RawIOBase):
    """A file with a position of its own, independent of other readers of the same descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._position = os.dup(descriptor), 0

    def fileno(self) -> int:
        return self._descriptor

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = os.preadv(self._descriptor, [buffer], self._position)
        self._position += count
        return count

    def read_at(self, position: int, buffer: memoryview) -> int:
        """Read bytes at `position` into a buffer, up to its length or the end.

        Return their number. The position stays.
        """
        done = 0
        while done < len(buffer) and (count := os.preadv(self._descriptor, [buffer[done:]], position + done)):
            done += count
        return done

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = self.size() if whence == os.SEEK_END else self._position if whence == os.SEEK_CUR else 0
        position = start + offset
        if position < 0:
            raise OSError(errno.EINVAL, "the position is before the start")
        self._position = position
        return position

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


def map_file(descriptor: int, size: int) -> memoryview | None:
    """Return the first bytes of a file where the system's cache has them, all of them read by all threads.

    None where the system has no such call. Raises OSError.
    """
    if sys.platform != "linux":
        return None
    try:
        pages = memoryview(mmap.mmap(descriptor, size, prot=mmap.PROT_READ))
    except OSError:  # no addresses are left: an array of them will say so
        return None
    start, populate = np.frombuffer(pages, np.uint8).ctypes.data, ctypes.CDLL(None, use_errno=True).madvise

    def read(part: slice) -> int:
        address, length = ctypes.c_void_p(start + part.start), ctypes.c_size_t(part.stop - part.start)
        return ctypes.get_errno() if populate(address, length, POPULATE_READ) else 0

    if failed := max(in_order(read, row_blocks(size, PART))):
        if failed == errno.EINVAL:
            return None
        raise OSError(failed, os.strerror(failed))
    return pages


def read_into(stream: BinaryIO, buffer: memoryview) -> int:
    """Read from a stream until a buffer is full or the stream ends, a file in parallel; return the number of bytes."""
    raw = getattr(stream, "raw", None)
    parts = row_blocks(len(buffer), PART)
    if not isinstance(raw, SharedFile):
        return sum(_whole(stream, buffer[part]) for part in parts)
    start = stream.tell()
    done = sum(in_order(lambda part: raw.read_at(start + part.start, buffer[part]), parts))
    stream.seek(start + done)
    return done


def _whole(stream: BinaryIO, buffer: memoryview) -> int:
    """Read from a stream into a buffer until it is full or the stream ends; return the number of bytes."""
    done = 0
    while done < len(buffer) and (count := cast(io.BufferedIOBase, stream).readinto(buffer[done:])):
        done += count
    return done
