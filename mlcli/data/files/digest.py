"""The sha256 of a file, of a large one computed by a thread in parallel, and checks that the file did not change."""

import hashlib
import os
import sys
from threading import Event, Thread, get_native_id

from mlcli.data.files.shared_handle import CHUNK, SharedFile
from mlcli.data.options.wording import place
from mlcli.errors import StorageError

SMALL = 2**18  # bytes that are hashed in the time in which a thread starts
COURTESY = 5  # added to the thread's niceness: the hash uses time that other threads leave


class Digest:
    """A hash that a thread computes, unless the file is small; the program does not wait for it at exit."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path, self._before, self._file = path, state(descriptor), SharedFile(descriptor)
        self._same, self._text, self._stopped = True, "", Event()
        self._error: OSError | None = None
        self._thread = Thread(target=self._work_aside, daemon=True) if self._before[0] > SMALL else None
        if self._thread is None:
            self._work(SMALL)
        else:
            self._thread.start()

    def result(self) -> str:
        """Wait for the hash and return it; raises StorageError if the file changed or cannot be read."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            reason = self._error.strerror or self._error
            raise StorageError("READ", f"reading failed: {reason}", where=place(self._path),
                               hint="check the disk or the network file system, and try again")
        require_same(self._path, self._same)
        return self._text

    def stop(self) -> None:
        """Abandon the hash."""
        self._stopped.set()

    def _work_aside(self) -> None:
        lower_priority()
        self._work(CHUNK)

    def _work(self, size: int) -> None:
        """Hash the file, read by `size` bytes at a time."""
        hashed, chunk = hashlib.sha256(), memoryview(bytearray(size))
        with self._file as file:
            try:
                while not self._stopped.is_set() and (count := file.readinto(chunk)):
                    hashed.update(chunk[:count])
                self._same = self._before == state(file.fileno())
            except OSError as error:
                self._error = error
        self._text = hashed.hexdigest()


def lower_priority() -> None:
    """Lower the priority of this thread, on systems where threads have one of their own."""
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + COURTESY)
        except OSError:
            return


def state(descriptor: int) -> tuple[int, int, int]:
    """Return size in bytes, and times of the last change of content and of metadata, in nanoseconds."""
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def require_same(path: str, same: bool) -> None:
    """Raise StorageError if a file changed while it was read."""
    if not same:
        raise changed_error(path)


def changed_error(path: str) -> StorageError:
    """Return the error for a file that changed while it was read."""
    return StorageError("CHANGED", "the file changed while it was read", where=place(path),
                        hint="wait until it is written, or work on a copy")
