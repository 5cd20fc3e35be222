"""Several readers of one open file, each at a position of its own."""

import errno
import io
import os
from typing import Any

CHUNK = 1 << 20  # bytes read at once


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
