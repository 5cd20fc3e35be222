"""The identity of a file that is read in blocks; each thread opens the file for itself."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from mlcli.base.frozen import frozen
from mlcli.data.files.digest import require_same
from mlcli.data.files.remote import RemoteFile, is_remote, state_of
from mlcli.data.files.shared_handle import SharedFile
from mlcli.data.files.source import bounded_reader, open_regular
from mlcli.errors import StorageError
from mlcli.process.file_hash import state

R = TypeVar("R")
_open = threading.local()  # the last few files that a thread opened


@frozen
class FileId:
    """The identity of a file: its path, and its size and times when it was first opened."""

    path: str
    state: tuple[int, int, int]  # size, and times of the last changes

    def open_once(self, opener: Callable[[BinaryIO], R]) -> R:
        """Return the result of an opener, cached for each thread; raises StorageError if the file has changed."""
        known = vars(_open).setdefault("files", {})
        name = os.getpid(), self, opener
        if name not in known:
            while len(known) >= 4:
                known.pop(next(iter(known)))
            stream = self._stream()
            known[name] = stream, opener(stream)
        stream, made = known[name]
        now = state_of(self.path) if is_remote(self.path) else state(stream.fileno())
        require_same(self.path, now == self.state)
        return cast(R, made)

    def _stream(self) -> BinaryIO:
        if is_remote(self.path):
            return bounded_reader(RemoteFile(self.path))
        descriptor = open_regular(self.path)
        try:
            require_same(self.path, state(descriptor) == self.state)
            return bounded_reader(SharedFile(descriptor))  # it duplicates the descriptor
        finally:
            os.close(descriptor)

    def __reduce__(self) -> tuple[Any, ...]:
        return FileId, (self.path if is_remote(self.path) else str(Path(self.path).absolute()), self.state)

    @property
    def key(self) -> str:
        """The text that distinguishes the file in cache keys."""
        return f"{self.path} {self.state}"


def require_read(path: str, read: int, wanted: int) -> None:
    """Raise StorageError if a file ended before the requested number of bytes."""
    if read < wanted:
        raise StorageError("READ", "reading failed: the file is shorter than it was", where=path,
                           hint="wait until it is written, or work on a copy")


def plain_stream(stream: BinaryIO) -> BinaryIO:
    """Return the stream itself: the opener of bytes."""
    return stream
