"""A file that is read in blocks, as it was when it was opened first; a thread opens it for itself."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from mlcli.base.frozen import frozen
from mlcli.data.files.digest import require_same, state
from mlcli.data.files.remote import RemoteFile, is_remote, state_of
from mlcli.data.files.shared_handle import Positioned
from mlcli.data.files.source import clipped, open_regular
from mlcli.errors import StorageError

R = TypeVar("R")
_open = threading.local()  # what a thread has open: the last few files


@frozen
class FileId:
    """A file as it was when it was opened first."""

    path: str
    state: tuple[int, int, int]  # size, and times of the last changes

    def opened(self, opener: Callable[[BinaryIO], R]) -> R:
        """What an opener makes of the file, once for each thread; raises StorageError where the file is another one."""
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
            return clipped(RemoteFile(self.path))
        descriptor = open_regular(self.path)
        try:
            require_same(self.path, state(descriptor) == self.state)
            return clipped(Positioned(descriptor))  # which has one of its own
        finally:
            os.close(descriptor)

    def __reduce__(self) -> tuple[Any, ...]:
        return FileId, (self.path if is_remote(self.path) else str(Path(self.path).absolute()), self.state)

    @property
    def key(self) -> str:
        """What distinguishes it."""
        return f"{self.path} {self.state}"


def require_read(path: str, read: int, wanted: int) -> None:
    """Refuses a file that ends before the bytes that are wanted of it."""
    if read < wanted:
        raise StorageError("READ", "reading failed: the file is shorter than it was", where=path,
                           hint="wait until it is written, or work on a copy")


def plain_stream(stream: BinaryIO) -> BinaryIO:
    """The bytes as they are."""
    return stream
