"""Several readers of one open file, each at a position of its own."""

import errno
import io
import os
from typing import Any, BinaryIO, cast

from mlcli.base.rows.blocks import in_order, row_blocks

CHUNK = 1 << 20  # bytes read at once
PART = 16 << 20  # bytes that a thread reads before it takes the next part


class Positioned(io.RawIOBase):
    """A file read at a position of its own, whoever else reads the same descriptor."""

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
        """Bytes read into a buffer from a position on, as many as it holds or the file has; where it is read stays."""
        done = 0
        while done < len(buffer) and (count := os.preadv(self._descriptor, [buffer[done:]], position + done)):
            done += count
        return done

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        position = (0, self._position, self.size())[whence] + offset
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


def read_into(stream: BinaryIO, buffer: memoryview) -> int:
    """Bytes read from a stream into a buffer, as many as it holds or there are; parts of a file by all threads."""
    raw = getattr(stream, "raw", None)
    parts = row_blocks(len(buffer), PART)
    if not isinstance(raw, Positioned):
        return sum(_whole(stream, buffer[part]) for part in parts)
    start = stream.tell()
    done = sum(in_order(lambda part: raw.read_at(start + part.start, buffer[part]), parts))
    stream.seek(start + done)
    return done


def _whole(stream: BinaryIO, buffer: memoryview) -> int:
    """The same, one read after the other, where each may give less than was asked for."""
    done = 0
    while done < len(buffer) and (count := cast(io.BufferedIOBase, stream).readinto(buffer[done:])):
        done += count
    return done
