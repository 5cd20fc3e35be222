"""Small files that a user names: read as far as such a file may reach, and no device or pipe. Imports nothing heavy."""

import errno
import os
import stat
from pathlib import Path

LARGEST = 2**20  # bytes


def content_of(path: Path) -> bytes:
    """The bytes of a regular file, one more than `LARGEST` at most; raises OSError, or ValueError for no file name."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):  # before opening: a device may act on being opened
        kind = errno.EISDIR if stat.S_ISDIR(mode) else errno.ENODEV
        raise OSError(kind, os.strerror(kind) if kind == errno.EISDIR else "it is not a regular file")
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:  # some files of /proc never end
        return stream.read(LARGEST + 1) or b""
